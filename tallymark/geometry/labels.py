"""Class labels of a whole item. Several of one item are a ranking, the highest score first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tallymark.geometry.affine import Region
from tallymark.geometry.pairs import Extent

MOST_CLASSES = 10_000
"""Class ids from here on are refused as typing errors, where no list of names sets the limit."""


@dataclass(frozen=True, eq=False)
class Labels:
    """A column of n class ids, counted from 0. They have no position and no extent."""

    noun: ClassVar[tuple[str, str]] = ("label", "labels")
    localized: ClassVar[bool] = False
    overlaps: ClassVar[bool] = False
    rotatable: ClassVar[bool] = True

    label: np.ndarray

    def __len__(self) -> int:
        return len(self.label)

    def take(self, index: np.ndarray) -> Labels:
        return Labels(self.label[index])

    def concat(self, other: Labels) -> Labels:
        return Labels(np.concatenate([self.label, other.label]))

    @property
    def extents(self) -> list[Extent]:
        """None: labels have no axes."""
        return []

    def as_json(self) -> list[list[float]]:
        """The class id of each."""
        return [[int(label)] for label in self.label]

    def scale(self, by: float | np.ndarray) -> Labels:
        """Unchanged, as are the results of the other transforms."""
        return self

    def clip(self, size: np.ndarray) -> tuple[Labels, np.ndarray]:
        return self, np.arange(len(self))

    def disjoint(self, group: np.ndarray, score: np.ndarray) -> tuple[Labels, np.ndarray]:
        return self, np.arange(len(self))

    def transform(self, matrix: np.ndarray, height: int, width: int) -> tuple[Labels, np.ndarray]:
        return self, np.arange(len(self))

    def erase(self, region: Region) -> tuple[Labels, np.ndarray]:
        return self, np.arange(len(self))
