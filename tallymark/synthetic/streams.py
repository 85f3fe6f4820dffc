"""Making many items: several at a time, each from a random stream of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from tallymark.core.parallel import in_threads

T = TypeVar("T")


def stream(seed: int, *path: int) -> np.random.Generator:
    """Random numbers that depend on the seed and on the place in the data set, and on nothing else."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=path))


def make_each(count: int, make: Callable[[int], T], what: str) -> list[T]:
    """`make(0)`, `make(1)`, … in order, several at a time.

    What `make` returns must depend on its number alone (see `stream`), never on which comes first.
    """
    return in_threads(make, range(count), what)


def test_share(items: int) -> int:
    """How many of the items are held back as a test set: one in five, if there are at least two."""
    return 0 if items < 2 else max(1, items // 5)
