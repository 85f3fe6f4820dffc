"""The pace of work on shards, and how many items the next shard should have."""

from __future__ import annotations

import time


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

    def shard_size(self, left: int, workers: int) -> int:
        """Items of the next shard, where so many are left for so many workers."""
        if not self._done:
            return self.first
        seconds_per_item = workers * (time.monotonic() - self._started) / self._done
        wanted = round(self.seconds / max(seconds_per_item, 1e-6))
        fair = -(-left // (2 * workers)) if workers > 1 else left
        return max(1, min(wanted, fair, self.largest))
