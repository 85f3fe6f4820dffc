"""Random streams: each synthetic item has its own, so that items can be generated in parallel and in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

import numpy as np

from tallymark.core.engines.choice import BY_DEFAULT, EngineChoice
from tallymark.core.engines.mapping import map_items
from tallymark.core.problems import BadInput, Problem

T = TypeVar("T")

_engine: ContextVar[EngineChoice] = ContextVar("engine", default=BY_DEFAULT)


@contextmanager
def made_by(engine: EngineChoice) -> Iterator[None]:
    """In this block, `make_each` uses this engine: those that call it write scenes, and need not know of engines."""
    before = _engine.set(engine)
    try:
        yield
    finally:
        _engine.reset(before)


def stream(seed: int, *path: int) -> np.random.Generator:
    """The random generator of one item: it depends on the seed and the item's path in the data set only."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=path))


def make_each(count: int, make: Callable[[int], T], what: str) -> list[T]:
    """The results of `make(0)`, `make(1)`, … in order, computed in parallel.

    The result of `make` must depend on its argument only (see `stream`). what: title of the progress bar. A function at
    the top of a module, or a `partial` of one, can be carried to other processes; one in a function stays in this.
    """

    def died(number: int, reason: str) -> T:
        expected, remedy = "enough memory", "free some memory, use fewer workers, or make smaller items"
        raise BadInput(Problem("worker_died", f"number {number} of {what}", reason, expected, remedy))

    return map_items(make, range(count), what, died, _engine.get())


def test_share(items: int) -> int:
    """The number of items in the test set: one in five, and at least one of two or more."""
    return 0 if items < 2 else max(1, items // 5)
