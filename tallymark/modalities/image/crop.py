"""Random crops of images: one affine matrix for scale, flips, rotation and position."""

from __future__ import annotations

import cv2
import numpy as np

from tallymark.geometry import ImageGeometry
from tallymark.geometry.affine import transform_extents
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.sample import ImageSample

PADDING_COLOR = (114, 114, 114)
"""The grey outside of the image, about the mean of photographs."""
MAX_ASPECT_CHANGE = 4 / 3
"""Crops for image classification are stretched or squeezed by up to this factor."""
HFLIP = np.diag([-1.0, 1.0])
VFLIP = np.diag([1.0, -1.0])
ROT90 = np.array([[0.0, -1.0], [1.0, 0.0]])


def random_crop(
    rng: np.random.Generator, sample: ImageSample, recipe: ImageRecipe, height: int, width: int
) -> ImageSample:
    """A random crop of this size, with the objects that are visible in it."""
    if sample.shapes.localized:
        matrix = crop_matrix(rng, sample, recipe, height, width)
    else:
        matrix = resized_crop_matrix(rng, sample, recipe, height, width)
    shapes, kept = sample.shapes.transform(matrix, height, width)
    return ImageSample(warp(sample.data, matrix, height, width), shapes, sample.label[kept], sample.weight[kept])


def warp(image: np.ndarray, matrix: np.ndarray, height: int, width: int) -> np.ndarray:
    """The image under a matrix between continuous coordinates, in a crop of this size."""
    centred = matrix.copy()
    centred[:, 2] += matrix[:, :2].sum(axis=1) / 2 - 0.5  # OpenCV has its origin in the centre of the first pixel
    return cv2.warpAffine(
        image,
        centred,
        (width, height),
        flags=cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_CONSTANT,
        borderValue=PADDING_COLOR,
    )


def crop_matrix(
    rng: np.random.Generator, sample: ImageSample, recipe: ImageRecipe, height: int, width: int
) -> np.ndarray:
    """The matrix of a crop for detection: anywhere in the image, or around one of the objects.

    An image smaller than the crop lies anywhere in it. Without scale and rotation, pixels are mapped to pixels.
    """
    upright = _random_orientation(rng, recipe) * _random_scale(rng, recipe)
    linear = _rotated(rng, upright, sample.shapes, recipe)
    matrix = np.column_stack([linear, np.zeros(2)])
    rows, columns = sample.data.shape[:2]
    centre = linear @ (columns / 2, rows / 2)
    half = np.abs(upright) @ (columns / 2, rows / 2)  # without the padded corners that a rotation adds
    target = _random_object(rng, sample, recipe, matrix)
    for axis, size in enumerate((width, height)):
        low, high = sorted((centre[axis] - half[axis], centre[axis] + half[axis] - size))
        if target is not None:
            first, last = target[axis]
            near, far = sorted((first, last - size))
            # A rotated object can lie where no crop would; otherwise only rounding separates the two ranges.
            low, high = (near, far) if max(low, near) > min(high, far) + 1 else (max(low, near), min(high, far))
        matrix[axis, 2] = -_random_integer(rng, low, high)
    return matrix


def random_linear(rng: np.random.Generator, shapes: ImageGeometry, recipe: ImageRecipe) -> np.ndarray:
    """A (2, 2) matrix of random flips, scale and, if the shapes allow it, rotation."""
    return _rotated(rng, _random_orientation(rng, recipe) * _random_scale(rng, recipe), shapes, recipe)


def resized_crop_matrix(
    rng: np.random.Generator, sample: ImageSample, recipe: ImageRecipe, height: int, width: int
) -> np.ndarray:
    """The matrix of a crop for classification: a random rectangle resized to the crop.

    The rectangle has from 1/scale_jitter² to all of the image's area.
    """
    orientation = _random_orientation(rng, recipe)
    rows, columns = sample.data.shape[:2]
    across, down = np.abs(orientation).T @ (width, height)  # the crop in the orientation of the image
    largest = max(recipe.scale_jitter, 1 / recipe.scale_jitter)
    share = rng.uniform(largest**-2, 1)
    aspect = across / down * np.exp(rng.uniform(-np.log(MAX_ASPECT_CHANGE), np.log(MAX_ASPECT_CHANGE)))
    aspect = np.clip(aspect, share, 1 / share)  # so that no side is longer than that of the image
    sides = np.array([columns * np.sqrt(share * aspect), rows * np.sqrt(share / aspect)])
    centre = sides / 2 + rng.random(2) * ((columns, rows) - sides)
    linear = _random_rotation(rng, recipe) @ orientation @ np.diag((across, down) / sides)
    return np.column_stack([linear, np.array([width / 2, height / 2]) - linear @ centre])


def _random_orientation(rng: np.random.Generator, recipe: ImageRecipe) -> np.ndarray:
    orientation = np.eye(2)
    if rng.random() < recipe.hflip:
        orientation = HFLIP @ orientation
    if rng.random() < recipe.vflip:
        orientation = VFLIP @ orientation
    if rng.random() < recipe.rot90:
        orientation = np.linalg.matrix_power(ROT90, int(rng.integers(1, 4))) @ orientation
    return orientation


def _random_scale(rng: np.random.Generator, recipe: ImageRecipe) -> float:
    largest = abs(np.log(recipe.scale_jitter))
    return float(np.exp(rng.uniform(-largest, largest)))


def _rotated(rng: np.random.Generator, upright: np.ndarray, shapes: ImageGeometry, recipe: ImageRecipe) -> np.ndarray:
    return _random_rotation(rng, recipe) @ upright if shapes.rotatable else upright


def _random_rotation(rng: np.random.Generator, recipe: ImageRecipe) -> np.ndarray:
    angle = np.deg2rad(rng.uniform(-recipe.rotate_degrees, recipe.rotate_degrees))
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[cos, -sin], [sin, cos]])


def _random_object(
    rng: np.random.Generator, sample: ImageSample, recipe: ImageRecipe, matrix: np.ndarray
) -> np.ndarray | None:
    """Begin and end of a random object in x and in y, (2, 2); None if the crop need not show one."""
    shapes = sample.shapes
    if not len(shapes) or rng.random() >= recipe.positive_crops:
        return None
    extents = shapes.take(rng.integers(len(shapes), size=1)).extents
    centre, half = transform_extents(extents, matrix)
    return np.hstack([centre - half, centre + half])


def _random_integer(rng: np.random.Generator, low: float, high: float) -> float:
    """A random whole number in this range, or its lower end if there is none."""
    first, last = int(np.ceil(low - 1e-6)), int(np.floor(high + 1e-6))
    return float(rng.integers(first, last + 1)) if first <= last else low
