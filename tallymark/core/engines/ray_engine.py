"""The Ray engine: workers on a Ray cluster, or on one that is started on this machine (extra `ray`).

Shards and reports are small; media, models and pages are files that all machines of the cluster see under one path.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tallymark.core.engines.contract import Advance, Backlog, Done, Failed, Job, R, S
from tallymark.core.engines.job_server import JobServer, Kind, Message
from tallymark.core.engines.pool import Pool, Worker
from tallymark.core.problems import BadInput, Problem
from tallymark.core.resources import usable_cores

CPUS = 0.9
"""Cores that a worker asks for: less than one, so that Ray's own processes find room on a small machine."""


CONNECT_SECONDS = 10


class RayEngine:
    """So many workers, by default one for each core of the cluster. address: of the cluster; None starts one."""

    shard_seconds = float("inf")

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        self.address = address
        self._workers = workers
        self.workers = workers or usable_cores()

    def run(self, job: Job[S, R], shards: Iterator[S], advance: Advance) -> Iterator[Done[S, R] | Failed[S]]:
        """As `Engine.run`; progress is known when a shard is done."""
        ray = _import_ray()
        with _connected(ray, self.address, self._workers):
            self.workers = self._workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
            make_actor = ray.remote(num_cpus=CPUS, max_restarts=0)(_Server).remote
            stored = ray.put(job)

            def wait(workers: Sequence[_Actor[S]]) -> list[_Actor[S]]:
                ready, _ = ray.wait([worker.pending for worker in workers])
                return [worker for worker in workers if worker.pending in ready]

            yield from Pool[S, R](
                Backlog(shards), self.workers, lambda: _Actor(ray, make_actor(), stored), wait, advance
            ).run()


class _Server:
    """A job in a process of the cluster."""

    def __init__(self) -> None:
        self._server = JobServer()

    def open(self, job: Job[Any, Any], folder: Path) -> Message:
        """Open the job in the folder of its engine, so that relative paths are the same."""

        def receive() -> Job[Any, Any]:
            _enter(folder)
            return job

        return self._server.open(receive)

    def work(self, shard: Any) -> Message:
        return self._server.work(shard, lambda: None)


class _Actor(Worker[S]):
    """An actor of the cluster. pending: the answer that it is going to give."""

    def __init__(self, ray: Any, actor: Any, job: Any) -> None:
        super().__init__()
        self._ray = ray
        self._actor = actor
        self._end = ""
        self.pending = actor.open.remote(job, Path.cwd())

    def send(self, shard: S) -> None:
        self.pending = self._actor.work.remote(shard)

    def receive(self) -> Message | None:
        exceptions = self._ray.exceptions
        try:
            message: Message = self._ray.get(self.pending)
        except exceptions.RayTaskError as error:  # outside the job: it could not be carried there
            return Message(Kind.ERROR, str(error))
        except exceptions.RayError as error:
            self._end = _first_line(error)
            return None
        return message

    def close(self) -> str:
        self._ray.kill(self._actor)
        return self._end


def _enter(folder: Path) -> None:
    try:
        os.chdir(folder)
    except OSError as error:
        found, expected = f"{_first_line(error)} on {socket.gethostname()}", "a folder that all machines see"
        raise BadInput(
            Problem("not_shared", str(folder), found, expected, "run the command in a shared folder")
        ) from None


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would tell its makers that it is used
    try:
        import ray
    except ImportError:
        found, remedy = "the package ray is not installed", "pip install 'tallymark[ray]', or use --engine local"
        raise BadInput(Problem("not_installed", "engine=ray", found, "ray", remedy)) from None
    return ray


@contextmanager
def _connected(ray: Any, address: str | None, workers: int | None) -> Iterator[None]:
    """A connection to a cluster, kept if the caller had one; without an address, a cluster of this machine."""
    if ray.is_initialized():
        yield
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        options |= {"num_cpus": workers or usable_cores(), "include_dashboard": False}
    try:
        _reach(address)
        ray.init(address or "local", **options)
    except Exception as error:  # whatever keeps it from starting: Ray raises some without a class of their own
        place, remedy = f"engine=ray address={address or 'local'}", "start it: `ray start --head`, or check the address"
        raise BadInput(Problem("no_cluster", place, _first_line(error), "a Ray cluster", remedy)) from None
    try:
        yield
    finally:
        ray.shutdown()


def _reach(address: str | None) -> None:
    """An `OSError` if nobody listens at an address; Ray itself tries for minutes."""
    host, _, port = (address or "").rpartition(":")
    if port.isdecimal():
        socket.create_connection((host.rpartition("/")[2], int(port)), timeout=CONNECT_SECONDS).close()


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
