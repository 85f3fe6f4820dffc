"""Upright 3D boxes with a heading: cars, people and other volumes in lidar."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallymark.geometry.pairs import Extent, Pairs, overlapping
from tallymark.geometry.rotated_boxes import RotatedBoxes, intersection_area


@dataclass(frozen=True, eq=False)
class Cuboids:
    """Columns of n volumes in metres: centre (z is the middle of the height), width, length, height, yaw.

    Length runs along the heading; yaw in radians turns it counter-clockwise about z, 0 along x.
    """

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    width: np.ndarray
    length: np.ndarray
    height: np.ndarray
    yaw: np.ndarray

    def __len__(self) -> int:
        return len(self.x)

    @classmethod
    def of(cls, rows: np.ndarray) -> Cuboids:
        """From an (n, 7) array of x, y, z, width, length, height, yaw."""
        return cls(*np.ascontiguousarray(np.asarray(rows, float).reshape(-1, 7).T))

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        return self.x, self.y, self.z, self.width, self.length, self.height, self.yaw

    def take(self, index: np.ndarray) -> Cuboids:
        return Cuboids(*(column[index] for column in self.columns))

    def concat(self, other: Cuboids) -> Cuboids:
        return Cuboids(*(np.concatenate(columns) for columns in zip(self.columns, other.columns, strict=True)))

    def scale(self, by: float | np.ndarray) -> Cuboids:
        """With another unit of length on the ground, as that of a grid; heights stay in metres."""
        x, y, width, length = (side * by for side in (self.x, self.y, self.width, self.length))
        return Cuboids(x, y, self.z, width, length, self.height, self.yaw)

    @property
    def ground(self) -> RotatedBoxes:
        """Their outlines seen from above."""
        return RotatedBoxes(self.x, self.y, self.length, self.width, self.yaw)

    @property
    def volume(self) -> np.ndarray:
        return self.width * self.length * self.height

    @property
    def extents(self) -> list[Extent]:
        return [*self.ground.extents, Extent(self.z, self.height / 2)]

    def overlap(self, other: Cuboids, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Intersection and union of the pairs (self[i], other[j]): ground overlap times height overlap."""
        a, b = self.take(i), other.take(j)
        top = np.minimum(a.z + a.height / 2, b.z + b.height / 2)
        bottom = np.maximum(a.z - a.height / 2, b.z - b.height / 2)
        intersection = intersection_area(a.ground, b.ground) * np.maximum(top - bottom, 0)
        return intersection, a.volume + b.volume - intersection

    def pairs(self, other: Cuboids, group: np.ndarray, other_group: np.ndarray, least: float = 0.0) -> Pairs:
        """Pairs of the same group with IoU >= `least` and above 0."""
        return overlapping(self, other, group, other_group, least)
