"""Mask refinement: rectangles are regressed at one cell, and refined by the coverage of all cells that they cover.

Coverage is the share of a cell that lies on any object. It is predicted at `FINE` times the resolution of the heatmap;
in this module, cells are those finer ones.
"""

from __future__ import annotations

import cv2
import numpy as np

from tallymark.geometry import RotatedBoxes
from tallymark.geometry.pairs import Extent

FINE = 2
"""Cells of the coverage per cell of the heatmap, along each axis."""
COVERED = 0.4
"""Coverage from which a cell belongs to a connected component."""
EDGE_COVERED = 0.15
"""Coverage from which a neighbour of a component counts as its edge."""
GOOD_FIT = 0.7
MIN_GAIN = 0.2
"""A component that one rectangle fits this well is several objects only if these agree so much better."""
DUPLICATE_IOU = 0.3
"""Rectangles with a higher IoU describe one object."""
ITERATIONS = 3
"""Of assigning the cells of a component to several rectangles, and fitting these again."""
NEIGHBOURS = np.ones((3, 3), np.uint8)
OBJECT_CELLS = 1000.0
"""Cells that the surroundings of each object count as in the loss of the coverage, however few they are."""
SURROUNDINGS = 3
"""Cells around an object that count with it."""


def draw_coverage(footprint: RotatedBoxes, shape: tuple[int, int]) -> np.ndarray:
    """(1, height, width): the share of each cell that shapes cover, exact for axis-aligned ones."""
    coverage = np.zeros((1, *shape), np.float32)
    across, down = footprint.extents
    for k, row in enumerate(np.stack(footprint.columns, 1)):
        left, right = _span(across, k, shape[1])
        top, bottom = _span(down, k, shape[0])
        window = coverage[0, top:bottom, left:right]
        np.maximum(window, _coverage(row, *_cell_centers(left, right, top, bottom)), out=window)
    return coverage


def draw_balance(footprint: RotatedBoxes, shape: tuple[int, int]) -> np.ndarray:
    """(1, height, width): weights of cells in a loss, by which all shapes count alike; 1 far from any shape.

    Without them, the outline of a shape of 20 cells would count as nothing beside one of 2,000.
    """
    balance = np.ones((1, *shape), np.float32)
    across, down = footprint.extents
    for k in range(len(footprint)):
        left, right = _span(across, k, shape[1], SURROUNDINGS)
        top, bottom = _span(down, k, shape[0], SURROUNDINGS)
        balance[0, top:bottom, left:right] += OBJECT_CELLS / max((right - left) * (bottom - top), 1)
    return balance


def refine_rectangles(
    predicted: RotatedBoxes, scores: np.ndarray, coverage: np.ndarray
) -> tuple[RotatedBoxes, np.ndarray]:
    """Rectangles fitted to the covered cells, and how well they fit, from 0 to 1.

    Each connected component of covered cells goes to the rectangle with the highest score in it, or is split among
    those that differ, whichever agrees better with the predictions. A rectangle outside of all components stays as it
    is, with a fit of 0.
    """
    rows = np.stack(predicted.columns, 1)
    fit = np.zeros(len(predicted))
    height, width = coverage.shape[-2:]
    _, components, boxes, _ = cv2.connectedComponentsWithStats((coverage[0] >= COVERED).astype(np.uint8))
    inside = (predicted.x >= 0) & (predicted.y >= 0) & (predicted.x < width) & (predicted.y < height)
    component = np.zeros(len(predicted), np.int64)
    component[inside] = components[predicted.y[inside].astype(int), predicted.x[inside].astype(int)]
    for number in np.unique(component[component > 0]).tolist():
        weight, x, y = _component(coverage[0], components, number, boxes[number])
        own = np.flatnonzero(component == number)
        own = own[np.argsort(-scores[own], kind="stable")]
        own = own[_distinct(predicted.take(own))]
        fitted, own_fit = _fit_component(predicted.take(own), weight, x, y)
        own = own[: len(fitted)]
        rows[own] = fitted
        fit[own] = own_fit
    return RotatedBoxes.of(rows), fit


def _component(
    coverage: np.ndarray, components: np.ndarray, number: int, box: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A component with its edge: the coverage of the cells around it, and their centres."""
    left, top, wide, high = box[:4].tolist()
    right, bottom = min(left + wide + 1, coverage.shape[1]), min(top + high + 1, coverage.shape[0])
    left, top = max(left - 1, 0), max(top - 1, 0)
    weight = coverage[top:bottom, left:right]
    dilated = cv2.dilate((components[top:bottom, left:right] == number).astype(np.uint8), NEIGHBOURS) > 0
    return np.where(dilated & (weight >= EDGE_COVERED), weight, 0), *_cell_centers(left, right, top, bottom)


def _fit_component(
    predicted: RotatedBoxes, weight: np.ndarray, x: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """One rectangle for a component, or one for each prediction in it, the highest score first; and their fits."""
    first = predicted.take(np.arange(1))
    one, one_fit = _fit_rectangles(first, weight, x, y)
    if len(predicted) == 1:
        return one, one_fit
    several, several_fit = _fit_rectangles(predicted, weight, x, y)
    gain = _mean_iou(several, predicted) - _mean_iou(one, first)
    split = gain > (MIN_GAIN if one_fit[0] >= GOOD_FIT else 0)
    return (several, several_fit) if split else (one, one_fit)


def _mean_iou(rows: np.ndarray, predicted: RotatedBoxes) -> float:
    """The mean IoU of rectangles with the predictions that they come from."""
    every = np.arange(len(rows))
    intersection, union = RotatedBoxes.of(rows).overlap(predicted, every, every)
    return float(np.mean(intersection / np.maximum(union, 1e-9)))


def _distinct(predicted: RotatedBoxes) -> np.ndarray:
    """Of rectangles by falling score, those that are no duplicate of one before them."""
    kept: list[int] = []
    for k in range(len(predicted)):
        others, own = np.array(kept, np.int64), np.full(len(kept), k)
        intersection, union = predicted.overlap(predicted, own, others)
        if (intersection <= DUPLICATE_IOU * union).all():
            kept.append(k)
    return np.array(kept, np.int64)


def _fit_rectangles(
    predicted: RotatedBoxes, weight: np.ndarray, x: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rectangles fitted to a component: each cell belongs to the nearest one, in units of its sides."""
    rows = np.stack(predicted.columns, 1)
    fit = np.zeros(len(predicted))
    for _ in range(ITERATIONS if len(rows) > 1 else 1):  # one rectangle has all cells from the beginning
        distance = np.stack([_distance(row, x, y) for row in rows])
        owner = distance.argmin(axis=0)
        for k in range(len(rows)):
            own = np.where(owner == k, weight, 0)
            if own.sum() > 0:
                rows[k] = _rectangle_of_moments(own, x, y)
                fit[k] = _fit(rows[k], own, x, y)
    return rows, fit


def _rectangle_of_moments(weight: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The rectangle (x, y, length, width, angle) with the area and the second moments of the weight.

    Blur adds the same variance along all axes. So only the difference of the principal variances is used:
    length² - width² is twelve times that, and length x width is the area.
    """
    area = float(weight.sum())
    center_x, center_y = float((weight * x).sum()) / area, float((weight * y).sum()) / area
    dx, dy = x - center_x, y - center_y
    var_x, var_y, covariance = (float((weight * part).sum()) / area for part in (dx * dx, dy * dy, dx * dy))
    difference = 12 * float(np.hypot(var_x - var_y, 2 * covariance))
    length = np.sqrt((difference + np.hypot(difference, 2 * area)) / 2)
    return np.array([center_x, center_y, length, area / length, np.arctan2(2 * covariance, var_x - var_y) / 2])


def _fit(row: np.ndarray, weight: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """IoU of a rectangle and the coverage."""
    filled = _coverage(row, x, y)
    intersection = float(np.minimum(weight, filled).sum())
    return intersection / max(float(weight.sum()) + float(row[2] * row[3]) - intersection, 1e-6)


def _coverage(row: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The share of the cells with these centres that a rectangle covers."""
    along, across = _in_frame_of(row, x, y)
    return _overlap_1d(along, row[2]) * _overlap_1d(across, row[3])


def _distance(row: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    along, across = _in_frame_of(row, x, y)
    return np.maximum(np.abs(along) / max(row[2], 1.0), np.abs(across) / max(row[3], 1.0))


def _in_frame_of(row: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions along and across a rectangle, from its centre."""
    cos, sin = np.cos(row[4]), np.sin(row[4])
    dx, dy = x - row[0], y - row[1]
    return dx * cos + dy * sin, dy * cos - dx * sin


def _overlap_1d(center: np.ndarray, side: float) -> np.ndarray:
    """How much of cells of length 1 lies within half a side of 0."""
    return np.clip(np.minimum(center + 0.5, side / 2) - np.maximum(center - 0.5, -side / 2), 0, 1)


def _span(extent: Extent, k: int, size: int, margin: int = 1) -> tuple[int, int]:
    """The first cell within a margin of shape k, and the one after the last."""
    center = float(extent.centre[k])
    half = float(extent.half[k]) + margin
    first = int(np.clip(np.floor(center - half), 0, size))
    return first, max(int(np.clip(np.ceil(center + half), 0, size)), first)


def _cell_centers(left: int, right: int, top: int, bottom: int) -> tuple[np.ndarray, np.ndarray]:
    """Centres of cells: x as a row, y as a column."""
    return np.arange(left, right) + 0.5, np.arange(top, bottom)[:, None] + 0.5
