"""Axis-aligned bounding boxes in an image: left, top, width, height in pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tallymark.geometry.affine import MIN_VISIBLE, Region, transform_extents
from tallymark.geometry.clusters import Clusters
from tallymark.geometry.coincidence import Coincidences, numbers_in, overlapping_shapes
from tallymark.geometry.pairs import Extent, Pairs, overlapping

SMALLEST_SIDE = 1.0
"""Pixels that a side of a box must keep when it is clipped to its image."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """Columns of n boxes; (x, y) is the upper left corner, y points down. Areas are width * height, without a +1."""

    noun: ClassVar[tuple[str, str]] = ("box", "boxes")
    localized: ClassVar[bool] = True
    overlaps: ClassVar[bool] = True
    rotatable: ClassVar[bool] = False

    x: np.ndarray
    y: np.ndarray
    width: np.ndarray
    height: np.ndarray

    def __len__(self) -> int:
        return len(self.x)

    @classmethod
    def of(cls, rows: np.ndarray) -> Boxes:
        """From an (n, 4) array of x, y, width, height."""
        return cls(*np.ascontiguousarray(np.asarray(rows, float).reshape(-1, 4).T))

    def take(self, index: np.ndarray) -> Boxes:
        return Boxes(*(column[index] for column in self.columns))

    def concat(self, other: Boxes) -> Boxes:
        return Boxes(*(np.concatenate(columns) for columns in zip(self.columns, other.columns, strict=True)))

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        return self.x, self.y, self.width, self.height

    @property
    def area(self) -> np.ndarray:
        return self.width * self.height

    @property
    def extents(self) -> list[Extent]:
        return [
            Extent(self.x + self.width / 2, self.width / 2),
            Extent(self.y + self.height / 2, self.height / 2),
        ]

    def as_json(self) -> list[list[float]]:
        rows: list[list[float]] = np.column_stack(self.columns).astype(float).tolist()
        return rows

    def scale(self, by: float | np.ndarray) -> Boxes:
        """The boxes in an image enlarged by this factor, or each by its own."""
        return Boxes(*(column * by for column in self.columns))

    def expand(self, by: float) -> Boxes:
        """Every width and height larger by `by`: with 1, corners count as pixels that belong to the box."""
        return Boxes(self.x, self.y, self.width + by, self.height + by)

    def clip(self, size: np.ndarray) -> tuple[Boxes, np.ndarray]:
        """The boxes clipped to their images of `size` (n, 2); those with a side below 1 px are dropped."""
        width, height = size.T
        clipped = self.clip_to(width, height)
        kept = np.flatnonzero((clipped.width >= SMALLEST_SIDE) & (clipped.height >= SMALLEST_SIDE))
        return clipped.take(kept), kept

    def clip_to(self, width: float | np.ndarray, height: float | np.ndarray) -> Boxes:
        """All boxes clipped to an image of this size, or each to its own; zero-sized where nothing is left."""
        left, top = np.clip(self.x, 0, width), np.clip(self.y, 0, height)
        right, bottom = np.clip(self.x + self.width, 0, width), np.clip(self.y + self.height, 0, height)
        return Boxes(left, top, right - left, bottom - top)

    def transform(self, matrix: np.ndarray, height: int, width: int) -> tuple[Boxes, np.ndarray]:
        """The axis-aligned boxes around the transformed corners, clipped to a crop of this size."""
        centre, half = transform_extents(self.extents, matrix)
        moved = Boxes(*(centre - half), *(2 * half))
        clipped = moved.clip_to(width, height)
        kept = np.flatnonzero((clipped.area > 0) & (clipped.area >= MIN_VISIBLE * moved.area))
        return clipped.take(kept), kept

    def erase(self, region: Region) -> tuple[Boxes, np.ndarray]:
        """What is visible of the boxes when a region is covered: a box loses a side only if all of it is covered."""
        left, top, right, bottom = self.x, self.y, self.x + self.width, self.y + self.height
        region_right, region_bottom = region.left + region.width, region.top + region.height
        across = np.minimum(right, region_right) - np.maximum(left, region.left)
        down = np.minimum(bottom, region_bottom) - np.maximum(top, region.top)
        covered = np.maximum(across, 0) * np.maximum(down, 0)
        all_down = (region.top <= top) & (region_bottom >= bottom) & (across > 0)
        all_across = (region.left <= left) & (region_right >= right) & (down > 0)
        new_left = np.where(all_down & (region.left <= left), region_right, left)
        new_right = np.where(all_down & (region_right >= right), region.left, right)
        new_top = np.where(all_across & (region.top <= top), region_bottom, top)
        new_bottom = np.where(all_across & (region_bottom >= bottom), region.top, bottom)
        kept = np.flatnonzero((self.area > 0) & (covered <= (1 - MIN_VISIBLE) * self.area))
        return Boxes(new_left, new_top, new_right - new_left, new_bottom - new_top).take(kept), kept

    def disjoint(self, group: np.ndarray, score: np.ndarray) -> tuple[Boxes, np.ndarray]:
        """All of them, unchanged: boxes may overlap."""
        return self, np.arange(len(self))

    def fuse(self, clusters: Clusters) -> Boxes:
        """The mean box of each cluster."""
        return Boxes(*map(clusters.mean, self.columns))

    def overlap(self, other: Boxes, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Intersection and union of the pairs (self[i], other[j])."""
        a, b = self.take(i), other.take(j)
        across = np.minimum(a.x + a.width, b.x + b.width) - np.maximum(a.x, b.x)
        down = np.minimum(a.y + a.height, b.y + b.height) - np.maximum(a.y, b.y)
        intersection = np.maximum(across, 0) * np.maximum(down, 0)
        return intersection, a.area + b.area - intersection

    def pairs(self, other: Boxes, group: np.ndarray, other_group: np.ndarray, least: float = 0.0) -> Pairs:
        """Pairs of the same group with IoU >= `least` and above 0."""
        return overlapping(self, other, group, other_group, least)

    def from_json(self, value: object) -> Boxes:
        """A box of the list x, y, width, height."""
        return Boxes.of(np.array([numbers_in(value, "x y width height", (2, 3))]))

    def coincide(self, other: Boxes, group: np.ndarray, other_group: np.ndarray) -> Coincidences:
        """Pairs of the same group with an IoU above one half."""
        return overlapping_shapes(self, other, group, other_group)

    def beside(self, added: Boxes, group: np.ndarray, added_group: np.ndarray) -> tuple[Boxes, np.ndarray]:
        """The added boxes as they are: boxes may overlap."""
        return added, np.arange(len(added))
