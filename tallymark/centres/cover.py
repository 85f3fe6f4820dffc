"""Cover: how much of each part of a cell lies on any shape. A rectangle is told by one cell, and corrected by all that
it covers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tallymark.data.geometry import RotatedBoxes

FINE = 2
"""Parts of a cell across and down, each of which has a cover of its own. Below, cells are such parts."""
AROUND = 2.0
"""Cells beyond its ends that may still be a rectangle's own, and besides them …"""
BEYOND = 0.15
"""… this share of its sides: by so much it may have been told too short."""
HAZE = 0.15
"""Cover below this is none."""
LEAST = 0.3
"""The share of a rectangle that must be covered for the cover to know better."""
FOUND = 0.4
"""How well a rectangle must fit for what it covers to be its own."""
ROUNDS = 3
"""Corrections, each around the rectangle that the one before left."""
LONGER = 1.2
"""How much further something must spread along than across for its direction to be seen."""


def draw_cover(ground: RotatedBoxes, shape: tuple[int, int]) -> np.ndarray:
    """(1, height, width): the share of each cell that shapes cover, exact for upright ones."""
    cover = np.zeros((1, *shape), np.float32)
    for k in range(len(ground)):
        zone = _zone(ground, k, shape)
        window = cover[0, zone.rows, zone.columns]
        np.maximum(window, zone.covered, out=window)
    return cover


def correct(told: RotatedBoxes, sure: np.ndarray, cover: np.ndarray) -> tuple[RotatedBoxes, np.ndarray]:
    """Rectangles moved, turned and resized to what is covered there, and how well they then fit it, from 0 to 1.

    First the surest takes what is covered along it, then the next what is left: one that tells the same shape again
    finds nothing, and fits badly. Those that found something then divide the cells around them, each of which belongs
    to the nearest in units of its sides.
    """
    shape = (cover.shape[-2], cover.shape[-1])
    seen = np.where(cover[0] >= HAZE, cover[0], 0)
    rows, fit, left = np.stack(told.columns, 1), np.zeros(len(told)), seen.copy()
    for k in np.argsort(-sure, kind="stable").tolist():
        rectangle = RotatedBoxes.of(rows[k])
        for _ in range(ROUNDS):
            rectangle = _moved(rectangle, _zone(rectangle, 0, shape, across=0), left)
        zone = _zone(rectangle, 0, shape, across=0)
        rows[k], fit[k] = np.stack(rectangle.columns, 1)[0], _fit(zone, left)
        if fit[k] >= FOUND:
            left[zone.rows, zone.columns] *= 1 - zone.covered
    found = np.flatnonzero(fit >= FOUND)
    for _ in range(ROUNDS):
        rectangles = RotatedBoxes.of(rows[found])
        zones, owner = _divide(rectangles, shape)
        for k, zone in zip(found.tolist(), zones, strict=True):
            own = np.where(owner == zone.k, seen, 0)
            rows[k] = np.stack(_moved(rectangles.take(np.array([zone.k])), zone, own).columns, 1)[0]
            fit[k] = _fit(zone, own)
    return RotatedBoxes.of(rows), fit


class _Zone(NamedTuple):
    """Cells around rectangle k: how far they are from its middle (1 at the end of what may be its own), and how much
    of each it covers."""

    k: int
    rows: slice
    columns: slice
    along: np.ndarray
    aside: np.ndarray
    away: np.ndarray
    covered: np.ndarray

    @property
    def near(self) -> np.ndarray:
        return self.away <= 1


def _zone(ground: RotatedBoxes, k: int, shape: tuple[int, int], across: float = 1.0) -> _Zone:
    """`across`: how much of what lies beyond the long sides may be its own, of what is usual."""
    x, y, length, width, angle = (float(column[k]) for column in ground.columns)
    cos, sin = np.cos(angle), np.sin(angle)
    half_length = length * (0.5 + BEYOND) + AROUND
    half_width = width * (0.5 + across * BEYOND) + max(across * AROUND, 0.5)
    reach_x, reach_y = abs(half_length * cos) + abs(half_width * sin), abs(half_length * sin) + abs(half_width * cos)
    rows, columns = _between(y, reach_y, shape[0]), _between(x, reach_x, shape[1])
    dx = np.arange(columns.start, columns.stop) + 0.5 - x
    dy = (np.arange(rows.start, rows.stop) + 0.5 - y)[:, None]
    along, aside = dx * cos + dy * sin, dy * cos - dx * sin
    away = np.maximum(np.abs(along) / half_length, np.abs(aside) / half_width)
    return _Zone(k, rows, columns, along, aside, away, _shared(along, length) * _shared(aside, width))


def _between(middle: float, reach: float, size: int) -> slice:
    first = int(np.clip(np.floor(middle - reach), 0, size))
    return slice(first, max(int(np.clip(np.ceil(middle + reach), 0, size)), first))


def _shared(middle: np.ndarray, side: float) -> np.ndarray:
    """How much of a cell around each place is within half a side of 0."""
    return np.clip(np.minimum(middle + 0.5, side / 2) - np.maximum(middle - 0.5, -side / 2), 0, 1)


def _divide(rectangles: RotatedBoxes, shape: tuple[int, int]) -> tuple[list[_Zone], np.ndarray]:
    """The zone of each rectangle, and the number of the one that each cell belongs to."""
    nearest, owner = np.full(shape, np.inf), np.full(shape, -1)
    zones = [_zone(rectangles, k, shape) for k in range(len(rectangles))]
    for zone in zones:
        place = (zone.rows, zone.columns)
        closer = zone.near & (zone.away < nearest[place])
        nearest[place][closer], owner[place][closer] = zone.away[closer], zone.k
    return zones, owner


def _moved(rectangle: RotatedBoxes, zone: _Zone, cover: np.ndarray) -> RotatedBoxes:
    """The rectangle that spreads as the cover does and has its area; as it was where little is covered.

    A blurred cover spreads too far in both directions alike. So only the difference of the two spreads is used:
    length² - width² is twelve times that, and length x width is the area.
    """
    x, y, length, width, angle = (float(column[0]) for column in rectangle.columns)
    weight = np.where(zone.near, cover[zone.rows, zone.columns], 0)
    area = float(weight.sum())
    if area <= LEAST * length * width:
        return rectangle
    along, across = (float((weight * part).sum() / area) for part in (zone.along, zone.aside))
    a, c = zone.along - along, zone.aside - across
    spread_along, spread_across, mixed = (float((weight * part).sum() / area) for part in (a * a, c * c, a * c))
    turn = 0.0
    if spread_along > LONGER * spread_across:
        turn = float(np.arctan2(2 * mixed, spread_along - spread_across)) / 2
    more = 12 * float(np.hypot(spread_along - spread_across, 2 * mixed if turn else 0.0))
    length = np.sqrt((more + np.hypot(more, 2 * area)) / 2)
    cos, sin = np.cos(angle), np.sin(angle)
    x, y = x + along * cos - across * sin, y + along * sin + across * cos
    return RotatedBoxes.of(np.array([x, y, length, area / length, angle + turn]))


def _fit(zone: _Zone, cover: np.ndarray) -> float:
    """What rectangle and cover have in common, of what either has."""
    own = np.where(zone.near, cover[zone.rows, zone.columns], 0)
    shared = float(np.minimum(own, zone.covered).sum())
    return shared / max(float(own.sum() + zone.covered.sum()) - shared, 1e-6)
