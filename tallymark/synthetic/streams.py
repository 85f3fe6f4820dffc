"""Random streams: each synthetic item has its own, so that items can be generated in parallel and in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from tallymark.core.parallel import in_threads

T = TypeVar("T")


def stream(seed: int, *path: int) -> np.random.Generator:
    """The random generator of one item: it depends on the seed and the item's path in the data set only."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=path))


def make_each(count: int, make: Callable[[int], T], what: str) -> list[T]:
    """The results of `make(0)`, `make(1)`, … in order, computed in parallel.

    The result of `make` must depend on its argument only (see `stream`). what: title of the progress bar.
    """
    return in_threads(make, range(count), what)


def test_share(items: int) -> int:
    """The number of items in the test set: one in five, and at least one of two or more."""
    return 0 if items < 2 else max(1, items // 5)
