"""Mapping: results in order wherever the work is done, small work in this process, and an item that ends its worker."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tallymark.core.engines import mapping
from tallymark.core.engines.choice import BY_DEFAULT, EngineChoice
from tallymark.core.engines.mapping import map_items
from tallymark.core.problems import BadInput
from tests.core.engines.works import FATAL, miss_a_file, process, refuse, square, square_or_die, take_all_memory

TWO = EngineChoice(workers=2)
SQUARES = [number**2 for number in range(40)]


def died(number: int, reason: str) -> int:
    assert "died" in reason
    return -number


def children() -> set[str]:
    """The processes that this one has started: some are those of other tests, such as a browser."""
    return set(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split())


@pytest.fixture
def none_left() -> Iterator[None]:
    """After the test, no process runs that did not run before."""
    before = children()
    yield
    assert children() <= before


@pytest.mark.parametrize("engine", [BY_DEFAULT, EngineChoice(workers=1), TWO], ids=["default", "one", "two"])
def test_results_are_in_order(engine: EngineChoice) -> None:
    assert map_items(square, range(40), "squaring", died, engine) == SQUARES
    assert map_items(square, [], "squaring", died, engine) == []


def test_small_work_stays_in_this_process() -> None:
    assert set(map_items(process, range(40), "working", died)) == {os.getpid()}
    assert set(map_items(process, range(40), "working", died, EngineChoice(workers=1))) == {os.getpid()}


def test_workers_that_are_asked_for_do_all_of_the_work() -> None:
    used = set(map_items(process, range(40), "working", died, TWO))
    assert len(used) == 2
    assert os.getpid() not in used


def test_other_processes_do_what_is_left_after_some_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "START_AFTER", 0.001)
    monkeypatch.setattr(mapping, "usable_cores", lambda: 2)
    used = map_items(process, range(1000), "working", died)
    own = used.count(os.getpid())
    assert 0 < own < 1000
    assert set(used[:own]) == {os.getpid()}
    assert len(used) == 1000


def test_a_short_rest_stays_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others would take longer to begin."""
    monkeypatch.setattr(mapping, "START_AFTER", 1.0)
    monkeypatch.setattr(mapping, "usable_cores", lambda: 1)
    seconds = iter([0.0, 0.0, 0.6, 1.2, 1.8])
    monkeypatch.setattr(mapping.time, "process_time", lambda: next(seconds))
    assert set(map_items(process, range(4), "working", died)) == {os.getpid()}


def test_much_work_begins_in_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "MANY", 40)
    monkeypatch.setattr(mapping, "usable_cores", lambda: 2)
    assert os.getpid() not in map_items(process, range(40), "working", died)


def test_an_item_that_ends_its_worker_costs_itself_only() -> None:
    expected = [-number if number == FATAL else number**2 for number in range(40)]
    assert map_items(square_or_die, range(40), "squaring", died, TWO) == expected


def test_a_function_that_cannot_be_carried_stays_in_this_process() -> None:
    offset = 5
    assert map_items(lambda number: (number + offset, os.getpid()), range(3), "adding", lambda *_: (0, 0), TWO) == [
        (number + offset, os.getpid()) for number in range(3)
    ]


@pytest.mark.usefixtures("none_left")
@pytest.mark.parametrize(
    ("work", "kind"), [(refuse, "odd_number"), (miss_a_file, "system_error"), (take_all_memory, "no_memory")]
)
def test_errors_of_workers_are_problems(work: Callable[[int], int], kind: str) -> None:
    with pytest.raises(BadInput) as caught:
        map_items(work, range(4), "working", died, TWO)
    assert set(caught.value.problems.counts) == {kind}


@pytest.mark.usefixtures("none_left")
def test_nothing_is_left_running_if_a_death_is_an_error() -> None:
    def give_up(number: int, reason: str) -> int:
        raise KeyError(number)

    with pytest.raises(KeyError, match=str(FATAL)):
        map_items(square_or_die, range(40), "squaring", give_up, TWO)


@pytest.mark.slow
def test_a_ray_cluster_does_the_same() -> None:
    pytest.importorskip("ray")
    expected = [-number if number == FATAL else number**2 for number in range(40)]
    assert map_items(square_or_die, range(40), "squaring", lambda n, _: -n, EngineChoice("ray", 2)) == expected
