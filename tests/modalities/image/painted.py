"""Images whose objects are painted in distinct colours, so that crops can be compared with their shapes."""

from __future__ import annotations

import cv2
import numpy as np
from hypothesis import strategies as st

from tallymark.geometry import Boxes, Geometry, Masks, RotatedBoxes
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.sample import ImageSample

COLORS = np.array([(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0), (255, 0, 255), (0, 255, 255)], np.uint8)
"""Of label 0, 1, …; the background is black, and the padding is grey."""
CROP_ONLY = ImageRecipe().replace(
    **dict.fromkeys(
        ("hflip", "vflip", "rot90", "color_jitter", "grayscale", "blur", "noise", "jpeg", "positive_crops"), 0
    ),
    scale_jitter=1,
)
"""A recipe that only crops."""

seeds = st.integers(0, 2**32 - 1)


def pixel_exact(recipe: ImageRecipe = CROP_ONLY) -> ImageRecipe:
    """With flips and quarter turns, which map pixels to pixels."""
    return recipe.replace(hflip=0.5, vflip=0.5, rot90=0.75)


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def background(rng: np.random.Generator, least: int = 40, most: int = 120) -> np.ndarray:
    return np.zeros((*rng.integers(least, most, 2), 3), np.uint8)


def some_boxes(rng: np.random.Generator, labels: list[int], most: int = 120) -> ImageSample:
    """Boxes of whole pixels side by side, each in its own strip of the image."""
    image = background(rng, most=most)
    height, width = image.shape[:2]
    edges = np.linspace(0, width, len(labels) + 1).astype(int)
    rows = []
    for label, left, right in zip(labels, edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        x0, x1 = np.sort(rng.choice(np.arange(left, right + 1), 2, replace=False)).tolist()
        y0, y1 = np.sort(rng.choice(height + 1, 2, replace=False)).tolist()
        image[y0:y1, x0:x1] = COLORS[label]
        rows.append((x0, y0, x1 - x0, y1 - y0))
    return ImageSample.of(image, Boxes.of(np.array(rows)), np.array(labels, int))


def some_masks(rng: np.random.Generator, labels: list[int]) -> ImageSample:
    """Ragged masks, each in a box of its own."""
    boxed = some_boxes(rng, labels)
    image, painted = np.zeros_like(boxed.data), []
    spots = cv2.resize(rng.random((12, 12), np.float32), image.shape[1::-1]) > 0.4
    for label in labels:
        mask = (boxed.data == COLORS[label]).all(2) & spots
        image[mask] = COLORS[label]
        painted.append(mask)
    return ImageSample.of(image, Masks.of(painted, image.shape[:2]), boxed.label)


def some_rotated(rng: np.random.Generator, labels: list[int]) -> ImageSample:
    """Long boxes at any angle, one below the other."""
    image = np.zeros((len(labels) * 50, 90, 3), np.uint8)
    centre = [(45, 50 * k + 25) for k in range(len(labels))]
    rows = np.column_stack([np.array(centre).reshape(-1, 2), np.zeros((len(labels), 3))])
    rows[:, 2:] = rng.uniform((25, 10, -np.pi), (40, 20, np.pi), (len(labels), 3))
    boxes = RotatedBoxes.of(rows)
    for label, corners in zip(labels, boxes.corners, strict=True):
        image[polygon(corners, image.shape[:2])] = COLORS[label]
    return ImageSample.of(image, boxes, np.array(labels, int))


def polygon(corners: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The pixels whose centre is in a polygon, approximately."""
    filled = np.zeros(shape[:2], np.uint8)
    cv2.fillPoly(filled, [np.rint((corners - 0.5) * 16).astype(np.int32)], 1, cv2.LINE_8, 4)
    return filled > 0


def painted(image: np.ndarray, label: int, tolerance: int = 0) -> np.ndarray:
    """The pixels that have the colour of a label."""
    return (np.abs(image.astype(int) - COLORS[label]) <= tolerance).all(2)


def bounding_box(pixels: np.ndarray) -> list[int]:
    """x, y, width, height of the bounding box of pixels."""
    y, x = np.nonzero(pixels)
    return [int(x.min()), int(y.min()), int(np.ptp(x)) + 1, int(np.ptp(y)) + 1]


def rows(shapes: Geometry) -> np.ndarray:
    assert isinstance(shapes, Boxes)
    return np.stack(shapes.columns, 1)


def iou(a: np.ndarray, b: np.ndarray) -> float:
    """IoU of two sets of pixels."""
    return float((a & b).sum() / max((a | b).sum(), 1))
