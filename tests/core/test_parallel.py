"""Threads: results in order, and no more work done ahead than asked for."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from tallymark.core.parallel import in_background, in_threads, prefetch, started


def slow_square(number: int) -> int:
    time.sleep(0.002 * (5 - number % 5))
    return number**2


def test_results_are_in_order() -> None:
    squares = [number**2 for number in range(20)]
    assert in_threads(slow_square, range(20), "squaring") == squares
    assert list(prefetch(slow_square, range(20), 4, 8)) == squares
    assert list(in_background(iter(squares))) == squares


def test_prefetch_works_at_most_so_far_ahead() -> None:
    started: list[int] = []
    results = prefetch(lambda number: started.append(number) or number, iter(range(100)), 2, 3)
    assert next(results) == 0
    time.sleep(0.05)
    assert len(started) <= 4
    results.close()


def test_an_early_stop_ends_the_threads() -> None:
    before = threading.active_count()
    results = prefetch(slow_square, iter(range(100)), 2, 4)
    next(results)
    results.close()
    assert threading.active_count() == before


def test_exceptions_reach_the_consumer() -> None:
    def fail(number: int) -> int:
        raise ValueError(number)

    with pytest.raises(ValueError, match="0"):
        list(prefetch(fail, range(3), 2, 2))
    with pytest.raises(ValueError, match="0"):
        in_threads(fail, [0], "failing")


def test_the_first_thing_is_produced_at_once() -> None:
    produced: list[int] = []

    def count() -> Iterator[int]:
        for number in range(3):
            produced.append(number)
            yield number

    things = started(count())
    assert produced == [0]
    assert list(things) == [0, 1, 2]
    assert list(started(iter(()))) == []
