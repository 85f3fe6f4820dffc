"""Making many items: several at a time, each from a random stream of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from tallymark.terminal import progress

T = TypeVar("T")


def stream(seed: int, *path: int) -> np.random.Generator:
    """Random numbers that depend on the seed and on the place in the data set, and on nothing else."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=path))


def make_each(count: int, make: Callable[[int], T], what: str) -> list[T]:
    """`make(0)`, `make(1)`, … in order, on all cores: the work is in OpenCV and NumPy, which leave Python's lock.

    What `make` returns must depend on its number alone (see `stream`), never on which comes first.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(make, number) for number in range(count)]
        return [job.result() for job in progress(jobs, what)]


def test_share(items: int) -> int:
    """How many of the items are held back as a test set: one in five, if there are at least two."""
    return 0 if items < 2 else max(1, items // 5)
