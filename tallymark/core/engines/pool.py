"""A pool of workers: gives out shards, hears what became of them, and replaces workers that die."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic

from tallymark.core.engines.contract import Advance, Backlog, Done, Failed, R, S, WorkerError
from tallymark.core.engines.job_server import Kind, Message
from tallymark.core.problems import BadInput, Problem

MAX_START_FAILURES = 3
"""Workers in a row that may die before their job is open."""


class Worker(ABC, Generic[S]):
    """A worker as its engine sees it: it opens the job at once, and then takes one shard after the other.

    ready: whether the job is open. shard: what it works on, and advanced: how many items of it are done.
    """

    def __init__(self) -> None:
        self.ready = False
        self.shard: S | None = None
        self.advanced = 0

    @abstractmethod
    def send(self, shard: S) -> None:
        """Send it a shard to work on."""

    @abstractmethod
    def receive(self) -> Message | None:
        """Its next message; None if it has died."""

    @abstractmethod
    def close(self) -> str:
        """End it if it has not died, and say how it ended."""

    def begin(self, shard: S) -> None:
        self.shard = shard
        self.advanced = 0
        self.send(shard)


class Pool(Generic[S, R]):
    """So many workers, at most, for one backlog of shards.

    start: a new worker. wait: for a message or the death of some of these workers: those that it comes from.
    """

    def __init__(
        self,
        backlog: Backlog[S],
        count: int,
        start: Callable[[], Any],
        wait: Callable[[Sequence[Any]], Sequence[Any]],
        advance: Advance,
    ) -> None:
        self._backlog = backlog
        self._count = count
        self._start = start
        self._wait = wait
        self._advance = advance
        self._workers: list[Worker[S]] = []
        self._reserved: deque[S] = deque()  # for workers that are starting
        self._start_failures = 0
        self._repeated = 0  # items that were done by workers that died, and are done again

    def run(self) -> Iterator[Done[S, R] | Failed[S]]:
        """The outcomes of all shards, as they come."""
        try:
            while True:
                self._give_out()
                busy = [worker for worker in self._workers if worker.shard is not None or not worker.ready]
                if not self._reserved and all(worker.shard is None for worker in busy):
                    return
                for worker in self._wait(busy):
                    outcome = self._hear(worker)
                    if outcome is not None:
                        yield outcome
        finally:
            for worker in self._workers:
                worker.close()

    def _give_out(self) -> None:
        """Give a shard to each worker that has none, and start workers while there are fewer than there may be."""
        for worker in self._workers:
            if worker.ready and worker.shard is None:
                shard = self._reserved.popleft() if self._reserved else self._backlog.take()
                if shard is not None:
                    worker.begin(shard)
        while len(self._workers) < self._count and self._needs_worker():
            self._workers.append(self._start())

    def _needs_worker(self) -> bool:
        """Whether there is a shard for one worker more. It is reserved, and goes to the first worker that is free."""
        starting = sum(not worker.ready for worker in self._workers)
        if len(self._reserved) <= starting:
            shard = self._backlog.take()
            self._reserved += [] if shard is None else [shard]
        return len(self._reserved) > starting

    def _hear(self, worker: Worker[S]) -> Done[S, R] | Failed[S] | None:
        """Take the next message of a worker, or its death."""
        message = worker.receive()
        if message is None:
            return self._bury(worker)
        kind, value = message
        if kind is Kind.BAD_INPUT:
            raise BadInput(value)
        if kind is Kind.ERROR:
            raise WorkerError(value)
        if kind is Kind.READY:
            worker.ready = True
            self._start_failures = 0
        elif kind is Kind.ADVANCE:
            worker.advanced += 1
            self._step()
        elif worker.shard is not None:  # it is done
            return self._finish(worker, worker.shard, value)
        return None

    def _finish(self, worker: Worker[S], shard: S, result: Any) -> Done[S, R]:
        for _ in range(len(shard) - worker.advanced):  # some engines hear of a shard's items at its end only
            self._step()
        worker.shard = None
        self._backlog.done(shard)
        return Done(shard, result)

    def _bury(self, worker: Worker[S]) -> Failed[S] | None:
        """Take back the shard of a worker that died; one that died before it had any is not to blame on a shard."""
        self._workers.remove(worker)
        reason = f"its worker died ({worker.close()})"
        if worker.shard is None:
            self._count_start_failure(reason)
            return None
        self._repeated += worker.advanced
        failed = self._backlog.died(worker.shard, reason)
        if failed is not None:
            self._step()
        return failed

    def _step(self) -> None:
        if self._repeated:
            self._repeated -= 1
        else:
            self._advance()

    def _count_start_failure(self, reason: str) -> None:
        self._start_failures += 1
        if self._start_failures == MAX_START_FAILURES:
            found = f"{MAX_START_FAILURES} in a row ended at their start: {reason}"
            remedy = "free some memory, or use fewer workers"
            raise BadInput(Problem("no_worker", "workers", found, "workers that start", remedy))
