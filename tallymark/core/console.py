"""Tables for a terminal. Rich is imported when something is printed, not before."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import length_hint
from typing import TYPE_CHECKING, Any, TypeVar

from tallymark.core.problems import Problem, Problems

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")

SHOWN = 40
"""Rows of a long list that are printed; --json and files have all."""
WIDE = 200
SAID_EVERY = 60.0
"""Seconds between lines about progress, where there is no terminal."""


def console(*, file: Any = None) -> Console:
    """Tables as wide as the terminal; where there is none, wide enough not to break words."""
    from rich.console import Console

    narrow = file is None and (sys.stdout.isatty() or "COLUMNS" in os.environ)
    return Console(file=file, width=None if narrow else WIDE)


def progress(steps: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """The steps, counted while they last."""
    with counting(what, length_hint(steps) or None if total is None else total) as count:
        for step in steps:
            yield step
            count()


@contextmanager
def counting(what: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """What to call after each step: a bar on standard error, or a line a minute where that is no terminal."""
    if not sys.stderr.isatty():
        yield _said(what, total)
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


def _said(what: str, total: int | None) -> Callable[[], None]:
    begun = said = time.monotonic()
    done = 0

    def count() -> None:
        nonlocal said, done
        done += 1
        if (now := time.monotonic()) - said >= SAID_EVERY and done != total:
            said = now
            ahead = "" if total is None else f" of {total}, {duration((now - begun) * (total - done) / done)} to go"
            print(f"{what}: {done}{ahead}", file=sys.stderr, flush=True)

    return count


def duration(seconds: float) -> str:
    """Minutes and seconds, and hours where there are any."""
    if seconds == float("inf"):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def say(text: str) -> None:
    """Print a line as it is, however wide the terminal."""
    console().print(text, highlight=False, soft_wrap=True, markup=False)


def as_text(show: Callable[[Console], None]) -> str:
    """What `show` would print, without colours."""
    import io

    out = io.StringIO()
    show(console(file=out))
    return out.getvalue().rstrip("\n")


def show_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], to: Console, most: int = SHOWN
) -> None:
    """Print rows under a title, so many at most; numbers stand right, long texts are folded."""
    from rich.markup import escape
    from rich.table import Table

    rows = list(rows)
    if not rows:
        return
    table = Table(title=title, title_justify="left")
    for number, name in enumerate(columns):
        numeric = all(isinstance(row[number], int | float | None) for row in rows)
        table.add_column(escape(name), justify="right" if numeric else "left", overflow="fold")
    for row in rows[:most]:
        table.add_row(*(escape(_cell(value)) for value in row))
    to.print(table)
    if len(rows) > most:
        to.print(f"… {len(rows) - most} more rows not shown", highlight=False)


def show_problems(problems: Problems, to: Console) -> None:
    """Print the problems, some of every kind if there are many, and then how many there are of each."""
    from rich.markup import escape

    shown = _some_of_each_kind(list(problems))
    files = {problem.file for problem in shown}
    common = min(files) if len(files) == 1 else _common_folder(files)
    rows = [
        (
            _where(problem, common, alone=len(files) == 1),
            problem.subject,
            problem.kind,
            problem.found,
            problem.expected,
            problem.remedy,
        )
        for problem in shown
    ]
    place = f" in {escape(common)}" if common else ""
    title = f"[bold red]{plural(problems.total, 'problem')}[/bold red]{place}"
    show_table(title, ("where", "item", "problem", "found", "expected", "what to do"), rows, to)
    if problems.total > len(shown):
        to.print(f"… {problems.total - len(shown)} more not shown", highlight=False)
        to.print("in all: " + ", ".join(f"{count} {kind}" for kind, count in problems.counts.items()), highlight=False)


def _some_of_each_kind(problems: list[Problem]) -> list[Problem]:
    """All of them, or so many of each kind that a screen holds them."""
    if len(problems) <= SHOWN:
        return problems
    counts: dict[str, int] = {}
    most = max(1, SHOWN // len({problem.kind for problem in problems}))
    shown = []
    for problem in problems:
        counts[problem.kind] = counts.get(problem.kind, 0) + 1
        if counts[problem.kind] <= most:
            shown.append(problem)
    return shown[:SHOWN]


def _common_folder(files: set[str]) -> str:
    """The folder that all files lie in, if that says something."""
    try:
        return os.path.commonpath([os.path.dirname(file) for file in files]).rstrip("/")  # noqa: PTH120  # texts, not always paths
    except ValueError:
        return ""


def _where(problem: Problem, common: str, *, alone: bool) -> str:
    if alone:
        place = "" if problem.line is None else f"line {problem.line}"
    else:
        place = problem.place.removeprefix(f"{common}/") if common else problem.place
    return f"{place} {problem.column or ''}".strip()


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
