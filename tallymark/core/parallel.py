"""Threads for the same work on many things."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

from tallymark.core.console import progress

T = TypeVar("T")
Result = TypeVar("Result")


def in_threads(work: Callable[[T], Result], things: Sequence[T], title: str) -> list[Result]:
    """Apply `work` to all things on all cores; results in order, under a progress bar of that title.

    Threads are enough: decoders, OpenCV and NumPy release Python's lock.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(progress(pool.map(work, things), title, len(things)))


def prefetch(work: Callable[[T], Result], things: Iterable[T], threads: int, depth: int) -> Iterator[Result]:
    """Apply `work` to things in threads; results in order, up to `depth` of them computed before they are needed."""
    with ThreadPoolExecutor(threads) as pool:
        pending: deque[Future[Result]] = deque()
        try:
            for thing in things:
                pending.append(pool.submit(work, thing))
                if len(pending) > depth:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:  # the consumer may stop early
            for future in pending:
                future.cancel()


def in_background(things: Iterator[T], depth: int = 2) -> Iterator[T]:
    """The same things, up to `depth` of them produced by another thread before they are needed."""
    with ThreadPoolExecutor(1) as pool:
        pending = deque(pool.submit(next, things, None) for _ in range(depth))
        while (thing := pending.popleft().result()) is not None:
            pending.append(pool.submit(next, things, None))
            yield thing


def started(things: Iterator[T]) -> Iterator[T]:
    """The same things, of which the first is produced now."""
    return chain(list(islice(things, 1)), things)
