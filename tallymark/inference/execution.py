"""How inference uses the machine: the one place that decides about processes, threads and what is done ahead."""

from __future__ import annotations

from dataclasses import dataclass, field

from tallymark.inference.time_limit import TimeLimit

MAX_READERS = 2
"""Threads that open items, at most."""
MAX_CONCURRENT = 8
"""Tiles inferred side by side, at most: more cannot be read in the same time, and each takes memory."""


@dataclass(frozen=True)
class Execution:
    """tile_threads: threads that a session gives to one tile. concurrent_tiles: tiles inferred side by side.

    readers: threads that open items. prefetch: items opened ahead of inference. limit: of the time for all of it.
    """

    tile_threads: int
    concurrent_tiles: int
    readers: int = 2
    prefetch: int = 4
    limit: TimeLimit = field(default_factory=TimeLimit, compare=False)


def plan_execution(cores: int) -> Execution:
    """The plan of a process on so many cores.

    Several tiles are inferred side by side, with a thread each: threads that share a tile wait for each other, and
    outputs would depend on their number. Tiles are not batched: on CPUs a batch takes as long as its tiles one by one.
    One reader is enough for two of them: with more threads than there is work, they wait for each other.
    """
    concurrent = min(cores, MAX_CONCURRENT)
    readers = min(-(-cores // 2), MAX_READERS)
    return Execution(tile_threads=1, concurrent_tiles=concurrent, readers=readers, prefetch=2 + concurrent)
