"""Tables for a terminal. Rich is imported when something is printed, not before."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from tallymark.problems import Problem, Problems

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")

SHOWN = 40
"""Rows of a long list that are printed; --json and files have all."""
WIDE = 200


def console(*, file: Any = None) -> Console:
    """Tables as wide as the terminal; where there is none, wide enough not to break words."""
    from rich.console import Console

    narrow = file is None and (sys.stdout.isatty() or "COLUMNS" in os.environ)
    return Console(file=file, width=None if narrow else WIDE)


def progress(steps: Sequence[T], what: str) -> Iterable[T]:
    """The steps, with a bar on standard error while they last, if that is a terminal."""
    if not sys.stderr.isatty():
        return steps
    from rich.console import Console
    from rich.progress import track

    return track(steps, what, console=Console(stderr=True), transient=True)


def as_text(show: Callable[[Console], None]) -> str:
    """What `show` would print, without colours."""
    import io

    out = io.StringIO()
    show(console(file=out))
    return out.getvalue().rstrip("\n")


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], to: Console) -> None:
    """Print rows under a title; numbers stand right, long texts are folded."""
    from rich.markup import escape
    from rich.table import Table

    rows = list(rows)
    if not rows:
        return
    table = Table(title=title, title_justify="left")
    for number, name in enumerate(columns):
        numeric = all(isinstance(row[number], int | float | None) for row in rows)
        table.add_column(escape(name), justify="right" if numeric else "left", overflow="fold")
    for row in rows[:SHOWN]:
        table.add_row(*(escape(_cell(value)) for value in row))
    to.print(table)
    if len(rows) > SHOWN:
        to.print(f"… {len(rows) - SHOWN} more rows not shown", highlight=False)


def show_problems(problems: Problems, to: Console) -> None:
    """Print every problem that was kept, and how many there are of each kind if that is not all."""
    from rich.markup import escape

    files = {problem.file for problem in problems}
    one_file = escape(min(files)) if len(files) == 1 else ""
    rows = [
        (
            _where(problem, named=not one_file),
            problem.item or "",
            problem.kind,
            problem.found,
            problem.expected,
            problem.remedy,
        )
        for problem in problems
    ]
    title = f"[bold red]{plural(problems.total, 'problem')}[/bold red]" + (f" in {one_file}" if one_file else "")
    show_table(title, ("where", "item", "problem", "found", "expected", "what to do"), rows, to)
    if problems.total > SHOWN:
        to.print("in all: " + ", ".join(f"{count} {kind}" for kind, count in problems.counts.items()), highlight=False)


def _where(problem: Problem, *, named: bool) -> str:
    place = problem.place if named else "" if problem.line is None else f"line {problem.line}"
    return f"{place} {problem.column or ''}".strip()


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
