"""What is printed where there is no terminal."""

from __future__ import annotations

import pytest

from tallymark.core import console as terminal


def test_progress_is_printed_once_per_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter(range(0, 1000, 50))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    assert list(terminal.progress("abcd", "predicting", 4)) == list("abcd")
    assert capsys.readouterr().err == "predicting: 2 of 4, 1:40 to go\n"


@pytest.mark.parametrize(("seconds", "text"), [(5, "0:05"), (65.4, "1:05"), (3661, "1:01:01"), (float("inf"), "?")])
def test_durations(seconds: float, text: str) -> None:
    assert terminal.duration(seconds) == text
