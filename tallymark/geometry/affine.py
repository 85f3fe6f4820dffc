"""Affine transforms of images: matrices (2, 3) between continuous coordinates.

The upper left pixel covers 0 to 1 in x and in y, so that its centre is (0.5, 0.5).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tallymark.geometry.pairs import Extent

MIN_VISIBLE = 0.4
"""The share of its area that must stay visible for an object to be kept."""


class Region(NamedTuple):
    """A rectangle of an image in whole pixels."""

    left: int
    top: int
    width: int
    height: int


def translation(x: float, y: float) -> np.ndarray:
    """The matrix of a translation by (x, y)."""
    return np.array([[1.0, 0.0, x], [0.0, 1.0, y]])


def transform_points(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points (…, 2), transformed."""
    x, y = points[..., 0], points[..., 1]  # products of matrices with rows of two are slow
    return np.stack([a * x + b * y + c for a, b, c in matrix.tolist()], axis=-1)


def invert(matrix: np.ndarray) -> np.ndarray:
    """The matrix (2, 3) of the inverse transform."""
    linear = np.linalg.inv(matrix[:, :2])
    return np.column_stack([linear, -linear @ matrix[:, 2]])


def then(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The matrix (2, 3) of one transform followed by another."""
    return np.column_stack([second[:, :2] @ first[:, :2], transform_points(second, first[:, 2])])


def transform_extents(extents: list[Extent], matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centres and half sides, (2, n) each, of the axis-aligned boxes around transformed boxes of these extents."""
    across, down = extents
    centre = matrix[:, :2] @ np.stack([across.centre, down.centre]) + matrix[:, 2:]
    return centre, np.abs(matrix[:, :2]) @ np.stack([across.half, down.half])
