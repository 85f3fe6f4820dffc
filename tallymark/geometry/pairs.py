"""Which objects of two sets overlap, without comparing everything with everything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import numpy as np

CHUNK = 1 << 17
"""Candidate pairs handled at once: few enough to stay in the cache, so memory does not grow with crowded items."""

FARTHEST = 1e12
"""Coordinates beyond this share one place on the search line: a longer candidate list, never a lost pair."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Rows of two sets that overlap, with the size of intersection and union (pixels, square or cubic metres)."""

    first: np.ndarray
    second: np.ndarray
    intersection: np.ndarray
    union: np.ndarray

    def __len__(self) -> int:
        return len(self.first)

    @property
    def iou(self) -> np.ndarray:
        return self.intersection / self.union


@dataclass(frozen=True, eq=False)
class Extent:
    """Objects seen along one axis: their middle and half their width."""

    centre: np.ndarray
    half: np.ndarray


class Overlapping(Protocol):
    """What the search for overlapping pairs needs of a geometry."""

    @property
    def extents(self) -> list[Extent]:
        """Centre and half side of each shape's axis-aligned bounding box, for each axis."""

    def overlap(self, other: Self, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Intersection and union of the pairs (self[i], other[j])."""


S = TypeVar("S", bound=Overlapping)


@np.errstate(over="ignore", invalid="ignore")  # a coordinate of 1e308 is legal, and no hit
def overlapping(
    a: S,
    b: S,
    group_a: np.ndarray,
    group_b: np.ndarray,
    least: float = 0.0,
    *,
    symmetric: bool = True,
    among_themselves: bool = False,
) -> Pairs:
    """Pairs of the same group with an IoU of at least `least`, and above 0.

    `among_themselves`: both are the same set, and each pair is wanted once, the earlier first.

    From an IoU of one half on, two convex shapes that are `symmetric` about their centre contain each other's
    centre: what they share is convex and at least half of either, and a line through the centre leaves only half
    on each side. So centres within reach are enough to look at, which leaves very few candidates.
    """
    centres_inside = symmetric and least >= 0.5
    axes = [_Axis.of(*extents) for extents in zip(a.extents, b.extents, strict=True)]
    reach = axes[0].reach_a if centres_inside else axes[0].reach_a + axes[0].reach_b.max(initial=0)
    found: list[tuple[np.ndarray, ...]] = []
    for i, j in candidates(axes[0].centre_a, reach, group_a, axes[0].centre_b, group_b):
        for axis in axes[1:] if centres_inside else axes:
            limit = axis.reach_a[i] if centres_inside else axis.reach_a[i] + axis.reach_b[j]
            near = np.abs(axis.centre_a[i] - axis.centre_b[j]) <= limit
            i, j = i[near], j[near]
        if among_themselves:
            i, j = i[i < j], j[i < j]
        intersection, union = a.overlap(b, i, j)
        kept = np.flatnonzero((intersection > 0) & (intersection >= least * union))
        found.append((i[kept], j[kept], intersection[kept], union[kept]))
    return join(found)


@dataclass(frozen=True, eq=False)
class _Axis:
    """Two sets along one axis; the reach is half a width and a little more, so that rounding loses no pair."""

    centre_a: np.ndarray
    centre_b: np.ndarray
    reach_a: np.ndarray
    reach_b: np.ndarray

    @classmethod
    def of(cls, a: Extent, b: Extent) -> _Axis:
        farthest = max(np.abs(np.clip(side.centre, -FARTHEST, FARTHEST)).max(initial=0) for side in (a, b))
        slack = 1e-9 * (1 + farthest)
        return cls(a.centre, b.centre, a.half * (1 + 1e-9) + slack, b.half * (1 + 1e-9) + slack)


def join(parts: Sequence[tuple[np.ndarray, ...]]) -> Pairs:
    if not parts:
        return Pairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0))
    return Pairs(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def candidates(
    centre: np.ndarray, reach: np.ndarray, group: np.ndarray, point: np.ndarray, point_group: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Chunks of (i, j) of one group with |point[j] - centre[i]| <= reach[i], and perhaps a few more.

    All groups lie on one line, each on its own stretch of it, so that one sorted search serves them all.
    """
    if not len(centre) or not len(point):
        return
    low, high = (float(np.clip(edge, -FARTHEST, FARTHEST)) for edge in (point.min(), point.max()))
    groups = int(max(group.max(), point_group.max())) + 1
    stretch = (high - low) + 1
    rounding = 1e-15 * stretch * (groups + 1)
    stretch += 4 * rounding

    def on_line(group: np.ndarray, value: np.ndarray) -> np.ndarray:
        place: np.ndarray = group * stretch + (np.clip(value, low, high) - low)
        return place

    places = on_line(point_group, point)
    order = np.argsort(places, kind="stable")
    places = places[order]
    start = np.searchsorted(places, on_line(group, centre - reach) - rounding, "left")
    stop = np.searchsorted(places, on_line(group, centre + reach) + rounding, "right")
    for rows, index in ragged(start, stop):
        yield rows, order[index]


def ragged(start: np.ndarray, stop: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Chunks of (row, k) for every k in start[row]:stop[row]."""
    counts = stop - start
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    row = 0
    while row < len(ends) and (done := int(ends[row - 1]) if row else 0) < total:
        last = max(row + 1, int(np.searchsorted(ends, done + CHUNK, "right")))
        count = counts[row:last]
        rows = np.repeat(np.arange(row, last), count)
        steps = np.arange(len(rows)) - np.repeat(ends[row:last] - count - done, count)
        yield rows, np.repeat(start[row:last], count) + steps
        row = last
