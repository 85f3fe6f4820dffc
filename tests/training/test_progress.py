"""What a training prints where there is no terminal."""

import time

import pytest

from tallymark.training import progress
from tallymark.training.budget import Budget
from tallymark.training.progress import Progress


def test_without_a_terminal_a_line_is_printed_once_a_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    budget = Budget(steps=200, minutes=None)
    with Progress(budget) as shown:
        for step in range(1, 101):
            now, budget.step = 2.0 * step, step
            shown.update({"heat": 1.5, "shape": 0.5})
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        " 15%  loss 2.000  5:40 to go",
        " 30%  loss 2.000  4:40 to go",
        " 45%  loss 2.000  3:40 to go",
    ]


def test_only_the_first_process_prints(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "PROGRESS_INTERVAL", 0.0)
    with Progress(Budget(steps=10, minutes=None), enabled=False) as shown:
        shown.update({"heat": 1.0})
    assert capsys.readouterr().err == ""
