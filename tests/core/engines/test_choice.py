"""The choice of an engine: what it makes, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tallymark.core import resources
from tallymark.core.engines import local
from tallymark.core.engines.choice import EngineChoice
from tallymark.core.engines.local import START_AFTER, LocalEngine
from tallymark.core.engines.ray_engine import RayEngine
from tallymark.core.problems import BadInput


@pytest.fixture(autouse=True)
def three_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "free_cores", lambda: 3)
    monkeypatch.setattr(local, "START_AFTER", START_AFTER)


@pytest.mark.parametrize(
    ("choice", "cores", "workers", "at_once"),
    [
        (EngineChoice(), None, 3, False),
        (EngineChoice(), 2, 2, False),
        (EngineChoice(workers=4), 2, 4, True),
        (EngineChoice(workers=1), None, 1, False),
    ],
)
def test_the_local_engine_has_a_worker_for_each_core(
    choice: EngineChoice, cores: int | None, workers: int, at_once: bool
) -> None:
    """Workers that are asked for start at once; by default only if the work takes longer than their start."""
    engine = choice.make(cores)
    assert isinstance(engine, LocalEngine)
    assert (engine.workers, engine.start_after) == (workers, 0.0 if at_once else START_AFTER)


def test_after_a_kill_workers_start_at_once() -> None:
    """Something in the work may have ended the process."""
    engine = EngineChoice().make(at_once=True)
    assert isinstance(engine, LocalEngine)
    assert engine.start_after == 0.0


def test_ray_is_made_by_its_name() -> None:
    made = EngineChoice("ray", 5, "auto").make()
    assert isinstance(made, RayEngine)
    assert (made.workers, made.address) == (5, "auto")


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"name": "rey"}, "did you mean 'ray'"),
        ({"workers": 0}, "0 workers"),
        ({"address": "auto"}, "choose the engine ray"),
    ],
)
def test_choices_that_make_no_sense_are_refused(given: dict[str, Any], found: str) -> None:
    with pytest.raises(BadInput, match="bad_option") as caught:
        EngineChoice(**given)
    assert found in str(caught.value)
