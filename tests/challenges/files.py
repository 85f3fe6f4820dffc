"""Helpers of the challenge tests: reading texts as files, and repairing rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from tallymark.core.problems import Problem, Problems
from tallymark.submission.dialect import Row

T = TypeVar("T")
Options = TypeVar("Options")


def put(path: Path, text: str) -> Path:
    """Write a text file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8", newline="")
    return path


def parse(
    read: Callable[[Path, Options, Problems], T | None], path: Path, rule_options: Options
) -> tuple[T, list[Problem]]:
    """The value that a reader returns for a file or folder, and the problems that it reports."""
    problems = Problems()
    value = read(path, rule_options, problems)
    assert value is not None, list(problems)
    return value, list(problems)


def kinds(problems: list[Problem]) -> list[tuple[str, int | None]]:
    """The kind and line of each problem."""
    return [(problem.kind, problem.line) for problem in problems]


def rows_of(*cells: Mapping[str, str]) -> list[Row]:
    """Rows of one item, on lines 2, 3, …"""
    return [Row(line, "a", dict(row)) for line, row in enumerate(cells, start=2)]


class Notes(list[tuple[int, str]]):
    """Collects the line and the description of every change of a repair."""

    def __call__(self, row: Row, what: str, before: str, after: str) -> None:
        self.append((row.line, what))
