"""The contract of engines: shards in, results out, in any order; a dead worker costs its shard at most.

A job is carried to each worker once and opened there. Shards are small descriptions of work, and results small reports
on it: what is large, such as media and candidates, is read and written by the workers themselves as files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

ATTEMPTS = 2
"""Workers that may die over one shard before it is split, and over one item before it is given up."""

Advance = Callable[[], None]
"""Called after each item of a shard."""


class Shard(Protocol):
    """A part of the work: some items, in their order."""

    def __len__(self) -> int: ...

    def split(self) -> tuple[Self, Self]:
        """Two halves of it, to find the item that ends its workers."""


S = TypeVar("S", bound=Shard)
R = TypeVar("R", covariant=True)
S_contra = TypeVar("S_contra", bound=Shard, contravariant=True)


class Job(Protocol[S_contra, R]):
    """Work that can be carried to another process: it is pickled, so that it holds paths and settings only."""

    def open(self) -> Callable[[S_contra, Advance], R]:
        """Load what all shards need, such as a model; called once by each worker."""


class Done(NamedTuple, Generic[S, R]):
    """A shard and the result of its work."""

    shard: S
    result: R


class Failed(NamedTuple, Generic[S]):
    """A shard, of one item, over which workers died."""

    shard: S
    reason: str


class Engine(Protocol):
    """Where shards are worked on."""

    @property
    def workers(self) -> int:
        """Shards that are worked on at the same time, at most; 1 as long as this process works alone."""

    @property
    def shard_seconds(self) -> float:
        """Seconds that the next shard may take, at most: the engine waits for its end before it starts workers."""

    def run(self, job: Job[S, R], shards: Iterator[S], advance: Advance) -> Iterator[Done[S, R] | Failed[S]]:
        """Work on shards, which are taken from the iterator when a worker is free; outcomes as they come.

        An exception of the job ends the run: it is raised here, a `BadInput` as it is.
        """


class WorkerError(RuntimeError):
    """An exception in a worker that the job did not expect, with its traceback as the text."""


class Backlog(Generic[S]):
    """The shards that are left: new ones, and before them those whose worker died."""

    def __init__(self, shards: Iterator[S]) -> None:
        self._new = shards
        self._again: deque[tuple[S, int]] = deque()
        self._deaths: dict[int, int] = {}

    def take(self) -> S | None:
        """The next shard; None if there is none now, though one may come back."""
        if not self._again:
            return next(self._new, None)
        shard, deaths = self._again.popleft()
        self._deaths[id(shard)] = deaths
        return shard

    def done(self, shard: S) -> None:
        """Note that a shard is finished."""
        self._deaths.pop(id(shard), None)

    def died(self, shard: S, reason: str) -> Failed[S] | None:
        """Take back the shard of a dead worker: to try it again, then in halves; the end of it if it is one item."""
        deaths = self._deaths.pop(id(shard), 0) + 1
        if deaths < ATTEMPTS:
            self._again.append((shard, deaths))
        elif len(shard) > 1:
            self._again += [(half, ATTEMPTS - 1 if len(half) > 1 else 0) for half in shard.split()]
        else:
            return Failed(shard, reason)
        return None
