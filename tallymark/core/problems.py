"""Problems with the user's files and options: where they are, what was found and expected, and what to do.

Checks do not stop at the first problem: they collect every `Problem`, and only then raise `BadInput`.
The command line prints the list as a table and exits with code 2.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

T = TypeVar("T")

KEPT_PER_KIND = 100
"""Problems of one kind in one file that are kept in full; the others are only counted."""
EVERY = sys.maxsize
"""Keep all problems: for lists that are written to a file."""
UNREADABLE = "unreadable"
"""The kind of a table or text that the system cannot read."""

UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Marks that turn the direction of the text around them, of all of a page in the worst case."""
ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclass(frozen=True)
class Problem:
    """One problem: where it is, what was found, what was expected and what to do about it.

    kind: a stable code for programs. line: the physical line of the file (the header is line 1).
    number: which of the item's objects it concerns, from 1 on; without it, the whole item.
    """

    kind: str
    file: str
    found: str
    expected: str
    remedy: str = ""
    line: int | None = None
    item: str | None = None
    column: str | None = None
    number: int | None = None

    @property
    def place(self) -> str:
        """The file, and the line if it is known."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    @property
    def subject(self) -> str:
        """The item, and the number of its object if the problem concerns one."""
        return (self.item or "") + ("" if self.number is None else f" #{self.number}")

    def __str__(self) -> str:
        item = f" [{self.subject}]" if self.item else ""
        column = f" {self.column}:" if self.column else ""
        remedy = f" -> {self.remedy}" if self.remedy else ""
        text = f"{self.place}{item}:{column} {self.kind}: found {self.found}, expected {self.expected}{remedy}"
        return printable(text)

    def as_dict(self) -> dict[str, object]:
        return {key: value for key, value in asdict(self).items() if value not in (None, "")}


class Problems:
    """The problems collected so far: the first `keep` of each kind and file in full, and the number of all."""

    def __init__(self, keep: int = KEPT_PER_KIND) -> None:
        self._keep = keep
        self._kept: list[Problem] = []
        self._counts: dict[tuple[str, str], int] = {}
        self.remarks: list[str] = []
        """Sentences about what was left out as the format says: nothing is wrong."""

    def add(self, problem: Problem) -> None:
        self.add_each(problem.kind, problem.file, [problem], lambda kept: kept)

    def add_each(self, kind: str, file: str, cases: Sequence[T], make: Callable[[T], Problem]) -> None:
        """Add a problem for each case; `make` is called only for those that are kept in full."""
        if not cases:
            return
        count = self._counts.get((kind, file), 0)
        self._kept.extend(make(case) for case in cases[: max(0, self._keep - count)])
        self._counts[kind, file] = count + len(cases)

    @property
    def total(self) -> int:
        """How many problems there are, whether kept in full or not."""
        return sum(self._counts.values())

    @property
    def counts(self) -> dict[str, int]:
        """The number of problems of each kind."""
        counts: dict[str, int] = {}
        for (kind, _), count in self._counts.items():
            counts[kind] = counts.get(kind, 0) + count
        return counts

    def __iter__(self) -> Iterator[Problem]:
        return iter(sorted(self._kept, key=lambda problem: (problem.file, problem.line or 0)))

    def __bool__(self) -> bool:
        return self.total > 0

    def merge(self, others: Problems) -> None:
        """Add the problems and remarks of another collection."""
        self.remarks += others.remarks
        kept_of: dict[tuple[str, str], list[Problem]] = {}
        for problem in others._kept:
            kept_of.setdefault((problem.kind, problem.file), []).append(problem)
        for (kind, file), count in others._counts.items():
            kept = kept_of.get((kind, file), [])
            self.add_each(kind, file, kept, lambda problem: problem)
            self._counts[kind, file] = self._counts.get((kind, file), 0) + count - len(kept)

    def fresh(self) -> Problems:
        """An empty collection that keeps as many of each kind and file."""
        return Problems(self._keep)

    def about(self, file: str) -> Problems:
        """The same problems, attributed to another file."""
        moved = Problems()
        moved._kept = [replace(problem, file=file) for problem in self._kept]
        moved._counts = {(kind, file): count for kind, count in self.counts.items()}
        return moved

    def moved(self, before: str, after: str) -> Problems:
        """The same problems, with the path `before` of a file, or of a folder above it, replaced by `after`."""
        inside = f"{before}/"

        def renamed(file: str) -> str:
            return after + file.removeprefix(before) if file == before or file.startswith(inside) else file

        other = self.fresh()
        other.remarks = self.remarks
        other._kept = [replace(problem, file=renamed(problem.file)) for problem in self._kept]
        for (kind, file), count in self._counts.items():
            other._counts[kind, renamed(file)] = other._counts.get((kind, renamed(file)), 0) + count
        return other

    def without(self, excluded: Callable[[Problem], bool]) -> Problems:
        """These problems except those that `excluded` is true for; it is asked about problems kept in full only."""
        left = self.fresh()
        left._kept = [problem for problem in self._kept if not excluded(problem)]
        left._counts = dict(self._counts)
        for problem in self._kept:
            left._counts[problem.kind, problem.file] -= excluded(problem)
        left._counts = {place: count for place, count in left._counts.items() if count}
        return left

    def raise_if_any(self) -> None:
        """Raise `BadInput` with all problems, if there are any."""
        if self:
            raise BadInput(self)

    def checked(self, value: T | None) -> T:
        """The value of a function that reported its problems here; raises `BadInput` if there are any."""
        self.raise_if_any()
        assert value is not None, "no value and no problem"
        return value

    def as_dict(self) -> dict[str, object]:
        """The problems as `--json` prints them."""
        return {"total": self.total, "counts": self.counts, "problems": [problem.as_dict() for problem in self]}


class BadInput(ValueError):
    """The user's files or options cannot be used; `problems` lists why."""

    def __init__(self, problems: Problems | Problem) -> None:
        if isinstance(problems, Problem):
            self.problems = Problems()
            self.problems.add(problems)
        else:
            self.problems = problems
        super().__init__(self.problems)

    def __str__(self) -> str:
        shown = [str(problem) for problem in self.problems]
        hidden = self.problems.total - len(shown)
        return "\n".join([*shown, f"… and {hidden} more"] if hidden else shown)


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint of the form "did you mean 'x'?", or a list of all known words."""
    known = list(known)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean '{close[0]}'?" if close else f"choose from: {', '.join(known)}"


def printable(text: str) -> str:
    """`text` as a terminal may show it: controls, ends of lines, marks that turn its direction, and bytes that are not
    UTF-8 as escapes such as `\\x1b`.
    """
    return text if text.isprintable() else UNPRINTABLE.sub(_escaped, text)


def escape_direction(text: T) -> T:
    """A text, or markup, with marks that turn its direction as escapes such as `\\u202e`; other values unchanged."""
    return type(text)(DIRECTION.sub(_escaped, text)) if isinstance(text, str) else text


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # how Python keeps a byte of a file name that is not UTF-8
        code -= 0xDC00
    return ESCAPES.get(match[0]) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def as_json(value: object, *, ensure_ascii: bool = False) -> str:
    """`value` as indented JSON that is valid UTF-8 and safe to print; unprintable letters are escaped."""
    text = json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False)
    if not text.isascii() or "\x7f" in text:
        text = UNPRINTABLE.sub(_escaped_in_json, text)
    return "".join(map(_ascii_in_json, text)) if ensure_ascii and not text.isascii() else text


def _escaped_in_json(match: re.Match[str]) -> str:
    if match[0] == "\n":
        return "\n"
    surrogate = "\ud800" <= match[0] <= "\udfff"  # which UTF-8 does not have
    return "\\" + _escaped(match) if surrogate else f"\\u{ord(match[0]):04x}"


def _ascii_in_json(letter: str) -> str:
    return letter if letter.isascii() else json.dumps(letter)[1:-1]


def shorten(text: str, limit: int = 60) -> str:
    """`text` shortened to `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def clip(text: str) -> str:
    """`text` shortened, in quotes and on one line, for a message."""
    return repr(shorten(text))
