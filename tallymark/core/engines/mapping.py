"""One function applied to many items, such as the files of an archive: in threads, then by an engine."""

from __future__ import annotations

import math
import os
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

from tallymark.core.console import counting
from tallymark.core.engines.choice import BY_DEFAULT, EngineChoice
from tallymark.core.engines.contract import Advance, Engine, Failed
from tallymark.core.engines.local import START_AFTER
from tallymark.core.engines.pace import Pace
from tallymark.core.outputs import memory_problem, system_problem
from tallymark.core.parallel import prefetch
from tallymark.core.problems import BadInput
from tallymark.core.resources import usable_cores

T = TypeVar("T")
Result = TypeVar("Result")

MANY = 2000
"""Items from which on workers are started at once: their start is nothing beside the work, and a crash costs one item.
"""
AHEAD = 16
"""Items that each thread may be ahead of the next result."""
SHARD_SECONDS = 2.0
"""Seconds that a shard should take: no more is done again when its worker dies."""
FIRST_SHARD = 4
"""Items of the first shards."""
LARGEST_SHARD = 1024
"""Items of a shard, at most: their results travel as one message."""


def map_items(
    work: Callable[[T], Result],
    items: Sequence[T],
    title: str,
    died: Callable[[T, str], Result],
    engine: EngineChoice = BY_DEFAULT,
) -> list[Result]:
    """Apply `work` to all items; results in order, under a progress bar of that title.

    By default the first seconds of it are done by threads of this process, and the rest by one process for each core. A
    function that cannot be carried to another process stays in this one.

    Parameters
    ----------
    work: a function that other processes can import, a `partial` of one, or an object that can be called and pickled.
    died: the result for an item over which worker processes died, given the item and the reason.
    """
    threads = engine.workers or usable_cores()
    with counting(title, len(items)) as advance:
        results = _in_threads(work, items, threads, _seconds_here(engine, len(items)), advance)
        rest = items[len(results) :]
        if rest and not _can_be_carried(work):
            return results + _in_threads(work, rest, threads, math.inf, advance)
        return results + _by_engine(work, rest, died, engine, advance) if rest else results


def _seconds_here(engine: EngineChoice, items: int) -> float:
    """Seconds of work in this process, before others are started."""
    if engine.name == "local" and ((engine.workers or usable_cores()) == 1 or os.name != "posix"):
        return math.inf
    at_once = engine.name != "local" or engine.workers is not None or items >= MANY
    return 0.0 if at_once else START_AFTER


def _in_threads(
    work: Callable[[T], Result], items: Sequence[T], threads: int, seconds: float, advance: Advance
) -> list[Result]:
    """The results of the items that are begun within so many seconds, or of all if the rest takes no longer.

    Seconds of CPU time of each thread: those that pass while other programs are busy say nothing about the work.
    """
    started = time.process_time()

    def begun() -> Iterator[T]:
        for number, item in enumerate(items):
            spent = (time.process_time() - started) / threads
            if spent >= seconds and spent * (len(items) - number) >= seconds * number:
                return
            yield item

    results = []
    for result in prefetch(work, begun(), threads, AHEAD * threads):
        results.append(result)
        advance()
    return results


def _by_engine(
    work: Callable[[T], Result],
    items: Sequence[T],
    died: Callable[[T, str], Result],
    choice: EngineChoice,
    advance: Advance,
) -> list[Result]:
    engine = choice.make(usable_cores(), at_once=True)
    pace = Pace(FIRST_SHARD, SHARD_SECONDS, LARGEST_SHARD)
    parts: dict[int, list[Result]] = {}
    for outcome in engine.run(_MapJob(work), _shards(items, pace, engine), advance):
        shard = outcome.shard
        pace.measure(len(shard))
        if isinstance(outcome, Failed):
            parts[shard.start] = [died(shard.items[0], outcome.reason)]
        else:
            parts[shard.start] = outcome.result
    return [result for start in sorted(parts) for result in parts[start]]


def _can_be_carried(work: object) -> bool:
    """Whether a function can be sent to another process; those in functions cannot."""
    try:
        pickle.dumps(work)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


@dataclass(frozen=True)
class _Shard(Generic[T]):
    """Consecutive items. start: the number of the first."""

    start: int
    items: Sequence[T]

    def __len__(self) -> int:
        return len(self.items)

    def split(self) -> tuple[Self, Self]:
        half = len(self) // 2
        return type(self)(self.start, self.items[:half]), type(self)(self.start + half, self.items[half:])


def _shards(items: Sequence[T], pace: Pace, engine: Engine) -> Iterator[_Shard[T]]:
    start = 0
    while start < len(items):
        size = pace.shard_size(len(items) - start, engine)
        yield _Shard(start, items[start : start + size])
        start += size


@dataclass(frozen=True)
class _MapJob(Generic[T, Result]):
    """Applies a function to the items of shards, one after the other."""

    work: Callable[[T], Result]

    def open(self) -> Callable[[_Shard[T], Advance], list[Result]]:
        return self._map

    def _map(self, shard: _Shard[T], advance: Advance) -> list[Result]:
        results = []
        for item in shard.items:
            try:
                results.append(self.work(item))
            except OSError as error:
                raise BadInput(system_problem(error)) from None
            except MemoryError:
                raise BadInput(memory_problem()) from None
            advance()
        return results
