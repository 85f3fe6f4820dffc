"""Events in a recording, in seconds from its start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tallymark.geometry.clusters import Clusters
from tallymark.geometry.coincidence import COINCIDENT_SECONDS, Coincidences, numbers_in
from tallymark.geometry.pairs import Pairs, ragged


@dataclass(frozen=True, eq=False)
class Events:
    """Columns of n events: `time` of the centre and, where known, `length`, both in seconds.

    weak: it is only known that the event is somewhere in its recording; the time is a guess.
    """

    noun: ClassVar[tuple[str, str]] = ("event", "events")
    localized: ClassVar[bool] = True
    overlaps: ClassVar[bool] = False

    time: np.ndarray
    length: np.ndarray | None = None
    weak: bool = False

    @classmethod
    def somewhere(cls, count: int) -> Events:
        """So many events that are somewhere in their recordings."""
        return cls(np.zeros(count), weak=True)

    def __len__(self) -> int:
        return len(self.time)

    def take(self, index: np.ndarray) -> Events:
        return Events(self.time[index], None if self.length is None else self.length[index], self.weak)

    def concat(self, other: Events) -> Events:
        """These events followed by the others; an unknown length is nan."""
        lengths = [np.full(len(one), np.nan) if one.length is None else one.length for one in (self, other)]
        known = self.length is not None or other.length is not None
        return Events(np.concatenate([self.time, other.time]), np.concatenate(lengths) if known else None, self.weak)

    def as_json(self) -> list[list[float]]:
        """The time of each."""
        return [[float(time)] for time in self.time]

    def scale(self, by: float | np.ndarray) -> Events:
        """The events in another unit of time."""
        return Events(self.time * by, None if self.length is None else self.length * by, self.weak)

    def clip(self, size: np.ndarray) -> tuple[Events, np.ndarray]:
        """Times clipped to recordings of `size[:, 0]` seconds; no event is dropped."""
        return replace(self, time=np.clip(self.time, 0, size[:, 0])), np.arange(len(self))

    def fuse(self, clusters: Clusters) -> Events:
        """The mean time and length of each cluster."""
        length = None if self.length is None else clusters.mean(self.length)
        return Events(clusters.mean(self.time), length, self.weak)

    def close(self, group: np.ndarray, seconds: float) -> Pairs:
        """Pairs of the same group that are at most so many seconds apart, in both orders.

        In place of an IoU, they have how close they are: 1 at the same time, above 0 at the largest distance.
        """
        order, first, last = self.windows(self, group, group, seconds)
        chunks = [(row, order[index]) for row, index in ragged(first, last)]
        one, other = (np.concatenate([chunk[side] for chunk in chunks] or [np.empty(0, np.int64)]) for side in (0, 1))
        reach = np.full(len(one), seconds * (1 + 1e-9) + 1e-9)
        return Pairs(one, other, reach - np.abs(self.time[one] - self.time[other]), reach)

    def disjoint(self, group: np.ndarray, score: np.ndarray) -> tuple[Events, np.ndarray]:
        """All events, unchanged: they may be at the same time."""
        return self, np.arange(len(self))

    def windows(
        self, other: Events, group: np.ndarray, other_group: np.ndarray, buffer: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Others of the same group with self[i] - buffer <= other <= self[i] + buffer: order[first[i]:last[i]].

        Ranges, since pairs would be too many where many events are at the same time. The comparison is computed
        exactly as written, because rounding decides about times at the edge.

        Returns
        -------
        order: the others by group and time. first, last: a range of them for each event.
        """
        key = _in_group(other_group, other.time)
        order = np.arange(len(key)) if (key[1:] >= key[:-1]).all() else np.lexsort((other.time, other_group))
        key = key[order]
        first = np.searchsorted(key, _in_group(group, self.time - buffer), "left")
        last = np.searchsorted(key, _in_group(group, self.time + buffer), "right")
        return order, first, last

    def nearest(self, other: Events, group: np.ndarray, other_group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest other event of the same group, the earlier of two, and how many seconds it is away.

        -1 and infinitely many, where a group has none.
        """
        order = np.lexsort((other.time, other_group))
        after = np.searchsorted(_in_group(other_group, other.time)[order], _in_group(group, self.time))
        index = np.full(len(self), -1)
        seconds = np.full(len(self), np.inf)
        for place in (after - 1, after):
            inside = np.flatnonzero((place >= 0) & (place < len(order)))
            one = order[place[inside]]
            apart = np.where(other_group[one] == group[inside], np.abs(other.time[one] - self.time[inside]), np.inf)
            nearer = apart < seconds[inside]
            index[inside[nearer]], seconds[inside[nearer]] = one[nearer], apart[nearer]
        return index, seconds

    def from_json(self, value: object) -> Events:
        """An event of its time in seconds, alone or in a list."""
        [time] = numbers_in(value if isinstance(value, list) else [value], "time")
        if time < 0:
            raise ValueError("a time of 0 s or more")
        return Events(np.array([time]))

    def coincide(self, other: Events, group: np.ndarray, other_group: np.ndarray) -> Coincidences:
        """Pairs of the same group that are at most 1.5 s apart."""
        order, first, last = self.windows(other, group, other_group, COINCIDENT_SECONDS)
        chunks = [(np.empty(0, np.int64), np.empty(0, np.int64)), *ragged(first, last)]
        own, position = (np.concatenate(column) for column in zip(*chunks, strict=True))
        others = order[position]
        return Coincidences(own, others, -np.abs(self.time[own] - other.time[others]))

    def beside(self, added: Events, group: np.ndarray, added_group: np.ndarray) -> tuple[Events, np.ndarray]:
        """The added events as they are: events have no extent."""
        return added, np.arange(len(added))


def _in_group(group: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Numbers in the order of group and time, without rounding: complex ones, which sort by their real part first."""
    key = np.empty(len(group), np.complex128)
    key.real, key.imag = group, time
    return key
