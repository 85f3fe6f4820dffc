"""The same work on many things at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tallymark.terminal import progress

A = TypeVar("A")
B = TypeVar("B")


def in_threads(work: Callable[[A], B], things: Sequence[A], what: str) -> list[B]:
    """The results of some work, in order, on all cores, with a bar that says `what` is done.

    Threads are enough: decoders, OpenCV and NumPy work outside Python's lock.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(progress(pool.map(work, things), what, len(things)))
