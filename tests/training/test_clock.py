"""How much of a training is done, by steps and by the clock."""

import time

import pytest

from tallymark.training.clock import ASIDE, Clock


def test_without_a_budget_steps_count() -> None:
    clock = Clock(steps=200, minutes=None)
    clock.step = 50
    assert clock.done() == 0.25


def test_a_budget_has_room_for_judging_all_views_and_for_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    clock = Clock(steps=1, minutes=10, views=4)
    clock.judged(20.0)
    now += 600 - 5 * 20 - ASIDE - 1
    assert clock.done() < 1
    now += 2
    assert clock.done() == 1


def test_half_of_a_budget_is_for_learning(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    clock = Clock(steps=1, minutes=1)
    clock.judged(100.0)
    now = 15.0
    assert clock.done() == 0.5
