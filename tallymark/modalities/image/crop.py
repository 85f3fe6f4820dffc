"""Where a window lies in its picture: one matrix for zoom, mirror, quarter turn, tilt and place."""

from __future__ import annotations

import cv2
import numpy as np

from tallymark.geometry.affine import transform_extents
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.sample import ImageSample

GREY = (114, 114, 114)
"""The colour outside of the picture, about the mean of photographs."""
SQUASH = 4 / 3
"""Windows of whole pictures are squashed or stretched by up to this factor."""
MIRROR, FLIP, QUARTER = np.diag([-1.0, 1.0]), np.diag([1.0, -1.0]), np.array([[0.0, -1.0], [1.0, 0.0]])


def cut(rng: np.random.Generator, sample: ImageSample, recipe: ImageRecipe, height: int, width: int) -> ImageSample:
    """A window of this size of the sample's picture with the objects that are seen in it."""
    if sample.shapes.localized:
        matrix = place(rng, sample, recipe, height, width)
    else:
        matrix = spread(rng, sample, recipe, height, width)
    shapes, kept = sample.shapes.transform(matrix, height, width)
    return ImageSample(warp(sample.picture, matrix, height, width), shapes, sample.label[kept], sample.weight[kept])


def warp(picture: np.ndarray, matrix: np.ndarray, height: int, width: int) -> np.ndarray:
    """The picture under a matrix between continuous coordinates, in a window of this size."""
    centred = matrix.copy()
    centred[:, 2] += matrix[:, :2].sum(axis=1) / 2 - 0.5  # OpenCV counts from the middle of the first pixel
    return cv2.warpAffine(
        picture, centred, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=GREY
    )


def place(rng: np.random.Generator, sample: ImageSample, recipe: ImageRecipe, height: int, width: int) -> np.ndarray:
    """The matrix of a window with objects: anywhere in the picture, or around one of them.

    A picture smaller than the window lies anywhere in it. Without zoom and tilt, pixels fall on pixels.
    """
    upright = _orientation(rng, recipe) * _zoom(rng, recipe)
    # A tilted box would need a larger one around it, which says less.
    linear = _tilt(rng, recipe) @ upright if sample.shapes.rotatable else upright
    matrix = np.column_stack([linear, np.zeros(2)])
    rows, columns = sample.picture.shape[:2]
    middle = linear @ (columns / 2, rows / 2)
    half = np.abs(upright) @ (columns / 2, rows / 2)  # without the grey corners that a tilt brings
    around = _aim(rng, sample, recipe, matrix)
    for axis, size in enumerate((width, height)):
        low, high = sorted((middle[axis] - half[axis], middle[axis] + half[axis] - size))
        if around is not None:
            first, last = around[axis]
            near, far = sorted((first, last - size))
            # Tilted, an object can lie where no window would; else only rounding parts the two ranges.
            low, high = (near, far) if max(low, near) > min(high, far) + 1 else (max(low, near), min(high, far))
        matrix[axis, 2] = -_pick(rng, low, high)
    return matrix


def spread(rng: np.random.Generator, sample: ImageSample, recipe: ImageRecipe, height: int, width: int) -> np.ndarray:
    """The matrix of a window that a random rectangle of the picture fills, by 1/zoom² to all of its area."""
    turn = _orientation(rng, recipe)
    rows, columns = sample.picture.shape[:2]
    across, down = np.abs(turn).T @ (width, height)  # the window as the picture sees it
    largest = max(recipe.scale_jitter, 1 / recipe.scale_jitter)
    share = rng.uniform(largest**-2, 1)
    squash = across / down * np.exp(rng.uniform(-np.log(SQUASH), np.log(SQUASH)))
    squash = np.clip(squash, share, 1 / share)  # so that no side is longer than the picture's
    sides = np.array([columns * np.sqrt(share * squash), rows * np.sqrt(share / squash)])
    middle = sides / 2 + rng.random(2) * ((columns, rows) - sides)
    linear = _tilt(rng, recipe) @ turn @ np.diag((across, down) / sides)
    return np.column_stack([linear, np.array([width / 2, height / 2]) - linear @ middle])


def _orientation(rng: np.random.Generator, recipe: ImageRecipe) -> np.ndarray:
    turn = np.eye(2)
    if rng.random() < recipe.hflip:
        turn = MIRROR @ turn
    if rng.random() < recipe.vflip:
        turn = FLIP @ turn
    if rng.random() < recipe.rot90:
        turn = np.linalg.matrix_power(QUARTER, int(rng.integers(1, 4))) @ turn
    return turn


def _zoom(rng: np.random.Generator, recipe: ImageRecipe) -> float:
    most = abs(np.log(recipe.scale_jitter))
    return float(np.exp(rng.uniform(-most, most)))


def _tilt(rng: np.random.Generator, recipe: ImageRecipe) -> np.ndarray:
    angle = np.deg2rad(rng.uniform(-recipe.rotate_degrees, recipe.rotate_degrees))
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[cos, -sin], [sin, cos]])


def _aim(rng: np.random.Generator, sample: ImageSample, recipe: ImageRecipe, matrix: np.ndarray) -> np.ndarray | None:
    """Where one of the objects begins and ends, in x and in y, if the window is to be placed on one."""
    shapes = sample.shapes
    if not len(shapes) or rng.random() >= recipe.positive_crops:
        return None
    extents = shapes.take(rng.integers(len(shapes), size=1)).extents
    middle, half = transform_extents(extents, matrix)
    return np.hstack([middle - half, middle + half])


def _pick(rng: np.random.Generator, low: float, high: float) -> float:
    """A whole number in this range, or its lower end if there is none."""
    first, last = int(np.ceil(low - 1e-6)), int(np.floor(high + 1e-6))
    return float(rng.integers(first, last + 1)) if first <= last else low
