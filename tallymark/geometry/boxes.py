"""Upright boxes in a picture: left, top, width, height in pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallymark.geometry.pairs import Extent, Pairs, overlapping


@dataclass(frozen=True, eq=False)
class Boxes:
    """Columns of n boxes; (x, y) is the upper left corner, y runs down. Areas are width * height, without a +1."""

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

    def scale(self, by: float | np.ndarray) -> Boxes:
        """The same boxes in a picture enlarged by this factor, or each by its own."""
        return Boxes(*(column * by for column in self.columns))

    def expand(self, by: float) -> Boxes:
        """Every width and height larger by `by`: with 1, corners count as pixels that belong to the box."""
        return Boxes(self.x, self.y, self.width + by, self.height + by)

    def clip_to(self, width: float, height: float) -> Boxes:
        """The part of each box inside a picture of this size (zero-sized where nothing is left)."""
        left, top = np.clip(self.x, 0, width), np.clip(self.y, 0, height)
        right, bottom = np.clip(self.x + self.width, 0, width), np.clip(self.y + self.height, 0, height)
        return Boxes(left, top, right - left, bottom - top)

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
