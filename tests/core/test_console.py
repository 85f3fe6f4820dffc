"""What is printed where there is no terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tallymark.core import console as terminal
from tallymark.core.problems import Problem, Problems


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


def printed(problems: Problems, width: int) -> str:
    out = io.StringIO()
    terminal.show_problems(problems, Console(file=out, width=width))
    return out.getvalue()


def missing(number: int, file: str = "data/train.csv") -> Problem:
    found, remedy = f"no file for recording-{number}.wav", "unzip it again, or exclude the item"
    item = f"recording-{number}.wav"
    return Problem("missing_media", file, found, "its recording below data", remedy, line=number + 2, item=item)


def test_equal_problems_are_one_row_with_their_number() -> None:
    problems = Problems()
    for number in range(547):
        problems.add(missing(number))
    problems.add(Problem("tiny_box", "data/train.csv", "[0, 0, 1, 1]", "a larger box", line=9, item="a"))
    text = printed(problems, 200)
    assert text.count("missing_media") == 2  # the row, and the number of all
    assert "recording-0.wav and 546 more" in text
    assert "in all: 547 missing_media, 1 tiny_box" in text
    assert "not shown" not in text
    several = Problems()
    for number in range(9):
        several.add(missing(number, f"data/table-{number}.csv"))
    text = printed(several, 200)
    assert text.startswith("9 problems in data ")
    assert "table-0.csv:2 " in text
    few = Problems()
    for number in range(terminal.FEW):
        few.add(missing(number))
    assert printed(few, 200).count("missing_media") == terminal.FEW


def test_a_long_list_shows_some_of_each_kind() -> None:
    problems = Problems()
    for number in range(60):
        problems.add(Problem("tiny_box", "train.csv", f"[0, {number}, 1, 1]", "a larger box", line=number + 2))
    text = printed(problems, 200)
    assert "[0, 9, 1, 1]" in text
    assert "[0, 10, 1, 1]" not in text
    assert "… 50 more not shown" in text


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_word_is_broken(width: int) -> None:
    problems = Problems()
    problems.add(missing(1))
    problems.add(missing(2, "data/annotations/a-table-with-a-long-name.csv"))
    problems.add(Problem("bad_option", "command line", "a-word-of-forty-three-letters-in-an-option", "another"))
    text = printed(problems, width)
    words = {word for problem in problems for word in f"{problem.found} {problem.expected} {problem.remedy}".split()}
    assert words <= set(text.split())
    assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("total", [17, 18, 25, 30, 60])
def test_columns_are_as_wide_as_their_words_need(total: int) -> None:
    longest, words = [5, 40, 12], [5, 8, 4]
    widths = terminal.column_widths(longest, words, total)
    assert widths is not None
    assert sum(widths) == min(total, sum(longest))
    assert all(word <= width <= long for word, width, long in zip(words, widths, longest, strict=True))
    assert terminal.column_widths(longest, words, 16) is None


def test_progress_is_quiet_inside_that_of_a_caller(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "PROGRESS_INTERVAL", 0.0)
    with terminal.quiet_progress(), terminal.counting("inner", 3) as advance:
        advance()
    assert capsys.readouterr().err == ""
    with terminal.counting("outer", 3) as advance:
        advance()
    assert capsys.readouterr().err.startswith("outer: 1 of 3")
