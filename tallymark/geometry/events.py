"""Moments in a recording, in seconds from its start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallymark.geometry.pairs import candidates


@dataclass(frozen=True, eq=False)
class Events:
    """A column of n moments in seconds; `length` is how long each lasts around it, where that is known."""

    time: np.ndarray
    length: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.time)

    def take(self, index: np.ndarray) -> Events:
        return Events(self.time[index], None if self.length is None else self.length[index])

    def concat(self, other: Events) -> Events:
        """These, then the others; a length that is not known is nan."""
        lengths = [np.full(len(part), np.nan) if part.length is None else part.length for part in (self, other)]
        known = self.length is not None or other.length is not None
        return Events(np.concatenate([self.time, other.time]), np.concatenate(lengths) if known else None)

    def scale(self, by: float | np.ndarray) -> Events:
        """The same moments in units of another length."""
        return Events(self.time * by, None if self.length is None else self.length * by)

    def within(
        self, other: Events, group: np.ndarray, other_group: np.ndarray, buffer: float
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
