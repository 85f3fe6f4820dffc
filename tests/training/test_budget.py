"""How much of a training is done, by steps and by the clock."""

import time

import pytest

from tallymark.training.budget import ASIDE, Budget


def test_without_a_budget_steps_count() -> None:
    clock = Budget(steps=200, minutes=None)
    clock.step = 50
    assert clock.done() == 0.25


def test_a_budget_has_room_for_judging_all_views_and_for_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    clock = Budget(steps=1, minutes=10, tta_transforms=4)
    clock.judged(20.0)
    now += 600 - 5 * 20 - ASIDE - 1
    assert clock.done() < 1
    now += 2
    assert clock.done() == 1


def test_looking_back_counts_as_judging_but_is_not_done_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    clock = Budget(steps=1, minutes=10)
    now = 200.0
    clock.judged(10.0, revisiting=15.0)
    assert clock.due(1, of=8)
    clock.judged(10.0, revisiting=15.0)  # a quarter of the time by now
    assert not clock.due(1, of=8)
    now = 600 - 2 * 10 - ASIDE + 1
    assert clock.done() == 1
    now -= 2
    assert clock.done() < 1


def test_half_of_a_budget_is_for_learning(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    clock = Budget(steps=1, minutes=1)
    clock.judged(100.0)
    now = 15.0
    assert clock.done() == 0.5


def test_judgements_come_evenly_by_steps() -> None:
    clock, judged = Budget(steps=100, minutes=None), []
    for clock.step in range(1, 101):
        if clock.due(len(judged), of=4):
            judged.append(clock.step)
            clock.judged(1000.0)  # how long it takes must not matter: the same seed, the same training
    assert judged == [25, 50, 75]  # the last one is after the end


def test_judgements_that_take_long_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    clock, learning, judging = Budget(steps=1, minutes=20), 0.0, 0.0
    while clock.done() < 1:
        now, learning = now + 1, learning + 1
        if clock.due(int(judging / 60), of=8):
            now, judging = now + 60, judging + 60
            clock.judged(60.0)
    assert judging >= 120
    assert judging / (learning + judging) < 0.25
