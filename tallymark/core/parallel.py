"""The same work on many things at a time."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from tallymark.core.console import progress

A = TypeVar("A")
B = TypeVar("B")


def in_threads(work: Callable[[A], B], things: Sequence[A], what: str) -> list[B]:
    """The results of some work, in order, on all cores, with a bar that says `what` is done.

    Threads are enough: decoders, OpenCV and NumPy work outside Python's lock.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(progress(pool.map(work, things), what, len(things)))


def ahead(work: Callable[[A], B], things: Iterable[A], threads: int, depth: int) -> Iterator[B]:
    """The results of some work, in order, with up to `depth` of them made before they are asked for."""
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[B]] = deque()
        try:
            for thing in things:
                waiting.append(pool.submit(work, thing))
                if len(waiting) > depth:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # whoever asked has seen enough
            for job in waiting:
                job.cancel()


def in_background(things: Iterator[A], depth: int = 2) -> Iterator[A]:
    """The same things, with up to `depth` of them made before they are asked for."""
    with ThreadPoolExecutor(1) as pool:
        waiting = deque(pool.submit(next, things, None) for _ in range(depth))
        while (thing := waiting.popleft().result()) is not None:
            waiting.append(pool.submit(next, things, None))
            yield thing
