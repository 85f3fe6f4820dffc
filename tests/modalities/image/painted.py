"""Pictures whose objects are painted in colours of their own, so that a window can be held against its shapes."""

from __future__ import annotations

import cv2
import numpy as np
from hypothesis import strategies as st

from tallymark.geometry import Boxes, Geometry, Masks, RotatedBoxes
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.sample import ImageSample

COLOURS = np.array([(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0), (255, 0, 255), (0, 255, 255)], np.uint8)
"""Of label 0, 1, …; the ground is black, and outside is grey."""
STILL = ImageRecipe().replace(
    **dict.fromkeys(
        ("hflip", "vflip", "rot90", "color_jitter", "grayscale", "blur", "noise", "jpeg", "positive_crops"), 0
    ),
    scale_jitter=1,
)
"""A recipe that only cuts."""

seeds = st.integers(0, 2**32 - 1)


def exact(recipe: ImageRecipe = STILL) -> ImageRecipe:
    """With everything that takes pixels to pixels."""
    return recipe.replace(hflip=0.5, vflip=0.5, rot90=0.75)


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def ground(rng: np.random.Generator, least: int = 40, most: int = 120) -> np.ndarray:
    return np.zeros((*rng.integers(least, most, 2), 3), np.uint8)


def some_boxes(rng: np.random.Generator, labels: list[int], most: int = 120) -> ImageSample:
    """Boxes of whole pixels side by side, each in its own strip of the picture."""
    picture = ground(rng, most=most)
    height, width = picture.shape[:2]
    edges = np.linspace(0, width, len(labels) + 1).astype(int)
    rows = []
    for label, left, right in zip(labels, edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        x0, x1 = np.sort(rng.choice(np.arange(left, right + 1), 2, replace=False)).tolist()
        y0, y1 = np.sort(rng.choice(height + 1, 2, replace=False)).tolist()
        picture[y0:y1, x0:x1] = COLOURS[label]
        rows.append((x0, y0, x1 - x0, y1 - y0))
    return ImageSample.of(picture, Boxes.of(np.array(rows)), np.array(labels, int))


def some_masks(rng: np.random.Generator, labels: list[int]) -> ImageSample:
    """Ragged masks, each in a box of its own."""
    boxed = some_boxes(rng, labels)
    picture, painted = np.zeros_like(boxed.picture), []
    spots = cv2.resize(rng.random((12, 12), np.float32), picture.shape[1::-1]) > 0.4
    for label in labels:
        mask = (boxed.picture == COLOURS[label]).all(2) & spots
        picture[mask] = COLOURS[label]
        painted.append(mask)
    return ImageSample.of(picture, Masks.of(painted, picture.shape[:2]), boxed.label)


def some_rotated(rng: np.random.Generator, labels: list[int]) -> ImageSample:
    """Long boxes at any angle, one below the other."""
    picture = np.zeros((len(labels) * 50, 90, 3), np.uint8)
    centre = [(45, 50 * k + 25) for k in range(len(labels))]
    rows = np.column_stack([np.array(centre).reshape(-1, 2), np.zeros((len(labels), 3))])
    rows[:, 2:] = rng.uniform((25, 10, -np.pi), (40, 20, np.pi), (len(labels), 3))
    boxes = RotatedBoxes.of(rows)
    for label, corners in zip(labels, boxes.corners, strict=True):
        picture[polygon(corners, picture.shape[:2])] = COLOURS[label]
    return ImageSample.of(picture, boxes, np.array(labels, int))


def polygon(corners: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The pixels whose middle is in a polygon, nearly."""
    drawn = np.zeros(shape[:2], np.uint8)
    cv2.fillPoly(drawn, [np.rint((corners - 0.5) * 16).astype(np.int32)], 1, cv2.LINE_8, 4)
    return drawn > 0


def painted(picture: np.ndarray, label: int, tolerance: int = 0) -> np.ndarray:
    """The pixels that have the colour of a label."""
    return (np.abs(picture.astype(int) - COLOURS[label]) <= tolerance).all(2)


def around(pixels: np.ndarray) -> list[int]:
    """x, y, width, height of the box around pixels."""
    y, x = np.nonzero(pixels)
    return [int(x.min()), int(y.min()), int(np.ptp(x)) + 1, int(np.ptp(y)) + 1]


def rows(shapes: Geometry) -> np.ndarray:
    assert isinstance(shapes, Boxes)
    return np.stack(shapes.columns, 1)


def share(a: np.ndarray, b: np.ndarray) -> float:
    """Intersection over union of two sets of pixels."""
    return float((a & b).sum() / max((a | b).sum(), 1))
