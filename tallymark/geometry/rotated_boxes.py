"""Rotated boxes on a plane: ships on a chip, or vehicles seen from above."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallymark.geometry.pairs import Extent, Pairs, overlapping

ROUNDING = 1e-13
"""A share of its area that a rectangle can seem to have in common with one that it only touches."""


@dataclass(frozen=True, eq=False)
class RotatedBoxes:
    """Columns of n rectangles: centre, length along the heading, width across it.

    `angle` in radians turns the heading from x towards y (counter-clockwise where y points up).
    """

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

    def scale(self, by: float | np.ndarray) -> RotatedBoxes:
        """The same boxes on a plane enlarged by this factor, or each by its own."""
        return RotatedBoxes(self.x * by, self.y * by, self.length * by, self.width * by, self.angle)

    @property
    def area(self) -> np.ndarray:
        return self.length * self.width

    @property
    def extents(self) -> list[Extent]:
        """Half the sides of the upright box around each rectangle."""
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
    """The area that a[k] and b[k] share, for all k at once.

    Seen in a's own frame, a is |u| <= U, |v| <= V. Walk around b: each edge, taken as a function v(u), contributes
    the integral of v cut off at -V and V, over the part of the edge with |u| <= U; forward and backward edges have
    opposite signs, so what remains is the height of the shared slice at every u. No polygon is built, nothing
    can fail to close, and for parallel boxes the result is exact.
    """
    cos, sin = np.cos(a.angle), np.sin(a.angle)
    dx, dy = b.x - a.x, b.y - a.y
    u, v = dx * cos + dy * sin, dy * cos - dx * sin
    turn = b.angle - a.angle
    cos, sin = np.cos(turn), np.sin(turn)
    along_u, along_v = b.length / 2 * cos, b.length / 2 * sin
    across_u, across_v = -b.width / 2 * sin, b.width / 2 * cos
    corner_u = [u + along_u + across_u, u - along_u + across_u, u - along_u - across_u, u + along_u - across_u]
    corner_v = [v + along_v + across_v, v - along_v + across_v, v - along_v - across_v, v + along_v - across_v]
    half_u, half_v = a.length / 2, a.width / 2
    area = np.zeros(len(a))
    for start in range(4):
        end = (start + 1) % 4
        area += _under_edge(corner_u[start], corner_v[start], corner_u[end], corner_v[end], half_u, half_v)
    area = np.abs(area)
    return np.where(area > ROUNDING * a.area, area, 0)


def _under_edge(
    u0: np.ndarray, v0: np.ndarray, u1: np.ndarray, v1: np.ndarray, half_u: np.ndarray, half_v: np.ndarray
) -> np.ndarray:
    """Signed integral over u of the edge's v, both cut off at the half sides."""
    start, stop = np.clip(u0, -half_u, half_u), np.clip(u1, -half_u, half_u)
    run = u1 - u0
    slope = (v1 - v0) / np.where(np.abs(run) > 1e-200, run, np.inf)  # an upright edge has nothing below it
    v_start, v_stop = v0 + (start - u0) * slope, v1 + (stop - u1) * slope
    low, high = np.minimum(v_start, v_stop), np.maximum(v_start, v_stop)
    low_cut, high_cut = np.clip(low, -half_v, half_v), np.clip(high, -half_v, half_v)
    # The cut edge has three parts: below -V, between, above V. Weighing them by length avoids cancellation.
    below, between, above = np.minimum(high, -half_v) - low, high_cut - low_cut, high - np.maximum(low, half_v)
    below, above = np.maximum(below, 0), np.maximum(above, 0)
    length = below + between + above
    sloped = length > 0
    mean = (half_v * (above - below) + (low_cut + high_cut) / 2 * between) / np.where(sloped, length, 1)
    return (stop - start) * np.where(sloped, mean, low_cut)
