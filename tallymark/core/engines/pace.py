"""The pace of work on shards, and how many items the next shard should have."""

from __future__ import annotations

import time

from tallymark.core.engines.contract import Engine

LEAST_SECONDS = 0.25
"""Seconds that a shard should take, at least: less is not gained by sharing it, and each shard has an overhead."""


class Pace:
    """Sizes of shards that take so many seconds each; the last ones are small again, so that all workers end together.

    first: items of the first shards, whose pace is not known. largest: items of a shard, at most.
    """

    def __init__(self, first: int, seconds: float, largest: int) -> None:
        self.first = first
        self.seconds = seconds
        self.largest = largest
        self._started = time.monotonic()
        self._done = 0

    def measure(self, items: int) -> None:
        """Note that so many items are done."""
        self._done += items

    def shard_size(self, left: int, engine: Engine) -> int:
        """Items of the next shard, where so many are left for an engine."""
        if not self._done:
            return self.first
        workers = engine.workers
        seconds_per_item = max(workers * (time.monotonic() - self._started) / self._done, 1e-6)
        wanted = round(min(self.seconds, engine.shard_seconds) / seconds_per_item)
        fair = max(-(-left // (2 * workers)), round(LEAST_SECONDS / seconds_per_item)) if workers > 1 else left
        return max(1, min(wanted, fair, left, self.largest))
