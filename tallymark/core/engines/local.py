"""The local engine: processes of this machine, one for each core.

Processes rather than threads: a decoder or a runtime that crashes on a file ends its worker, and not the run.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

from tallymark.core.engines.contract import Advance, Backlog, Done, Failed, Job, R, S
from tallymark.core.engines.job_server import Message
from tallymark.core.engines.pool import Pool, Worker

START_AFTER = 3.0
"""Seconds of work in this process before others are started: they take about a second of each core to begin."""
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")


class LocalEngine:
    """So many worker processes, with so many threads each; a single worker is this process itself.

    start_after: seconds of work in this process first; 0 starts workers at once, even a single one.
    """

    def __init__(self, workers: int, threads: int = 1, start_after: float = START_AFTER) -> None:
        self.workers = workers if os.name == "posix" else 1  # pipes are inherited by number
        self.threads = threads
        self.start_after = start_after
        self.shard_seconds = float("inf")

    def run(self, job: Job[S, R], shards: Iterator[S], advance: Advance) -> Iterator[Done[S, R] | Failed[S]]:
        """As `Engine.run`. Work that is done before others would have started is done in this process."""
        backlog = Backlog(shards)
        others = self.workers > 1 or (self.start_after == 0 and os.name == "posix")
        with self._alone(self.start_after if others else float("inf")) as seconds:
            started = time.monotonic()
            work = None
            while time.monotonic() - started < seconds:
                shard = backlog.take()
                if shard is None:
                    return
                work = work or job.open()
                yield Done(shard, work(shard, advance))
        yield from Pool[S, R](backlog, self.workers, lambda: _Process(job, self.threads), _wait, advance).run()

    @contextmanager
    def _alone(self, seconds: float) -> Iterator[float]:
        """Work in this process alone for so many seconds: shards need not be shared out, and end soon."""
        workers = self.workers
        self.workers, self.shard_seconds = 1, seconds
        try:
            yield seconds
        finally:
            self.workers, self.shard_seconds = workers, float("inf")


class _Process(Worker[S]):
    """A process with its end of the pipe."""

    def __init__(self, job: Job[S, Any], threads: int) -> None:
        super().__init__()
        self.connection: Connection[Any, Any]
        self.connection, inherited = Pipe()
        with inherited:
            descriptor = inherited.fileno()
            environment = {name: str(threads) for name in THREAD_VARIABLES}
            environment |= os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            command = [sys.executable, "-m", "tallymark.core.engines.worker", str(descriptor)]
            self.process = subprocess.Popen(command, env=environment, pass_fds=[descriptor], stdin=subprocess.DEVNULL)
        self._send(job)

    def send(self, shard: S) -> None:
        self._send(shard)

    def _send(self, value: object) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # it died, which the next look finds
            self.connection.send(value)

    def receive(self) -> Message | None:
        try:
            message: Message = self.connection.recv()
        except (EOFError, OSError):
            return None
        return message

    def close(self) -> str:
        self.connection.close()
        self.process.kill()
        code = self.process.wait()
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _wait(workers: Sequence[_Process[Any]]) -> list[_Process[Any]]:
    ready = set(wait([worker.connection for worker in workers]))
    return [worker for worker in workers if worker.connection in ready]
