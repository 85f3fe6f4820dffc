"""The contract of engines, the same for all of them: a dead worker costs its shard at most, and no item is lost."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import pytest

from tallymark.core.engines import pool
from tallymark.core.engines.contract import Done, Engine, Failed, WorkerError
from tallymark.core.engines.local import LocalEngine
from tallymark.core.problems import BadInput
from tests.core.engines.jobs import CannotOpen, Death, Folder, Numbers, Square
from tests.core.engines.processes import alive, wait_until

SLOW = pytest.mark.slow
SHARDS = [Numbers(range(start, start + 4)) for start in range(0, 20, 4)]
NUMBERS = [value for shard in SHARDS for value in shard.values]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A Ray cluster of two workers on this machine, for all tests of this module."""
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'tallymark[ray]'")
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


def make_ray(request: pytest.FixtureRequest) -> Engine:
    request.getfixturevalue("cluster")
    from tallymark.core.engines.ray_engine import RayEngine

    return RayEngine(2)


ENGINES: dict[str, Callable[[pytest.FixtureRequest], Engine]] = {
    "alone": lambda request: LocalEngine(1),
    "one process": lambda request: LocalEngine(1, start_after=0),
    "processes": lambda request: LocalEngine(2, start_after=0),
    "ray": make_ray,
}
ALL = [pytest.param(name, marks=SLOW if name == "ray" else ()) for name in ENGINES]


@pytest.fixture(params=ALL)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Every engine."""
    return ENGINES[request.param](request)


@pytest.fixture(params=[param for param in ALL if param.values != ("alone",)])
def apart(request: pytest.FixtureRequest) -> Engine:
    """Every engine whose workers are other processes."""
    return ENGINES[request.param](request)


class Run:
    """What an engine makes of numbers in shards: their squares, those that failed, and how far progress came."""

    def __init__(self, engine: Engine, job: Square | CannotOpen, shards: list[Numbers] = SHARDS) -> None:
        self.steps = 0
        self.squares: dict[int, int] = {}
        self.failed: dict[int, str] = {}
        self.shards: list[Numbers] = []
        for outcome in engine.run(job, iter(shards), self._advance):
            self.shards.append(outcome.shard)
            if isinstance(outcome, Failed):
                (value,) = outcome.shard.values
                self.failed[value] = outcome.reason
            else:
                assert isinstance(outcome, Done)
                self.squares |= dict(zip(outcome.shard.values, outcome.result, strict=True))

    def _advance(self) -> None:
        self.steps += 1


def test_every_shard_has_its_result(engine: Engine, tmp_path: Path) -> None:
    run = Run(engine, Square(tmp_path))
    assert run.squares == {value: value**2 for value in NUMBERS}
    assert sorted(run.shards, key=lambda shard: shard.values[0]) == SHARDS
    assert run.steps == len(NUMBERS)


def test_each_worker_opens_the_job_once(engine: Engine, tmp_path: Path) -> None:
    job = Square(tmp_path)
    Run(engine, job)
    opened = job.noted("opened")
    assert len(opened) == len(set(opened)) <= engine.workers


def test_no_shards_are_no_work(engine: Engine, tmp_path: Path) -> None:
    job = Square(tmp_path)
    assert Run(engine, job, []).shards == []
    assert job.noted("opened") == []


def test_a_single_shard_needs_a_single_worker(apart: Engine, tmp_path: Path) -> None:
    job = Square(tmp_path)
    Run(apart, job, SHARDS[:1])
    assert len(job.noted("opened")) == 1


def test_shards_are_taken_when_a_worker_is_free(engine: Engine, tmp_path: Path) -> None:
    """An archive's shards are not all made beforehand: their size follows from the pace of the first."""
    taken = 0

    def count_taken() -> Iterator[Numbers]:
        nonlocal taken
        for shard in SHARDS:
            taken += 1
            yield shard

    outcomes = engine.run(Square(tmp_path), count_taken(), lambda: None)
    next(outcomes)
    assert taken <= engine.workers + 1
    assert len(list(outcomes)) == len(SHARDS) - 1


def test_bad_input_arrives_as_itself(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        Run(engine, Square(tmp_path, refused=(7,)))
    assert [(problem.kind, problem.file) for problem in caught.value.problems] == [("odd_number", "number 7")]


def test_other_exceptions_arrive_with_their_traceback(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises((WorkerError, ZeroDivisionError)) as caught:
        Run(engine, Square(tmp_path, wrong=(7,)))
    text = "".join(traceback.format_exception(caught.value))
    assert "ZeroDivisionError: number 7" in text
    assert "jobs.py" in text


@pytest.mark.parametrize(("error", "expected"), [("bad_input", BadInput), ("error", WorkerError)])
def test_exceptions_at_the_start_arrive_too(apart: Engine, error: str, expected: type[Exception]) -> None:
    with pytest.raises(expected, match="no model" if error == "error" else "model.onnx"):
        Run(apart, CannotOpen(error))


def test_workers_that_cannot_start_are_a_problem(apart: Engine) -> None:
    with pytest.raises(BadInput) as caught:
        Run(apart, CannotOpen("death"))
    (problem,) = caught.value.problems
    assert problem.kind == "no_worker"
    assert f"{pool.MAX_START_FAILURES} in a row" in problem.found


@pytest.mark.parametrize("death", get_args(Death))
def test_an_item_that_ends_its_workers_is_found(apart: Engine, tmp_path: Path, death: Death) -> None:
    """It is tried with its shard, with halves of it, and alone; all others are done."""
    run = Run(apart, Square(tmp_path, fatal=(6,), death=death))
    assert list(run.failed) == [6]
    assert "its worker died" in run.failed[6]
    assert sorted(run.squares) == [value for value in NUMBERS if value != 6]
    assert run.steps == len(NUMBERS)


def test_several_such_items_are_found(apart: Engine, tmp_path: Path) -> None:
    run = Run(apart, Square(tmp_path, fatal=(4, 5), death="exit"), [Numbers([4, 5]), Numbers([6])])
    assert sorted(run.failed) == [4, 5]
    assert run.squares == {6: 36}
    assert run.steps == 3


def test_a_worker_that_dies_once_costs_its_shard_only(apart: Engine, tmp_path: Path) -> None:
    """The shard is worked on again, as it is, and no other is."""
    job = Square(tmp_path, fatal=(6,), once=True)
    run = Run(apart, job)
    assert run.failed == {}
    assert len(run.squares) == run.steps == len(NUMBERS)
    begun = job.noted("begun")
    assert {value for value in NUMBERS if begun.count(value) > 1} == {4, 5, 6}
    assert SHARDS[1] in run.shards


def test_nothing_that_workers_print_is_our_output(
    apart: Engine, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Run(apart, Square(tmp_path))
    assert "greets" not in capfd.readouterr().out


def test_workers_end_with_the_run(apart: Engine, tmp_path: Path) -> None:
    """Whether it is read to its end or not."""
    job = Square(tmp_path, seconds=0.05)
    outcomes = apart.run(job, iter(SHARDS), lambda: None)
    next(outcomes)
    outcomes.close()  # type: ignore[attr-defined]  # engines are generators
    assert wait_until(lambda: not any(alive(process) for process in job.noted("opened")))


def test_relative_paths_are_those_of_the_engine(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the cluster was started."""
    monkeypatch.syspath_prepend(Path.cwd())
    monkeypatch.chdir(tmp_path)
    (outcome,) = engine.run(Folder(), iter(SHARDS[:1]), lambda: None)
    assert isinstance(outcome, Done)
    assert outcome.result == str(tmp_path)


def test_workers_are_other_processes(apart: Engine, tmp_path: Path) -> None:
    job = Square(tmp_path)
    Run(apart, job)
    assert os.getpid() not in job.noted("opened")
