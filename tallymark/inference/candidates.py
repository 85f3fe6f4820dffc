"""Candidates: everything that models consider possible in a set of items, before any threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np

from tallymark.data.annotations import Annotations, concat_items
from tallymark.data.items import Items


class CandidateSource(Protocol):
    """Candidates in memory or on disk; size and presence are always at hand."""

    @property
    def items(self) -> Items: ...
    @property
    def size(self) -> np.ndarray: ...
    @property
    def presence(self) -> np.ndarray: ...
    @property
    def readable(self) -> np.ndarray: ...

    def select(self, index: np.ndarray) -> Self:
        """Those of the items with these numbers, in this order."""

    def parts(self) -> Iterator[Candidates]:
        """The candidates of some items at a time, in order."""

    def load(self) -> Candidates:
        """All of them, in memory."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """The one type that fusion, thresholds, tuning and the journal work on, for every task.

    objects: candidates with their scores, in the geometry of the task's coder; of whole images, a row for each class.
    size: (n, 2) width and height of each item in its own units, nan where it could not be read; of a recording, the
        seconds that could be read.
    presence: (n,) the probability that an item has any object at all.
    """

    objects: Annotations[Any]
    size: np.ndarray
    presence: np.ndarray

    @property
    def items(self) -> Items:
        return self.objects.items

    @property
    def readable(self) -> np.ndarray:
        """Which items could be read."""
        return np.isfinite(self.size[:, 0])

    @property
    def probabilities(self) -> np.ndarray:
        """(n, classes), where every class is a candidate of every item."""
        return self.objects.scores.reshape(len(self.items), -1)

    def parts(self) -> Iterator[Candidates]:
        """As `CandidateSource.parts`: all of them as one."""
        yield self

    def load(self) -> Candidates:
        return self

    def select(self, index: np.ndarray) -> Candidates:
        """Those of the items with these numbers, in this order."""
        group = self.items.group
        items = Items(self.items.ids[index], None if group is None else group[index])
        return Candidates(self.objects.reindex(items), self.size[index], self.presence[index])

    def replace_items(self, others: Candidates) -> Candidates:
        """With those of some of the items in place of their own."""
        kept = np.flatnonzero(others.items.find(self.items.ids) < 0)
        everything = concat_candidates([self.select(kept), others])
        return everything.select(everything.items.find(self.items.ids)).rename(self.items)

    def rename(self, items: Items) -> Candidates:
        """The same under other ids."""
        return replace(self, objects=replace(self.objects, items=items))


def concat_candidates(parts: Sequence[Candidates]) -> Candidates:
    """The candidates of different items as one."""
    if len(parts) == 1:
        return parts[0]
    return Candidates(
        concat_items([part.objects for part in parts]),
        np.concatenate([part.size for part in parts]),
        np.concatenate([part.presence for part in parts]),
    )
