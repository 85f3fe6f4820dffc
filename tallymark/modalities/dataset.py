"""Cached datasets: items are decoded once, kept while memory lasts, and skipped where they cannot be read."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np

from tallymark.core.problems import EVERY, BadInput, Problems
from tallymark.data.catalog import Catalog
from tallymark.io.media import RESUME_REMEDY, BadMedia
from tallymark.modalities.base import Detect
from tallymark.modalities.sample import Sample

CACHE_BYTES = 4 << 30
"""Memory limit of the decoded items."""

T = TypeVar("T")


class CachedDataset(ABC, Generic[T]):
    """Training samples of the labelled items of a catalog. T: an item as it is decoded. Safe to use from threads.

    problems: the items that could not be read.
    """

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog.with_truth()
        self.truth = self.catalog.truth
        self.problems = Problems(EVERY)
        self._cache: dict[int, T] = {}
        self._bytes = 0
        self._bad: set[int] = set()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.catalog)

    @abstractmethod
    def sample(self, rng: np.random.Generator, item: int, *, mix: bool) -> Sample:
        """A randomly augmented sample of an item; `mix`: with mosaic, mixup and pasting."""

    @abstractmethod
    def decode(self, item: int) -> T:
        """Read an item; a `BadMedia` if it cannot be read."""

    @abstractmethod
    def nbytes(self, decoded: T) -> int:
        """The memory that a decoded item takes."""

    def mine_hard_negatives(self, detect: Detect) -> None:
        """Nothing: all items are drawn alike."""

    @property
    def state(self) -> Any:
        """What `mine_hard_negatives` found, for a checkpoint."""
        return None

    @state.setter
    def state(self, state: Any) -> None:
        """Nothing to restore."""

    def load_readable(self, item: int) -> tuple[int, T]:
        """An item and its number; in place of one that cannot be read, the next that can."""
        for step in range(len(self.catalog)):
            number = (item + step) % len(self.catalog)
            decoded = self.load(number)
            if decoded is not None:
                return number, decoded
        raise BadInput(self.problems)

    def load(self, item: int) -> T | None:
        """An item, from the cache if it is there; None if it cannot be read.

        A `BadInput` if the disk or the share fails: a training can be resumed when they are back.
        """
        if item in self._bad:
            return None
        if item in self._cache:
            return self._cache[item]
        try:
            decoded = self.decode(item)
        except BadMedia as bad:
            if bad.transient:  # without it, this would be another training
                raise BadInput(replace(self.catalog.unread(item, bad), remedy=RESUME_REMEDY)) from None
            self.note(item, bad)
            with self._lock:
                self._bad.add(item)
            return None
        size = self.nbytes(decoded)
        with self._lock:
            if item not in self._cache and self._bytes + size <= CACHE_BYTES:
                self._cache[item] = decoded
                self._bytes += size
        return decoded

    def note(self, item: int, bad: BadMedia) -> None:
        """Report that an item cannot be read, or only in part; once for each item."""
        problem = self.catalog.unread(item, bad)
        with self._lock:
            if all(known.item != problem.item for known in self.problems):
                self.problems.add(problem)
