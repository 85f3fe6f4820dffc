"""How much of a training is done, by steps and by a time budget."""

import time

import pytest

from tallymark.training.budget import EXPORT_SECONDS, Budget


def test_without_a_time_budget_steps_count() -> None:
    budget = Budget(steps=200, minutes=None)
    budget.step = 50
    assert budget.done() == 0.25


def test_a_time_budget_reserves_time_for_evaluation_tuning_and_export(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    budget = Budget(steps=1, minutes=10, tta_passes=4)
    budget.evaluated(20.0)
    now += 600 - 5 * 20 - EXPORT_SECONDS - 1
    assert budget.done() < 1
    now += 2
    assert budget.done() == 1


def test_mining_counts_as_evaluation_but_is_not_done_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    budget = Budget(steps=1, minutes=10)
    now = 200.0
    budget.evaluated(10.0, mining=15.0)
    assert budget.due(1, of=8)
    budget.evaluated(10.0, mining=15.0)  # a quarter of the time by now
    assert not budget.due(1, of=8)
    now = 600 - 2 * 10 - EXPORT_SECONDS + 1
    assert budget.done() == 1
    now -= 2
    assert budget.done() < 1


def test_half_of_a_time_budget_is_for_training(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    budget = Budget(steps=1, minutes=1)
    budget.evaluated(100.0)
    now = 15.0
    assert budget.done() == 0.5


def test_evaluations_come_evenly_by_steps() -> None:
    budget, evaluated = Budget(steps=100, minutes=None), []
    for budget.step in range(1, 101):
        if budget.due(len(evaluated), of=4):
            evaluated.append(budget.step)
            budget.evaluated(1000.0)  # how long it takes must not matter: the same seed, the same training
    assert evaluated == [25, 50, 75]  # the last one is after the end


def test_slow_evaluations_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    budget, training, evaluating = Budget(steps=1, minutes=20), 0.0, 0.0
    while budget.done() < 1:
        now, training = now + 1, training + 1
        if budget.due(int(evaluating / 60), of=8):
            now, evaluating = now + 60, evaluating + 60
            budget.evaluated(60.0)
    assert evaluating >= 120
    assert evaluating / (training + evaluating) < 0.25
