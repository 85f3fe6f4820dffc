"""Sizes of shards: small at first, then by the pace, and small at the end."""

from __future__ import annotations

import pytest

from tallymark.core.engines import pace
from tallymark.core.engines.local import LocalEngine
from tallymark.core.engines.pace import Pace


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(pace.time, "monotonic", lambda: now[0])
    return now


def test_shards_take_the_wanted_time(clock: list[float]) -> None:
    made = Pace(first=4, seconds=2.0, largest=1000)
    assert made.shard_size(10_000, LocalEngine(2)) == 4
    clock[0] = 0.1
    made.measure(8)
    assert made.shard_size(10_000, LocalEngine(2)) == 80  # 40 a second by each of two workers


def test_shards_are_not_too_large_and_are_shared_at_the_end(clock: list[float]) -> None:
    made = Pace(first=4, seconds=60.0, largest=1000)
    clock[0] = 1.0
    made.measure(100)
    assert made.shard_size(100_000, LocalEngine(2)) == 1000
    assert made.shard_size(100, LocalEngine(2)) == 25
    assert made.shard_size(100, LocalEngine(1)) == 100
    assert made.shard_size(1, LocalEngine(8)) == 1
    assert made.shard_size(30, LocalEngine(2)) == 12  # a quarter of a second: less is not worth a shard


def test_shards_end_when_the_engine_starts_workers(clock: list[float]) -> None:
    made = Pace(first=4, seconds=60.0, largest=1000)
    engine = LocalEngine(1)
    engine.shard_seconds = 3.0
    clock[0] = 1.0
    made.measure(100)
    assert made.shard_size(5000, engine) == 300
    assert made.shard_size(200, engine) == 200
