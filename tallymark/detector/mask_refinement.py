"""Cover: how much of each part of a cell lies on any shape. A rectangle is told by one cell, and corrected by all that
it covers.
"""

from __future__ import annotations

import cv2
import numpy as np

from tallymark.geometry import RotatedBoxes
from tallymark.geometry.pairs import Extent

FINE = 2
"""Parts of a cell across and down, each of which has a cover of its own. Below, cells are such parts."""
COVERED, HAZE = 0.4, 0.15
"""From where on a cell belongs to a patch; and, beside a patch, still counts as its edge."""
WHOLE, LEAN = 0.7, 0.2
"""A patch that a rectangle fits this well is several shapes only if that agrees so much better with what was told."""
SAME = 0.3
"""Rectangles that overlap more than this tell one shape."""
ROUNDS = 3
"""Times that a patch of several shapes is dealt out among them, each time by the rectangles of the time before."""
EDGE = np.ones((3, 3), np.uint8)


def draw_coverage(ground: RotatedBoxes, shape: tuple[int, int]) -> np.ndarray:
    """(1, height, width): the share of each cell that shapes cover, exact for upright ones."""
    cover = np.zeros((1, *shape), np.float32)
    for k in range(len(ground)):
        left, right = _between(ground.extents[0], k, shape[1])
        top, bottom = _between(ground.extents[1], k, shape[0])
        window = cover[0, top:bottom, left:right]
        np.maximum(window, _covered(np.stack(ground.columns, 1)[k], *_middles(left, right, top, bottom)), out=window)
    return cover


def correct(told: RotatedBoxes, sure: np.ndarray, cover: np.ndarray) -> tuple[RotatedBoxes, np.ndarray]:
    """Rectangles moved, turned and resized to what is covered there, and how well they then fit it, from 0 to 1.

    What is covered falls into patches. A patch goes to the surest shape that was told there, or is dealt out among
    those that differ, whichever agrees better with what was told. What was told where nothing is covered stays as it
    is, and fits by 0.
    """
    rows, fit = np.stack(told.columns, 1), np.zeros(len(told))
    height, width = cover.shape[-2:]
    _, patches, boxes, _ = cv2.connectedComponentsWithStats((cover[0] >= COVERED).astype(np.uint8))
    inside = (told.x >= 0) & (told.y >= 0) & (told.x < width) & (told.y < height)
    patch = np.zeros(len(told), np.int64)
    patch[inside] = patches[told.y[inside].astype(int), told.x[inside].astype(int)]
    for number in np.unique(patch[patch > 0]).tolist():
        weight, x, y = _cut_out(cover[0], patches, number, boxes[number])
        own = np.flatnonzero(patch == number)
        own = own[np.argsort(-sure[own], kind="stable")]
        own = own[_apart(told.take(own))]
        fitted, good = _settle(told.take(own), weight, x, y)
        own = own[: len(fitted)]
        rows[own], fit[own] = fitted, good
    return RotatedBoxes.of(rows), fit


def _cut_out(
    cover: np.ndarray, patches: np.ndarray, number: int, box: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A patch with its hazy edge: the weights of the cells around it, and their middles."""
    left, top, wide, high = box[:4].tolist()
    right, bottom = min(left + wide + 1, cover.shape[1]), min(top + high + 1, cover.shape[0])
    left, top = max(left - 1, 0), max(top - 1, 0)
    weight = cover[top:bottom, left:right]
    edged = cv2.dilate((patches[top:bottom, left:right] == number).astype(np.uint8), EDGE) > 0
    return np.where(edged & (weight >= HAZE), weight, 0), *_middles(left, right, top, bottom)


def _settle(told: RotatedBoxes, weight: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A patch as one rectangle, or as several that were told in it, the surest first; and how well each fits."""
    one, alone = _deal(told.take(np.arange(1)), weight, x, y)
    if len(told) == 1:
        return one, alone
    several, each = _deal(told, weight, x, y)
    gain = _agreement(several, told) - _agreement(one, told.take(np.arange(1)))
    return (several, each) if gain > (LEAN if alone[0] >= WHOLE else 0) else (one, alone)


def _agreement(rows: np.ndarray, told: RotatedBoxes) -> float:
    """The mean overlap of rectangles with what was told."""
    every = np.arange(len(rows))
    shared, union = RotatedBoxes.of(rows).overlap(told, every, every)
    return float(np.mean(shared / np.maximum(union, 1e-9)))


def _apart(told: RotatedBoxes) -> np.ndarray:
    """Of rectangles, the surest first, those that tell another shape than all before them."""
    kept: list[int] = []
    for k in range(len(told)):
        others, mine = np.array(kept, np.int64), np.full(len(kept), k)
        shared, union = told.overlap(told, mine, others)
        if (shared <= SAME * union).all():
            kept.append(k)
    return np.array(kept, np.int64)


def _deal(told: RotatedBoxes, weight: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A patch among several: each cell to the rectangle whose middle is nearest, in units of its sides."""
    rows, fit = np.stack(told.columns, 1), np.zeros(len(told))
    for _ in range(ROUNDS):
        away = np.stack([_away(row, x, y) for row in rows])
        owner = away.argmin(axis=0)
        for k in range(len(rows)):
            own = np.where(owner == k, weight, 0)
            if own.sum() > 0:
                rows[k] = _spread(own, x, y)
                fit[k] = _fit(rows[k], own, x, y)
    return rows, fit


def _spread(weight: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The rectangle (x, y, length, width, angle) that spreads as the weight does, and has its area.

    A blurred cover spreads too far in all directions alike. So only the difference of the spreads along and across is
    used: length² - width² is twelve times that, and length x width is the area.
    """
    area = float(weight.sum())
    middle_x, middle_y = float((weight * x).sum()) / area, float((weight * y).sum()) / area
    dx, dy = x - middle_x, y - middle_y
    spread_x, spread_y, mixed = (float((weight * part).sum()) / area for part in (dx * dx, dy * dy, dx * dy))
    more = 12 * float(np.hypot(spread_x - spread_y, 2 * mixed))
    length = np.sqrt((more + np.hypot(more, 2 * area)) / 2)
    return np.array([middle_x, middle_y, length, area / length, np.arctan2(2 * mixed, spread_x - spread_y) / 2])


def _fit(row: np.ndarray, weight: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """What a rectangle and a cover have in common, of what either has."""
    filled = _covered(row, x, y)
    shared = float(np.minimum(weight, filled).sum())
    return shared / max(float(weight.sum()) + float(row[2] * row[3]) - shared, 1e-6)


def _covered(row: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How much of the cells around these places a rectangle covers."""
    along, aside = _frame(row, x, y)
    return _shared(along, row[2]) * _shared(aside, row[3])


def _away(row: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    along, aside = _frame(row, x, y)
    return np.maximum(np.abs(along) / max(row[2], 1.0), np.abs(aside) / max(row[3], 1.0))


def _frame(row: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places as a rectangle sees them: along it and aside, from its middle."""
    cos, sin = np.cos(row[4]), np.sin(row[4])
    dx, dy = x - row[0], y - row[1]
    return dx * cos + dy * sin, dy * cos - dx * sin


def _shared(middle: np.ndarray, side: float) -> np.ndarray:
    """How much of a cell around each place is within half a side of 0."""
    return np.clip(np.minimum(middle + 0.5, side / 2) - np.maximum(middle - 0.5, -side / 2), 0, 1)


def _between(extent: Extent, k: int, size: int) -> tuple[int, int]:
    """The first cell that shape k may cover, and the one after the last."""
    middle, half = float(extent.centre[k]), float(extent.half[k]) + 1
    first = int(np.clip(np.floor(middle - half), 0, size))
    return first, max(int(np.clip(np.ceil(middle + half), 0, size)), first)


def _middles(left: int, right: int, top: int, bottom: int) -> tuple[np.ndarray, np.ndarray]:
    """The middles of cells: x in a row, y in a column."""
    return np.arange(left, right) + 0.5, np.arange(top, bottom)[:, None] + 0.5
