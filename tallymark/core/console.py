"""Tables, progress bars and lines of text for a terminal. Rich is imported when something is printed, not before."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from operator import length_hint
from typing import IO, TYPE_CHECKING, Literal, NamedTuple, TypeVar, cast

from tallymark.core.humanize import plural
from tallymark.core.problems import Problem, Problems, printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleRenderable, RenderHook

T = TypeVar("T")

SHOWN = 40
"""Rows of a long list that are printed; `--json` and files have all."""
FEW = 3
"""Problems that differ in their place only are printed one by one up to this number, else as one row."""
WORD = re.compile(r"\S+")
PIECE = re.compile(r"[^\s_,|/:=-]*[_,|/:=-]+|[^\s_,|/:=-]+")
"""A part of a word after which a line may end, where a table would be too wide otherwise."""
ALIKE = 10
"""Rows of one kind that are printed of a long list."""
WIDTH = 200
"""Characters per line where the output is not a terminal."""
PROGRESS_INTERVAL = 60.0
"""Seconds between progress lines where the output is not a terminal."""
_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)
"""Whether progress is not shown."""


def console(*, file: IO[str] | None = None) -> Console:
    """A console as wide as the terminal; where there is no terminal, wide enough not to break words."""
    from rich.console import Console

    terminal = file is None and ((sys.stdout is not None and sys.stdout.isatty()) or "COLUMNS" in os.environ)
    made = Console(file=file, width=None if terminal else WIDTH)
    made.push_render_hook(cast("RenderHook", _PrintableTexts()))  # an abstract class of rich, imported late
    return made


class _PrintableTexts:
    """A hook of rich that escapes what a terminal must not get in texts; tables escape their cells by themselves."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        from rich.text import Text

        for one in renderables:
            if isinstance(one, Text) and not one.plain.isprintable():
                one.plain = "\n".join(map(printable, one.plain.split("\n")))
        return renderables


def progress(steps: Iterable[T], title: str, total: int | None = None) -> Iterator[T]:
    """The same steps, with a progress bar while they are iterated."""
    with counting(title, length_hint(steps) or None if total is None else total) as count:
        for step in steps:
            yield step
            count()


@contextmanager
def quiet_progress() -> Iterator[None]:
    """Show no progress of what is called in it: the caller shows its own."""
    token = _QUIET.set(True)
    try:
        yield
    finally:
        _QUIET.reset(token)


@contextmanager
def counting(title: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """A function to call after each step: it advances a bar on standard error, or prints a line per minute."""
    if _QUIET.get():
        yield lambda: None
        return
    if sys.stderr is None or not sys.stderr.isatty():
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
            print(printable(f"{title}: {done}{left}"), file=sys.stderr, flush=True)

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
    console().print(printable(text), highlight=False, soft_wrap=True, markup=False)


def as_text(show: Callable[[Console], None]) -> str:
    """The text that `show` prints, without colours."""
    import io

    out = io.StringIO()
    show(console(file=out))
    return out.getvalue().rstrip("\n")


def show_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    to: Console,
    limit: int = SHOWN,
    *,
    whole_words: bool = False,
) -> None:
    """Print at most `limit` rows under a title; numbers are right-aligned, long texts are wrapped between words.

    In a narrow terminal, long words are wrapped after their marks, as in `learning_rate`, unless words are to stay
    whole, as names of files. Where that is not enough, each row is printed as a block, with a line for each column.
    """
    from rich.cells import cell_len
    from rich.markup import escape
    from rich.table import Table

    rows = list(rows)
    if not rows:
        return
    texts = [[_cell(value) for value in row] for row in rows[:limit]]
    filled = [[name, *(row[number] for row in texts)] for number, name in enumerate(columns)]
    longest = [max(cell_len(text) for text in column) for column in filled]
    room = to.width - 3 * len(columns) - 1
    words = [max((cell_len(word) for text in column for word in text.split()), default=1) for column in filled]
    pieces = [
        max((cell_len(piece) for text in column for piece in PIECE.findall(text)), default=1) for column in filled
    ]
    widths = column_widths(longest, words, room) or (None if whole_words else column_widths(longest, pieces, room))
    if widths is None:
        _show_blocks(title, columns, texts, to)
    else:
        table = Table(title=title, title_justify="left")
        for number, name in enumerate(columns):
            numeric = all(isinstance(row[number], int | float | None) for row in rows)
            justify: Literal["left", "right"] = "right" if numeric else "left"
            table.add_column(escape(name), justify=justify, overflow="fold", width=widths[number])
        for row in texts:
            table.add_row(*(escape(_wrap(text, width)) for text, width in zip(row, widths, strict=True)))
        to.print(table)
    if len(rows) > limit:
        to.print(f"… {len(rows) - limit} more rows not shown", highlight=False)


def column_widths(longest: Sequence[int], words: Sequence[int], total: int) -> list[int] | None:
    """Widths of columns within a total, none narrower than its longest word; None if that is impossible.

    The widest columns are narrowed first, all to the same width.
    """
    if sum(words) > total:
        return None
    limit = max(longest)
    while sum(widths := [max(word, min(long, limit)) for long, word in zip(longest, words, strict=True)]) > total:
        limit -= 1
    for number in reversed(range(len(widths))):  # what the last step was too much
        if widths[number] == limit < longest[number] and sum(widths) < total:
            widths[number] += 1
    return widths


def _wrap(text: str, width: int) -> str:
    """A text in lines of a width, broken between words, or after a mark in a word that is too long."""
    lines = [""]
    for word in text.split(" "):
        gap = " " if lines[-1] else ""
        if len(lines[-1]) + len(gap) + len(word) <= width:
            lines[-1] += gap + word
        elif len(word) <= width:
            lines.append(word)
        else:
            for number, piece in enumerate(PIECE.findall(word)):
                gap = "" if number else gap
                if len(lines[-1]) + len(gap) + len(piece) <= width:
                    lines[-1] += gap + piece
                else:
                    lines.append(piece)
    return "\n".join(lines)


def _show_blocks(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], to: Console) -> None:
    """Rows as blocks, with a line for each column that is not empty."""
    from rich.markup import escape
    from rich.table import Table

    if title:
        to.print(title, highlight=False)
    for row in rows:
        block = Table.grid(padding=(0, 2))
        block.add_column(style="dim", no_wrap=True, min_width=max(map(len, columns)))
        block.add_column(overflow="fold")
        for name, text in zip(columns, row, strict=True):
            if text:
                block.add_row(escape(name), escape(text))
        to.print(block)
        to.print()


def show_problems(problems: Problems, to: Console) -> None:
    """Print the problems as a table: equal ones as one row with their number, and of a long list some of each kind."""
    from rich.markup import escape

    cases = _grouped(problems)
    shown = _some_of_each_kind(cases)
    files = {problem.file for problem in problems}
    common = min(files) if len(files) == 1 else _common_folder(files)
    names = ("where", "item", "problem", "found", "expected", "what to do")
    rows = [_row(case, common, one_file=len(files) == 1) for case in shown]
    used = [at for at in range(len(names)) if any(row[at] for row in rows)]
    place = f" in {escape(printable(common))}" if common else ""
    title = f"[bold red]{plural(problems.total, 'problem')}[/bold red]{place}"
    show_table(title, [names[at] for at in used], [[row[at] for at in used] for row in rows], to, whole_words=True)
    hidden = problems.total - sum(case.times for case in shown)
    if hidden:
        to.print(f"… {hidden} more not shown", highlight=False)
    if hidden or len(shown) < problems.total:
        to.print("in all: " + ", ".join(f"{count} {kind}" for kind, count in problems.counts.items()), highlight=False)


class _Case(NamedTuple):
    """A problem, and the number of equal ones, itself included."""

    problem: Problem
    times: int


def _grouped(problems: Problems) -> list[_Case]:
    """The problems, more than a few equal ones as one: they differ in their place and item only."""
    groups: dict[tuple[str, ...], list[Problem]] = {}
    kept: dict[str, int] = {}
    for problem in problems:
        kept[problem.kind] = kept.get(problem.kind, 0) + 1
        texts = (problem.found, problem.expected, problem.remedy)
        alike = [text.replace(problem.item, "…") if problem.item else text for text in texts]
        groups.setdefault((problem.kind, *alike), []).append(problem)
    cases = []
    for (kind, *_), group in groups.items():
        if len(group) <= FEW:
            cases += [_Case(problem, 1) for problem in group]
        else:  # those beyond what is kept in full are of the same sort if all that are kept are
            every = len(group) == kept[kind]
            cases.append(_Case(group[0], problems.counts[kind] if every else len(group)))
    return sorted(cases, key=lambda case: (case.problem.file, case.problem.line or 0))


def _some_of_each_kind(cases: list[_Case]) -> list[_Case]:
    """All cases, or as many of each kind as fit into `SHOWN` rows, at most `ALIKE` where there are many."""
    counts: dict[str, int] = {}
    for case in cases:
        counts[case.problem.kind] = counts.get(case.problem.kind, 0) + 1
    per_kind = max(1, min(ALIKE, SHOWN // len(counts))) if len(cases) > SHOWN else SHOWN
    shown = []
    seen: dict[str, int] = {}
    for case in cases:
        kind = case.problem.kind
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= per_kind:
            shown.append(case)
    return shown[:SHOWN]


def _row(case: _Case, common: str, *, one_file: bool) -> tuple[str, ...]:
    problem = case.problem
    where = _where(problem, common, one_file=one_file)
    item = problem.subject
    if case.times > 1:
        more = f" and {case.times - 1:,} more"
        where, item = (where, item + more) if item else (where + more, item)
    return where.strip(), item, problem.kind, problem.found, problem.expected, problem.remedy


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
    return f"{value:.4f}" if isinstance(value, float) else printable(str(value))
