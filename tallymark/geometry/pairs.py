"""Search for the overlapping pairs of two sets of shapes, without comparing all pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import numpy as np

CHUNK = 1 << 17
"""Candidate pairs processed at once: few enough for the cache, so that memory does not grow with crowded items."""

FARTHEST = 1e12
"""Coordinates are clipped to this for the search: more candidates, but no lost pair."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Indices of overlapping shapes of two sets, with intersection and union (pixels, square or cubic metres)."""

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
    """Shapes projected to one axis: centre and half side of each."""

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


@np.errstate(over="ignore", invalid="ignore")  # coordinates of 1e308 are legal, and overlap nothing
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

    symmetric: whether the shapes are convex and symmetric about their centre.
    among_themselves: both are the same set, and each pair is returned once, the earlier shape first.

    From an IoU of one half on, two convex shapes that are symmetric about their centre contain each other's centre:
    the intersection is convex and at least half of either, and a line through the centre leaves only half on each
    side. So only shapes whose centres are that close are candidates, which are very few.
    """
    centres_inside = symmetric and least >= 0.5
    axes = [_Axis.of(*extents) for extents in zip(a.extents, b.extents, strict=True)]
    reach = axes[0].reach_a if centres_inside else axes[0].reach_a + axes[0].reach_b.max(initial=0)
    chunks: list[tuple[np.ndarray, ...]] = []
    for i, j in candidates(axes[0].centre_a, reach, group_a, axes[0].centre_b, group_b):
        for axis in axes[1:] if centres_inside else axes:
            limit = axis.reach_a[i] if centres_inside else axis.reach_a[i] + axis.reach_b[j]
            near = np.abs(axis.centre_a[i] - axis.centre_b[j]) <= limit
            i, j = i[near], j[near]
        if among_themselves:
            i, j = i[i < j], j[i < j]
        intersection, union = a.overlap(b, i, j)
        kept = np.flatnonzero((intersection > 0) & (intersection >= least * union))
        chunks.append((i[kept], j[kept], intersection[kept], union[kept]))
    return _concat(chunks)


@dataclass(frozen=True, eq=False)
class _Axis:
    """Two sets along one axis; the reach is half a side and a margin, so that rounding loses no pair."""

    centre_a: np.ndarray
    centre_b: np.ndarray
    reach_a: np.ndarray
    reach_b: np.ndarray

    @classmethod
    def of(cls, a: Extent, b: Extent) -> _Axis:
        farthest = max(np.abs(np.clip(side.centre, -FARTHEST, FARTHEST)).max(initial=0) for side in (a, b))
        slack = 1e-9 * (1 + farthest)
        return cls(a.centre, b.centre, a.half * (1 + 1e-9) + slack, b.half * (1 + 1e-9) + slack)


def _concat(chunks: Sequence[tuple[np.ndarray, ...]]) -> Pairs:
    if not chunks:
        return Pairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0))
    return Pairs(*(np.concatenate(columns) for columns in zip(*chunks, strict=True)))


def candidates(
    centre: np.ndarray, reach: np.ndarray, group: np.ndarray, point: np.ndarray, point_group: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Chunks of (i, j) of one group with |point[j] - centre[i]| <= reach[i], and perhaps a few more.

    Each group has its own range of one axis, so that one sorted search serves all groups.
    """
    if not len(centre) or not len(point):
        return
    low, high = (float(np.clip(edge, -FARTHEST, FARTHEST)) for edge in (point.min(), point.max()))
    groups = int(max(group.max(), point_group.max())) + 1
    length = (high - low) + 1
    rounding = 1e-15 * length * (groups + 1)
    length += 4 * rounding

    def on_axis(group: np.ndarray, value: np.ndarray) -> np.ndarray:
        position: np.ndarray = group * length + (np.clip(value, low, high) - low)
        return position

    positions = on_axis(point_group, point)
    order = np.argsort(positions, kind="stable")
    positions = positions[order]
    start = np.searchsorted(positions, on_axis(group, centre - reach) - rounding, "left")
    stop = np.searchsorted(positions, on_axis(group, centre + reach) + rounding, "right")
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
