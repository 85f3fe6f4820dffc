"""The local engine: when it starts processes, how they end, and what a killed engine leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tallymark.core.engines.contract import Failed
from tallymark.core.engines.local import LocalEngine
from tests.core.engines.jobs import Death, Environment, Numbers, Square
from tests.core.engines.processes import alive, wait_until

ROOT = Path(__file__).parents[3]


def test_small_work_starts_no_process(tmp_path: Path) -> None:
    job = Square(tmp_path)
    outcomes = list(LocalEngine(4).run(job, iter([Numbers([1, 2]), Numbers([3])]), lambda: None))
    assert len(outcomes) == 2
    assert job.noted("opened") == [os.getpid()]


def test_work_that_lasts_is_shared(tmp_path: Path) -> None:
    """This process begins, and hands over after the shard during which the time is up."""
    job = Square(tmp_path, seconds=0.05)
    shards = [Numbers([value]) for value in range(6)]
    outcomes = list(LocalEngine(2, start_after=0.08).run(job, iter(shards), lambda: None))
    assert len(outcomes) == 6
    assert job.noted("opened")[0] == os.getpid()
    assert 1 <= len(set(job.noted("opened")) - {os.getpid()}) <= 2


def test_shards_are_not_shared_out_while_this_process_works_alone(tmp_path: Path) -> None:
    engine = LocalEngine(2, start_after=0.08)
    seen = []

    def shards() -> Iterator[Numbers]:
        for value in range(6):
            seen.append((engine.workers, engine.shard_seconds))
            yield Numbers([value])

    assert len(list(engine.run(Square(tmp_path, seconds=0.05), shards(), lambda: None))) == 6
    assert seen[0] == (1, 0.08)
    assert seen[-1] == (engine.workers, engine.shard_seconds) == (2, float("inf"))


def test_one_worker_stays_in_this_process_however_long_it_takes(tmp_path: Path) -> None:
    job = Square(tmp_path, seconds=0.01)
    list(LocalEngine(1, start_after=0.001).run(job, iter([Numbers([value]) for value in range(4)]), lambda: None))
    assert job.noted("opened") == [os.getpid()]


@pytest.mark.parametrize(("death", "said"), [("kill", "SIGKILL"), ("exit", "exit code 3"), ("segfault", "SIGSEGV")])
def test_how_a_worker_died_is_said(tmp_path: Path, death: Death, said: str) -> None:
    job = Square(tmp_path, fatal=(1,), death=death)
    (outcome,) = LocalEngine(1, start_after=0).run(job, iter([Numbers([1])]), lambda: None)
    assert isinstance(outcome, Failed)
    assert outcome.reason == f"its worker died ({said})"


def test_workers_have_the_threads_that_they_are_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS")
    engine = LocalEngine(1, threads=3, start_after=0)
    (outcome,) = engine.run(Environment("OMP_NUM_THREADS"), iter([Numbers([1])]), lambda: None)
    assert not isinstance(outcome, Failed)
    assert outcome.result == "3"


DRIVER = """
import sys
from pathlib import Path
from tallymark.core.engines.local import LocalEngine
from tests.core.engines.jobs import Numbers, Square

job = Square(Path(sys.argv[1]), seconds=0.2)
for _ in LocalEngine(2, start_after=0).run(job, iter([Numbers(range(300)), Numbers(range(300))]), lambda: None):
    pass
"""


def test_a_killed_engine_leaves_no_worker_behind(tmp_path: Path) -> None:
    """Workers notice after the item that they are working on."""
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, tmp_path], cwd=ROOT)
    job = Square(tmp_path)
    try:
        assert wait_until(lambda: len(job.noted("begun")) > 4)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    assert len(job.noted("opened")) == 2
    assert wait_until(lambda: not any(alive(process) for process in job.noted("opened")))
    assert len(job.noted("begun")) < 100
