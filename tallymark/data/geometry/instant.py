"""Moments in a recording, in seconds from its start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallymark.data.geometry.pairs import candidates


@dataclass(frozen=True, eq=False)
class Instants:
    """A column of n moments in seconds."""

    time: np.ndarray

    def __len__(self) -> int:
        return len(self.time)

    def take(self, index: np.ndarray) -> Instants:
        return Instants(self.time[index])

    def within(
        self, other: Instants, group: np.ndarray, other_group: np.ndarray, buffer: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Pairs (i, j) of the same group with self[i] - buffer <= other[j] <= self[i] + buffer, in this arithmetic."""
        reach = np.full(len(self), buffer)
        found = []
        for i, j in candidates(self.time, reach, group, other.time, other_group):
            at = other.time[j]
            kept = (self.time[i] - buffer <= at) & (at <= self.time[i] + buffer)
            found.append((i[kept], j[kept]))
        if not found:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return np.concatenate([i for i, _ in found]), np.concatenate([j for _, j in found])
