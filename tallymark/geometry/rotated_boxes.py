"""Rotated boxes in a plane: ships in a satellite image, or vehicles in the bird's-eye view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tallymark.geometry.affine import MIN_VISIBLE, Region
from tallymark.geometry.clusters import Clusters
from tallymark.geometry.pairs import Extent, Pairs, overlapping

ROUNDING = 1e-13
"""Relative rounding error of an intersection: below this share of the area, two rectangles only touch."""
BLOCK = 2048
"""Pairs whose intersections are computed at once: their numbers stay in the cache of a core."""


@dataclass(frozen=True, eq=False)
class RotatedBoxes:
    """Columns of n rectangles: centre x, y, length along the heading, width across it, and angle.

    `angle` of the heading is in radians, from x towards y (counter-clockwise where y points up).
    """

    noun: ClassVar[tuple[str, str]] = ("rotated box", "rotated boxes")
    localized: ClassVar[bool] = True
    overlaps: ClassVar[bool] = True
    rotatable: ClassVar[bool] = True

    x: np.ndarray
    y: np.ndarray
    length: np.ndarray
    width: np.ndarray
    angle: np.ndarray

    def __len__(self) -> int:
        return len(self.x)

    @classmethod
    def of(cls, rows: np.ndarray) -> RotatedBoxes:
        """From an (n, 5) array of x, y, length, width, angle."""
        return cls(*np.ascontiguousarray(np.asarray(rows, float).reshape(-1, 5).T))

    def take(self, index: np.ndarray) -> RotatedBoxes:
        return RotatedBoxes(*(column[index] for column in self.columns))

    def concat(self, other: RotatedBoxes) -> RotatedBoxes:
        return RotatedBoxes(*(np.concatenate(columns) for columns in zip(self.columns, other.columns, strict=True)))

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        return self.x, self.y, self.length, self.width, self.angle

    def as_json(self) -> list[list[float]]:
        rows: list[list[float]] = np.column_stack(self.columns).astype(float).tolist()
        return rows

    def scale(self, by: float | np.ndarray) -> RotatedBoxes:
        """The boxes in a plane enlarged by this factor, or each by its own."""
        return RotatedBoxes(self.x * by, self.y * by, self.length * by, self.width * by, self.angle)

    def clip(self, size: np.ndarray) -> tuple[RotatedBoxes, np.ndarray]:
        """All boxes, unchanged: clipped at the edge of an image they would not be rectangles."""
        return self, np.arange(len(self))

    def transform(self, matrix: np.ndarray, height: int, width: int) -> tuple[RotatedBoxes, np.ndarray]:
        """The boxes with their centre in a crop of this size, not clipped. The matrix must keep right angles."""
        linear = matrix[:, :2]
        scale = float(np.sqrt(abs(np.linalg.det(linear))))
        if not np.allclose(linear @ linear.T, scale**2 * np.eye(2), rtol=0, atol=1e-6 * scale**2):
            raise ValueError("rotated boxes need a matrix that keeps right angles")
        x, y = linear @ np.stack([self.x, self.y]) + matrix[:, 2:]
        # The heading is transformed as a direction, because a reflection reverses its angle.
        along, across = linear @ np.stack([np.cos(self.angle), np.sin(self.angle)])
        moved = RotatedBoxes(x, y, self.length * scale, self.width * scale, np.arctan2(across, along))
        centred = (x >= 0) & (x < width) & (y >= 0) & (y < height)
        visible = moved._area_within(Region(0, 0, width, height)) >= MIN_VISIBLE * moved.area
        kept = np.flatnonzero(centred & visible & (moved.area > 0))
        return moved.take(kept), kept

    def erase(self, region: Region) -> tuple[RotatedBoxes, np.ndarray]:
        """The boxes that stay visible when a region is covered, unchanged."""
        kept = np.flatnonzero(self._area_within(region) <= (1 - MIN_VISIBLE) * self.area)
        return self.take(kept), kept

    def _area_within(self, region: Region) -> np.ndarray:
        row = (region.left + region.width / 2, region.top + region.height / 2, region.width, region.height, 0.0)
        return intersection_area(RotatedBoxes.of(np.tile(row, (len(self), 1))), self)

    def disjoint(self, group: np.ndarray, score: np.ndarray) -> tuple[RotatedBoxes, np.ndarray]:
        """All of them, unchanged: rectangles may overlap."""
        return self, np.arange(len(self))

    def fuse(self, clusters: Clusters) -> RotatedBoxes:
        """The mean of centre, sides and direction of each cluster.

        The sides of a rectangle that lies across the leader are swapped. Directions half a turn apart are the same,
        so the mean is that of unit vectors at twice the angle.
        """
        turn = clusters.difference_from_leader(self.angle)
        quarters = np.round(turn / (np.pi / 2))
        turn, across = turn - quarters * np.pi / 2, quarters % 2 == 1
        length, width = np.where(across, (self.width, self.length), (self.length, self.width))
        mean_turn = np.arctan2(clusters.mean(np.sin(2 * turn)), clusters.mean(np.cos(2 * turn))) / 2
        return RotatedBoxes(
            clusters.mean(self.x),
            clusters.mean(self.y),
            clusters.mean(length),
            clusters.mean(width),
            self.angle[clusters.leader] + mean_turn,
        )

    @property
    def area(self) -> np.ndarray:
        return self.length * self.width

    @property
    def extents(self) -> list[Extent]:
        """Those of the axis-aligned bounding box of each rectangle."""
        cos, sin = np.abs(np.cos(self.angle)), np.abs(np.sin(self.angle))
        half_length, half_width = self.length / 2, self.width / 2
        return [
            Extent(self.x, half_length * cos + half_width * sin),
            Extent(self.y, half_length * sin + half_width * cos),
        ]

    @property
    def corners(self) -> np.ndarray:
        """(n, 4, 2): front left, rear left, rear right, front right, counter-clockwise where y points up."""
        along = np.stack([np.cos(self.angle), np.sin(self.angle)], 1)[:, None]
        across = along[..., ::-1] * (-1, 1)
        half_length, half_width = (self.length / 2)[:, None, None], (self.width / 2)[:, None, None]
        centre = np.stack([self.x, self.y], 1)[:, None]
        signs = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)])
        return centre + signs[:, :1] * half_length * along + signs[:, 1:] * half_width * across

    def overlap(self, other: RotatedBoxes, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Intersection and union of the pairs (self[i], other[j])."""
        a, b = self.take(i), other.take(j)
        intersection = intersection_area(a, b)
        return intersection, a.area + b.area - intersection

    def pairs(self, other: RotatedBoxes, group: np.ndarray, other_group: np.ndarray, least: float = 0.0) -> Pairs:
        """Pairs of the same group with IoU >= `least` and above 0."""
        return overlapping(self, other, group, other_group, least)


def intersection_area(a: RotatedBoxes, b: RotatedBoxes) -> np.ndarray:
    """The area of the intersection of a[k] and b[k], for all k."""
    if len(a) <= BLOCK:
        return _intersection_area(a, b)
    blocks = np.array_split(np.arange(len(a)), -(-len(a) // BLOCK))
    return np.concatenate([_intersection_area(a.take(block), b.take(block)) for block in blocks])


def _intersection_area(a: RotatedBoxes, b: RotatedBoxes) -> np.ndarray:
    """The same at once.

    In the coordinates (u, v) of a, a is |u| <= U, |v| <= V. Each edge of b, taken as a function v(u), contributes the
    integral of v clipped to [-V, V] over the part of the edge with |u| <= U; edges to the left and to the right have
    opposite signs, so that the sum is the area of the intersection. No polygon is constructed, so there are no
    degenerate cases, and for parallel boxes the result is exact.
    """
    cos, sin = np.cos(a.angle), np.sin(a.angle)
    dx, dy = b.x - a.x, b.y - a.y
    u, v = dx * cos + dy * sin, dy * cos - dx * sin
    turn = b.angle - a.angle
    cos, sin = np.cos(turn), np.sin(turn)
    half_length, half_width = b.length / 2, b.width / 2
    corner_u = _corners(u, half_length * cos, -half_width * sin)
    corner_v = _corners(v, half_length * sin, half_width * cos)
    area = np.abs(_under_edges(corner_u, corner_v, a.length / 2, a.width / 2).sum(axis=0))
    return np.where(area > ROUNDING * a.area, area, 0)


def _corners(centre: np.ndarray, along: np.ndarray, across: np.ndarray) -> np.ndarray:
    """(5, n): one coordinate of the corners of boxes in turn, the first one again at the end."""
    front, rear = centre + along, centre - along
    first = front + across
    return np.stack([first, rear + across, rear - across, front - across, first])


def _under_edges(u: np.ndarray, v: np.ndarray, half_u: np.ndarray, half_v: np.ndarray) -> np.ndarray:
    """(4, n): the signed integral over u of v along each edge between corners (5, n), both clipped to the half sides.

    All edges at once: for few boxes the time goes into calls of NumPy.
    """
    clipped = _limit(u, half_u)
    start, stop = clipped[:-1], clipped[1:]
    run = u[1:] - u[:-1]
    slope = (v[1:] - v[:-1]) / np.where(np.abs(run) > 1e-200, run, np.inf)  # the integral of a vertical edge is 0
    v_start, v_stop = v[:-1] + (start - u[:-1]) * slope, v[1:] + (stop - u[1:]) * slope
    low, high = np.minimum(v_start, v_stop), np.maximum(v_start, v_stop)
    low_clipped, high_clipped = _limit(low, half_v), _limit(high, half_v)
    # The edge has three parts: below -V, between, above V. Weighting them by length avoids cancellation.
    below, between, above = np.minimum(high, -half_v) - low, high_clipped - low_clipped, high - np.maximum(low, half_v)
    below, above = np.maximum(below, 0), np.maximum(above, 0)
    length = below + between + above
    sloped = length > 0
    mean = (half_v * (above - below) + (low_clipped + high_clipped) / 2 * between) / np.where(sloped, length, 1)
    return (stop - start) * np.where(sloped, mean, low_clipped)


def _limit(value: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Values within -most and most; `np.clip` takes three times as long for as few as there are."""
    return np.minimum(np.maximum(value, -most), most)
