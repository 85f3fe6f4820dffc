"""3D bounding boxes with a heading: cars, pedestrians and other objects in lidar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tallymark.geometry.clusters import Clusters
from tallymark.geometry.coincidence import Coincidences, numbers_in, overlapping_shapes
from tallymark.geometry.pairs import Extent, Pairs, overlapping
from tallymark.geometry.rotated_boxes import RotatedBoxes, intersection_area


@dataclass(frozen=True, eq=False)
class Cuboids:
    """Columns of n upright cuboids in metres: centre x, y, z, then width, length, height, and yaw.

    Length is along the heading; yaw is in radians, counter-clockwise about z, 0 along x.
    """

    noun: ClassVar[tuple[str, str]] = ("cuboid", "cuboids")
    localized: ClassVar[bool] = True
    overlaps: ClassVar[bool] = True

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

    def as_json(self) -> list[list[float]]:
        rows: list[list[float]] = np.column_stack(self.columns).astype(float).tolist()
        return rows

    def scale(self, by: float | np.ndarray) -> Cuboids:
        """The cuboids in another unit of length on the ground, such as grid cells; heights stay in metres."""
        x, y, width, length = (side * by for side in (self.x, self.y, self.width, self.length))
        return Cuboids(x, y, self.z, width, length, self.height, self.yaw)

    def clip(self, size: np.ndarray) -> tuple[Cuboids, np.ndarray]:
        """All cuboids, unchanged: a sweep has no edges."""
        return self, np.arange(len(self))

    def disjoint(self, group: np.ndarray, score: np.ndarray) -> tuple[Cuboids, np.ndarray]:
        """All of them, unchanged: cuboids may overlap."""
        return self, np.arange(len(self))

    def fuse(self, clusters: Clusters) -> Cuboids:
        """The mean of centre, size and heading of each cluster.

        Headings are averaged as unit vectors. Opposite headings would cancel out and leave an arbitrary one, so they
        are reversed for the mean, and the result is the direction that has more weight.
        """
        turn = clusters.difference_from_leader(self.yaw)
        halves = np.round(turn / np.pi)
        turn, opposed = turn - halves * np.pi, halves % 2 == 1
        mean_turn = np.arctan2(clusters.mean(np.sin(turn)), clusters.mean(np.cos(turn)))
        mean_turn += np.where(clusters.mean(opposed.astype(float)) > 0.5, np.pi, 0)
        columns = [*map(clusters.mean, self.columns[:-1]), self.yaw[clusters.leader] + mean_turn]
        return Cuboids(*columns)

    @property
    def ground(self) -> RotatedBoxes:
        """Their footprints in the bird's-eye view."""
        return RotatedBoxes(self.x, self.y, self.length, self.width, self.yaw)

    @property
    def volume(self) -> np.ndarray:
        """Cubic metres."""
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

    def from_json(self, value: object) -> Cuboids:
        """A cuboid of the list x, y, z, width, length, height, yaw."""
        return Cuboids.of(np.array([numbers_in(value, "x y z width length height yaw", (3, 4, 5))]))

    def coincide(self, other: Cuboids, group: np.ndarray, other_group: np.ndarray) -> Coincidences:
        """Pairs of the same group with an IoU above one half."""
        return overlapping_shapes(self, other, group, other_group)

    def beside(self, added: Cuboids, group: np.ndarray, added_group: np.ndarray) -> tuple[Cuboids, np.ndarray]:
        """The added cuboids as they are: cuboids may overlap."""
        return added, np.arange(len(added))
