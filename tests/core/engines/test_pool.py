"""The pool that gives out shards, with workers that the test itself plays."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import pytest

from tallymark.core.engines.contract import Backlog, Done, Failed
from tallymark.core.engines.job_server import Kind, Message
from tallymark.core.engines.pool import Pool, Worker
from tests.core.engines.jobs import Numbers

READY = Message(Kind.READY)


class Played(Worker[Numbers]):
    """A worker that says what is written down for it; nothing more means that it never answers, None that it dies."""

    def __init__(self, script: Sequence[Message | None]) -> None:
        super().__init__()
        self.script = deque(script)
        self.closed = False

    def send(self, shard: Numbers) -> None:
        pass

    def receive(self) -> Message | None:
        return self.script.popleft()

    def close(self) -> str:
        self.closed = True
        return "as written"


class Play:
    """A run of played workers on shards, each started when the pool asks for one."""

    def __init__(self, shards: Sequence[Numbers], *scripts: Sequence[Message | None]) -> None:
        self.waiting = deque(scripts)
        self.workers: list[Played] = []
        self.steps = 0
        pool: Pool[Numbers, str] = Pool(Backlog(iter(shards)), 2, self._start, self._wait, self._advance)
        self.outcomes = list(pool.run())

    def _start(self) -> Played:
        self.workers.append(Played(self.waiting.popleft()))
        return self.workers[-1]

    def _wait(self, workers: Sequence[Played]) -> list[Played]:
        heard = [worker for worker in workers if worker.script]
        assert heard, "the pool waits for workers that never answer"
        return heard[:1]

    def _advance(self) -> None:
        self.steps += 1


def done(result: str) -> Message:
    return Message(Kind.DONE, result)


def test_a_worker_that_never_becomes_ready_holds_no_shard() -> None:
    """As on a cluster that has no room for it: the shard goes to one that is free."""
    shards = [Numbers([1]), Numbers([2])]
    play = Play(shards, [READY, done("a"), done("b")], [])
    assert play.outcomes == [Done(shards[0], "a"), Done(shards[1], "b")]
    assert all(worker.closed for worker in play.workers)


def test_a_shard_outlives_workers_that_die_at_their_start() -> None:
    """Their deaths are not blamed on it, even if it is a single item."""
    shard = Numbers([1])
    play = Play([shard], [None], [None], [READY, done("a")])
    assert play.outcomes == [Done(shard, "a")]


def test_items_are_counted_once_though_they_are_done_twice() -> None:
    advance = Message(Kind.ADVANCE)
    play = Play([Numbers([1, 2, 3])], [READY, advance, advance, None], [READY, advance, advance, advance, done("a")])
    assert play.steps == 3


def test_items_that_no_message_came_for_count_when_their_shard_is_done() -> None:
    assert Play([Numbers([1, 2, 3])], [READY, done("a")]).steps == 3


@pytest.mark.parametrize("deaths", [1, 2])
def test_a_single_item_is_given_up_after_two_deaths(deaths: int) -> None:
    shard = Numbers([1])
    scripts = [[READY, None] for _ in range(deaths)]
    play = Play([shard], *scripts, [READY, done("a")])
    expected = Done(shard, "a") if deaths == 1 else Failed(shard, "its worker died (as written)")
    assert play.outcomes == [expected]
    assert play.steps == 1
