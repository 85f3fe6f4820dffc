"""Class labels of a whole item. They have no extent; several in one item are a ranking, the surest first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MOST_CLASSES = 10_000
"""Class numbers from here on are taken for a slip, where no list of names sets the limit."""


@dataclass(frozen=True, eq=False)
class Labels:
    """A column of n class ids, counted from 0."""

    label: np.ndarray

    def __len__(self) -> int:
        return len(self.label)

    def take(self, index: np.ndarray) -> Labels:
        return Labels(self.label[index])

    def concat(self, other: Labels) -> Labels:
        return Labels(np.concatenate([self.label, other.label]))
