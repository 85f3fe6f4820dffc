"""What is wrong with a file, said so that a person can mend it.

Checks never stop at the first fault: they collect every `Problem`, and only then raise `BadInput`.
The command line prints the list as a table and exits with 2.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

T = TypeVar("T")

KEPT_PER_KIND = 100
"""How many problems of one kind in one file are kept in full; all of them are counted."""
EVERY = sys.maxsize
"""Keep all of them: for lists that are written to a file."""


@dataclass(frozen=True)
class Problem:
    """One fault: where it is, what was found, what was expected and what to do about it.

    `kind` is a stable label for programs. `line` is the physical line of the file (the header is line 1).
    `number` is which of the item's objects it is about, from 1 on; without it, it is about the whole item.
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
        return self.file if self.line is None else f"{self.file}:{self.line}"

    @property
    def subject(self) -> str:
        """The item, and which of its objects."""
        return (self.item or "") + ("" if self.number is None else f" #{self.number}")

    def __str__(self) -> str:
        item = f" [{self.subject}]" if self.item else ""
        column = f" {self.column}:" if self.column else ""
        remedy = f" -> {self.remedy}" if self.remedy else ""
        return f"{self.place}{item}:{column} {self.kind}: found {self.found}, expected {self.expected}{remedy}"

    def as_dict(self) -> dict[str, object]:
        return {key: value for key, value in asdict(self).items() if value not in (None, "")}


class Problems:
    """All faults found so far. Keeps the first `keep` of each kind and file, counts the rest."""

    def __init__(self, keep: int = KEPT_PER_KIND) -> None:
        self._keep = keep
        self._kept: list[Problem] = []
        self._counts: dict[tuple[str, str], int] = {}

    def add(self, problem: Problem) -> None:
        self.add_each(problem.kind, problem.file, [problem], lambda kept: kept)

    def add_each(self, kind: str, file: str, cases: Sequence[T], make: Callable[[T], Problem]) -> None:
        """One problem for each case; `make` is called only for those that are kept in full."""
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
        """How many there are of each kind."""
        counts: dict[str, int] = {}
        for (kind, _), count in self._counts.items():
            counts[kind] = counts.get(kind, 0) + count
        return counts

    def __iter__(self) -> Iterator[Problem]:
        return iter(sorted(self._kept, key=lambda problem: (problem.file, problem.line or 0)))

    def __bool__(self) -> bool:
        return self.total > 0

    def merge(self, others: Problems) -> None:
        """Take over the problems of another collection."""
        for (kind, file), count in others._counts.items():
            kept = [problem for problem in others._kept if (problem.kind, problem.file) == (kind, file)]
            self.add_each(kind, file, kept, lambda problem: problem)
            self._counts[kind, file] += count - len(kept)

    def about(self, file: str) -> Problems:
        """The same problems, said of another file."""
        moved = Problems()
        moved._kept = [replace(problem, file=file) for problem in self._kept]
        moved._counts = {(kind, file): count for kind, count in self.counts.items()}
        return moved

    def without(self, forgiven: Callable[[Problem], bool]) -> Problems:
        """These problems but for some of those that were kept in full."""
        left = Problems(self._keep)
        left._kept = [problem for problem in self._kept if not forgiven(problem)]
        left._counts = dict(self._counts)
        for problem in self._kept:
            left._counts[problem.kind, problem.file] -= forgiven(problem)
        left._counts = {place: count for place, count in left._counts.items() if count}
        return left

    def raise_if_any(self) -> None:
        if self:
            raise BadInput(self)

    def checked(self, value: T | None) -> T:
        """The value that a reading gave, unless it met problems: then they are raised."""
        self.raise_if_any()
        assert value is not None, "who finds nothing to use must say why"
        return value

    def as_dict(self) -> dict[str, object]:
        """The form that `--json` prints."""
        return {"total": self.total, "counts": self.counts, "problems": [problem.as_dict() for problem in self]}


class BadInput(ValueError):
    """The user's files or options cannot be used; `problems` says why, line by line."""

    def __init__(self, problems: Problems | Problem) -> None:
        if isinstance(problems, Problem):
            single, problems = problems, Problems()
            problems.add(single)
        self.problems = problems
        super().__init__(problems)

    def __str__(self) -> str:
        shown = [str(problem) for problem in self.problems]
        hidden = self.problems.total - len(shown)
        return "\n".join([*shown, f"… and {hidden} more"] if hidden else shown)


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint of the form "did you mean 'x'?", or a list of what there is."""
    known = list(known)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean '{close[0]}'?" if close else f"choose from: {', '.join(known)}"


def shorten(text: str, limit: int = 60) -> str:
    """`text` cut to `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def clip(text: str) -> str:
    """`text` shortened, in quotes and on one line, for a message."""
    return repr(shorten(text))
