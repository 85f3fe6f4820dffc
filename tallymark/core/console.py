"""Tables, progress bars and lines of text for a terminal. Rich is imported when something is printed, not before."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import length_hint
from typing import IO, TYPE_CHECKING, TypeVar

from tallymark.core.humanize import plural
from tallymark.core.problems import Problem, Problems

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")

SHOWN = 40
"""Rows of a long list that are printed; `--json` and files have all."""
WIDTH = 200
"""Characters per line where the output is not a terminal."""
PROGRESS_INTERVAL = 60.0
"""Seconds between progress lines where the output is not a terminal."""


def console(*, file: IO[str] | None = None) -> Console:
    """A console as wide as the terminal; where there is no terminal, wide enough not to break words."""
    from rich.console import Console

    terminal = file is None and (sys.stdout.isatty() or "COLUMNS" in os.environ)
    return Console(file=file, width=None if terminal else WIDTH)


def progress(steps: Iterable[T], title: str, total: int | None = None) -> Iterator[T]:
    """The same steps, with a progress bar while they are iterated."""
    with counting(title, length_hint(steps) or None if total is None else total) as count:
        for step in steps:
            yield step
            count()


@contextmanager
def counting(title: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """A function to call after each step: it advances a bar on standard error, or prints a line per minute."""
    if not sys.stderr.isatty():
        yield _progress_lines(title, total)
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)


def _progress_lines(title: str, total: int | None) -> Callable[[], None]:
    started = printed = time.monotonic()
    done = 0

    def count() -> None:
        nonlocal printed, done
        done += 1
        if (now := time.monotonic()) - printed >= PROGRESS_INTERVAL and done != total:
            printed = now
            left = "" if total is None else f" of {total}, {duration((now - started) * (total - done) / done)} to go"
            print(f"{title}: {done}{left}", file=sys.stderr, flush=True)

    return count


def duration(seconds: float) -> str:
    """`m:ss`, or `h:mm:ss` from one hour on."""
    if seconds == float("inf"):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def print_line(text: str) -> None:
    """Print a line as it is: unwrapped, without markup or highlighting."""
    console().print(text, highlight=False, soft_wrap=True, markup=False)


def as_text(show: Callable[[Console], None]) -> str:
    """The text that `show` prints, without colours."""
    import io

    out = io.StringIO()
    show(console(file=out))
    return out.getvalue().rstrip("\n")


def show_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], to: Console, limit: int = SHOWN
) -> None:
    """Print at most `limit` rows under a title; numbers are right-aligned, long texts are folded."""
    from rich.markup import escape
    from rich.table import Table

    rows = list(rows)
    if not rows:
        return
    table = Table(title=title, title_justify="left")
    for number, name in enumerate(columns):
        numeric = all(isinstance(row[number], int | float | None) for row in rows)
        table.add_column(escape(name), justify="right" if numeric else "left", overflow="fold")
    for row in rows[:limit]:
        table.add_row(*(escape(_cell(value)) for value in row))
    to.print(table)
    if len(rows) > limit:
        to.print(f"… {len(rows) - limit} more rows not shown", highlight=False)


def show_problems(problems: Problems, to: Console) -> None:
    """Print the problems as a table; of a long list some of each kind, and the number of each kind."""
    from rich.markup import escape

    shown = _some_of_each_kind(list(problems))
    files = {problem.file for problem in shown}
    common = min(files) if len(files) == 1 else _common_folder(files)
    rows = [
        (
            _where(problem, common, one_file=len(files) == 1),
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
    """All problems, or as many of each kind as fit into `SHOWN` rows."""
    if len(problems) <= SHOWN:
        return problems
    counts: dict[str, int] = {}
    per_kind = max(1, SHOWN // len({problem.kind for problem in problems}))
    shown = []
    for problem in problems:
        counts[problem.kind] = counts.get(problem.kind, 0) + 1
        if counts[problem.kind] <= per_kind:
            shown.append(problem)
    return shown[:SHOWN]


def _common_folder(files: set[str]) -> str:
    """The deepest folder that contains all files; empty if there is none."""
    try:
        return os.path.commonpath([os.path.dirname(file) for file in files]).rstrip("/")  # noqa: PTH120  # text that need not be a path
    except ValueError:
        return ""


def _where(problem: Problem, common: str, *, one_file: bool) -> str:
    if one_file:
        place = "" if problem.line is None else f"line {problem.line}"
    else:
        place = problem.place.removeprefix(f"{common}/") if common else problem.place
    return f"{place} {problem.column or ''}".strip()


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
