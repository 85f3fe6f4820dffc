"""Conversion between masks and rotated rectangles.

Coordinates are continuous: pixel (0, 0) covers [0, 1) in x and in y, its centre is (0.5, 0.5).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np

from tallymark.geometry.masks import Masks
from tallymark.geometry.pairs import ragged
from tallymark.geometry.rotated_boxes import RotatedBoxes

ZERO_ANGLE = 1e-12
"""A sine or cosine below this is taken as 0, so that rotations by 90 degrees are exact."""
EDGE_GAP = 0.2
"""Mean distance in pixels of the outermost pixel centres from two opposite sides of a slanted rectangle."""


def lengthwise(rectangles: RotatedBoxes) -> RotatedBoxes:
    """The same rectangles with length >= width, and the angle in (-pi/2, pi/2]."""
    across = rectangles.width > rectangles.length
    length, width = np.maximum(rectangles.length, rectangles.width), np.minimum(rectangles.length, rectangles.width)
    angle = np.pi / 2 - (np.pi / 2 - rectangles.angle - across * np.pi / 2) % np.pi
    angle = np.where(angle <= -np.pi / 2, np.pi / 2, angle)  # the remainder can round up to pi
    return RotatedBoxes(rectangles.x, rectangles.y, length, width, angle)


def fit_rectangles(masks: Masks) -> RotatedBoxes:
    """A rectangle for each mask, with length >= width; zero-sized for an empty mask.

    Two rectangles are fitted, and the one with the higher IoU is used. That of the image moments uses every pixel,
    and is accurate to fractions of a pixel for masks of rectangles. The minimum-area bounding rectangle is better for
    masks with missing parts.
    """
    columns = _Columns(*masks.by_column())
    fits = [_fit_moments(masks, columns), _fit_bounding(masks, columns)]
    ious = [_refilled_iou(masks, fit) for fit in fits]
    second = ious[1] > ious[0]
    chosen = (np.where(second, b, a) for a, b in zip(*(fit.columns for fit in fits), strict=True))
    return lengthwise(RotatedBoxes(*chosen))


def fill_rectangles(
    rectangles: RotatedBoxes, item: np.ndarray, score: np.ndarray, shape: tuple[int, int], least: int = 1
) -> tuple[Masks, np.ndarray]:
    """Masks of the pixels whose centre is in a rectangle, and the index of each mask's rectangle.

    A centre on an edge is in the rectangle to its right or below it. A pixel in several rectangles of one `item`
    belongs to the one with the highest score, the earlier of equal ones. Masks with fewer than `least` pixels are
    dropped. `shape` is (height, width).
    """
    columns = _columns_in(rectangles, shape)
    masks = columns.masks(shape)
    shared = masks.collisions(item)
    earlier_wins = score[shared.first] >= score[shared.second]
    winner = np.where(earlier_wins, shared.first, shared.second)
    loser = np.where(earlier_wins, shared.second, shared.first)
    if len(shared):
        masks = _without(columns, winner, loser, shape[0]).masks(shape)
    kept = np.flatnonzero(masks.area >= least)
    return (masks if len(kept) == len(masks) else masks.take(kept)), kept


@dataclass(frozen=True, eq=False)
class _Columns:
    """Runs of rows from `top` to below `bottom` in pixel columns; shape i has the runs `offsets[i]:offsets[i + 1]`."""

    column: np.ndarray
    top: np.ndarray
    bottom: np.ndarray
    offsets: np.ndarray

    @property
    def owner(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def masks(self, shape: tuple[int, int]) -> Masks:
        length = self.bottom - self.top
        filled = np.flatnonzero(length > 0)
        offsets = np.searchsorted(filled, self.offsets)
        return Masks(self.column[filled] * shape[0] + self.top[filled], length[filled], offsets, shape)


def _columns_in(rectangles: RotatedBoxes, shape: tuple[int, int]) -> _Columns:
    """For every column that a rectangle reaches, the rows whose pixel centres are in it, perhaps none.

    In its own coordinates a rectangle is |u| <= length / 2 and |v| <= width / 2. Along a column, u and v are linear in
    y, so that each condition holds in an interval of y, and the pixels are those in both intervals.
    """
    height, width = shape
    x, y, length, across, angle = np.where(np.isfinite(rectangles.columns).all(axis=0), rectangles.columns, 0)
    cos, sin = np.cos(angle), np.sin(angle)
    cos, sin = np.where(np.abs(cos) < ZERO_ANGLE, 0, cos), np.where(np.abs(sin) < ZERO_ANGLE, 0, sin)
    half_u, half_v = np.maximum(length, 0) / 2, np.maximum(across, 0) / 2
    reach = half_u * np.abs(cos) + half_v * np.abs(sin)
    first, stop = _first_centre(x - reach, width), _first_centre(x + reach, width)
    row, column = _enumerate_ranges(first, stop)
    dx = column + 0.5 - x[row]
    low_u, high_u = _interval(sin[row], dx * cos[row], half_u[row])
    low_v, high_v = _interval(cos[row], -dx * sin[row], half_v[row])
    top = _first_centre(y[row] + np.maximum(low_u, low_v), height)
    bottom = _first_centre(y[row] + np.minimum(high_u, high_v), height)
    return _Columns(column, top, bottom, np.concatenate([[0], np.cumsum(stop - first)]))


def _first_centre(edge: np.ndarray, size: int) -> np.ndarray:
    """The first pixel with its centre at `edge` or beyond, clipped to the image."""
    return np.clip(np.ceil(edge - 0.5), 0, size).astype(np.int64)


def _interval(slope: np.ndarray, base: np.ndarray, half: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The interval of y with |base + slope * y| <= half; all of y where the slope is 0: the column is in reach."""
    constant = slope == 0
    slope = np.where(constant, 1, slope)
    middle, radius = -base / slope, half / np.abs(slope)
    return np.where(constant, -np.inf, middle - radius), np.where(constant, np.inf, middle + radius)


def _without(columns: _Columns, winner: np.ndarray, loser: np.ndarray, height: int) -> _Columns:
    """The columns of shapes with consecutive columns, without the pixels that each loser shares with its winners."""
    first = columns.column[np.minimum(columns.offsets[:-1], len(columns.column) - 1)]
    stop = first + np.diff(columns.offsets)
    start = np.maximum(first[winner], first[loser])
    ours = columns.offsets[loser] + start - first[loser]
    to_theirs = columns.offsets[winner] + start - first[winner] - ours
    pair, run = _enumerate_ranges(ours, ours + np.maximum(np.minimum(stop[winner], stop[loser]) - start, 0))
    theirs = run + to_theirs[pair]
    low = np.maximum(columns.top[run], columns.top[theirs])
    high = np.minimum(columns.bottom[run], columns.bottom[theirs])
    shared = np.flatnonzero(low < high)
    return _subtract(columns, run[shared], low[shared], high[shared], height)


def _subtract(columns: _Columns, run: np.ndarray, low: np.ndarray, high: np.ndarray, height: int) -> _Columns:
    """The columns without the rows `low` to below `high` of the runs `run`, which may be repeated.

    Each run has its own range of one axis, so that a running maximum of `high` never comes from another run.
    """
    order = np.lexsort([low, run])
    run, low, high = run[order], low[order], high[order]
    line = run * (height + 1)
    covered = np.maximum.accumulate(high + line) if len(run) else high
    before = np.maximum(np.concatenate([[0], covered[:-1]])[: len(run)] - line, columns.top[run])
    last = np.append(run[1:] != run[:-1], True)[: len(run)]
    untouched = np.ones(len(columns.top), bool)
    untouched[run] = False
    whole = np.flatnonzero(untouched)
    source = np.concatenate([whole, run, run[last]])
    top = np.concatenate([columns.top[whole], before, (covered - line)[last]])
    bottom = np.concatenate([columns.bottom[whole], low, columns.bottom[run[last]]])
    kept = np.flatnonzero(top < bottom)
    kept = kept[np.argsort(source[kept] * (height + 1) + top[kept], kind="stable")]
    source = source[kept]
    return _Columns(columns.column[source], top[kept], bottom[kept], np.searchsorted(source, columns.offsets))


def _fit_moments(masks: Masks, columns: _Columns) -> RotatedBoxes:
    """Rectangles with the centroid, orientation and second moments of the masks, scaled to their area."""
    owner, count = columns.owner, len(masks)
    left, upper = masks.bounds.first, masks.bounds.upper  # relative coordinates are small, and so is rounding
    x, rows = columns.column - left[owner] + 0.5, (columns.bottom - columns.top).astype(float)
    low, high = columns.top - upper[owner], columns.bottom - upper[owner]
    mid = (low + high) / 2

    def total(values: np.ndarray) -> np.ndarray:
        return np.bincount(owner, values, minlength=count)

    area = np.maximum(masks.area, 1)
    mean_x, mean_y = total(rows * x) / area, total(rows * mid) / area
    spread_x = total(rows * x**2) / area - mean_x**2 + 1 / 12
    spread_y = total(rows * mid**2 + rows**3 / 12) / area - mean_y**2
    mixed = total(rows * x * mid) / area - mean_x * mean_y
    angle = np.arctan2(2 * mixed, spread_x - spread_y) / 2
    mean, deviation = (spread_x + spread_y) / 2, np.hypot((spread_x - spread_y) / 2, mixed)
    long, short = np.sqrt(12 * (mean + deviation)), np.sqrt(12 * np.maximum(mean - deviation, 1 / 144))
    scale = np.where(masks.area > 0, np.sqrt(area / (long * short)), 0)
    return RotatedBoxes(left + mean_x, upper + mean_y, long * scale, short * scale, angle)


def _fit_bounding(masks: Masks, columns: _Columns) -> RotatedBoxes:
    """Minimum-area rectangles around all pixel corners; slanted ones reduced by what only the corners protrude."""
    x, top, bottom = columns.column, columns.top, columns.bottom
    corners = np.stack([x, top, x + 1, top, x, bottom, x + 1, bottom], 1).reshape(-1, 2).astype(np.float32)
    edges = (4 * columns.offsets).tolist()
    none = ((0.0, 0.0), (0.0, 0.0), 0.0)
    fits = [cv2.minAreaRect(corners[start:stop]) if stop > start else none for start, stop in pairwise(edges)]
    rows = [(x, y, length, width, degrees) for (x, y), (length, width), degrees in fits]
    x, y, length, width, degrees = RotatedBoxes.of(np.array(rows, float)).columns
    angle = np.radians(degrees)
    slanted = np.abs(np.sin(2 * angle)) > 1e-3  # OpenCV computes in single precision
    spare = np.where(slanted, np.abs(np.cos(angle)) + np.abs(np.sin(angle)) - EDGE_GAP, 0)
    return RotatedBoxes(x, y, np.maximum(length - spare, 0), np.maximum(width - spare, 0), angle)


def _refilled_iou(masks: Masks, rectangles: RotatedBoxes) -> np.ndarray:
    """The IoU of each mask with the mask of its rectangle."""
    each = np.arange(len(masks))
    shared, union = masks.overlap(_columns_in(rectangles, masks.shape).masks(masks.shape), each, each)
    return shared / np.maximum(union, 1)


def _enumerate_ranges(start: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All (row, k) with k in start[row]:stop[row]."""
    chunks = list(ragged(start, stop))
    if not chunks:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return np.concatenate([rows for rows, _ in chunks]), np.concatenate([index for _, index in chunks])
