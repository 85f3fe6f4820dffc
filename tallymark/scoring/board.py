"""Board: submissions of a challenge, ranked by its rule. Prints as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from tallymark.core.console import as_text, show_table
from tallymark.core.humanize import count, plural
from tallymark.core.options import as_assignments, describe
from tallymark.core.problems import Problems, printable, shorten
from tallymark.scoring.ranking import Better

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from rich.console import Console


@dataclass(frozen=True)
class Entry:
    """A submission with its place.

    score, low, high: by which it is ranked, with a 95 % bootstrap interval. place: from 1 on; ties share one; 0: none.
    ahead: by how much it is better than the next in the ranking, with a 95 % interval of the paired difference (low and
    high); None for the last. public, public_place: the public score, where the board has one.
    whole: the score of all items. groups: of each group of the board. same_as: an earlier file with the same bytes.
    """

    name: str
    score: float
    low: float
    high: float
    place: int = 0
    ahead: tuple[float, float, float] | None = None
    public: float = math.nan
    public_place: int = 0
    whole: float = math.nan
    groups: tuple[float, ...] = ()
    same_as: str = ""
    above_baseline: bool = True

    @property
    def shake_up(self) -> int | None:
        """By how many places it is better in private than in public; None where it has no public place."""
        return self.public_place - self.place if self.public_place and self.place else None

    @property
    def note(self) -> str:
        """What a reader should know of it."""
        trivial = "" if self.above_baseline else "not better than the baseline"
        return "; ".join(filter(None, (_same(self.same_as), trivial)))


@dataclass(frozen=True, eq=False)
class Refused:
    """A file that has no place: a submission with problems, which are all counted."""

    name: str
    problems: Problems
    same_as: str = ""

    @property
    def reasons(self) -> list[str]:
        """The first problem of each kind in words, and how many there are of it."""
        lines = []
        for kind, total in self.problems.counts.items():
            problem = next(one for one in self.problems if one.kind == kind)
            at = "" if problem.line is None else f"line {problem.line}: "
            found, expected = shorten(problem.found), shorten(problem.expected)
            more = f" (and {count(total - 1)} more)" if total > 1 else ""
            remedy = f"; {problem.remedy}" if problem.remedy else ""
            lines.append(printable(f"{at}{kind}: found {found}, expected {expected}{more}{remedy}"))
        return lines

    @property
    def note(self) -> str:
        """What else a reader should know of it."""
        return _same(self.same_as)


@dataclass(frozen=True, eq=False, repr=False)
class Board:
    """Submissions ranked by the official rule, those that were refused, and files that are no submissions.

    entries: in the order of places. verdicts: sentences about places that cannot be told apart.
    baseline: the trivial submission, as a reference without a place. others: name and reason.
    group_names, group_items: the groups whose scores entries have. items: of the ranking; public_items: 0 if all are.
    """

    challenge: str
    title: str
    rule: str
    better: Better
    rule_options: DataclassInstance
    entries: Sequence[Entry]
    baseline: Entry
    refused: Sequence[Refused] = ()
    others: Sequence[tuple[str, str]] = ()
    verdicts: Sequence[str] = ()
    items: int = 0
    public_items: int = 0
    resamples: int = 0
    group_names: Sequence[str] = ()
    group_items: Sequence[int] = ()
    remarks: Sequence[str] = field(default_factory=tuple)

    @property
    def table(self) -> pl.DataFrame:
        """A row for each submission, ranked or refused, as the CSV file has it."""
        schema: dict[str, type[pl.DataType]] = {
            "place": pl.Int64, "submission": pl.String, "score": pl.Float64, "low": pl.Float64, "high": pl.Float64,
            "public_place": pl.Int64, "public_score": pl.Float64, "shake_up": pl.Int64, "all_items": pl.Float64,
            "note": pl.String, "problems": pl.String,
        }  # fmt: skip
        rows: list[tuple[object, ...]] = [
            (one.place, one.name, one.score, _plain(one.low), _plain(one.high), one.public_place or None,
             _plain(one.public), one.shake_up, _plain(one.whole), one.note, "")
            for one in self.entries
        ]  # fmt: skip
        nothing = (None,) * 7
        rows += [(None, one.name, *nothing, one.note, "; ".join(one.reasons)) for one in self.refused]
        return pl.DataFrame(rows, schema=schema, orient="row")

    def __repr__(self) -> str:
        return f"<Board {self.challenge}: {len(self.entries)} ranked, {len(self.refused)} refused>"

    def __str__(self) -> str:
        return as_text(self.show)

    def show(self, to: Console) -> None:
        """Print the ranking, what can be told apart, and what was refused."""
        ranked = plural(len(self.entries), "submission")
        to.print(f"[bold]{self.challenge}  {ranked} ranked[/bold]  ({self.better} is better)", highlight=False)
        to.print(f"rule options: {as_assignments(self.rule_options)}", highlight=False, markup=False)
        rows: list[tuple[object, ...]] = [self._row(one) for one in self.entries]
        rows.append(self._row(self.baseline))
        public = ("public", "public score", "shake-up") if self.public_items else ()
        columns = ("place", "submission", "score", "95 % interval", *public, "note")
        show_table("", columns, rows, to, limit=len(rows))
        for sentence in (*self.verdicts, *self.remarks):
            to.print(printable(sentence), highlight=False, markup=False, soft_wrap=True)
        refused = [(printable(one.name), "; ".join(one.reasons)) for one in self.refused]
        show_table("refused", ("file", "problems"), refused, to, limit=len(refused))
        show_table("no submissions", ("file", "why"), self.others, to, limit=len(self.others))

    def _row(self, one: Entry) -> tuple[object, ...]:
        span = f"{one.low:.4f} … {one.high:.4f}" if math.isfinite(one.low) else "-"
        place = one.place or None
        public: tuple[object, ...] = ()
        if self.public_items:
            shift = one.shake_up
            public = (one.public_place or None, _plain(one.public), None if shift is None else f"{shift:+d}")
        return (place, one.name, f"{one.score:.6f}", span, *public, one.note)

    def as_dict(self) -> dict[str, object]:
        """The form that `--json` prints."""
        return {
            "challenge": self.challenge,
            "better": self.better,
            "rule_options": describe(self.rule_options),
            "items": self.items,
            "public_items": self.public_items,
            "resamples": self.resamples,
            "submissions": [self._as_dict(one) for one in self.entries],
            "baseline": {"name": self.baseline.name, "score": _plain(self.baseline.score)},
            "verdicts": list(self.verdicts),
            "remarks": list(self.remarks),
            "refused": [{"submission": one.name, **one.problems.as_dict()} for one in self.refused],
            "others": [{"file": name, "why": why} for name, why in self.others],
        }

    def _as_dict(self, one: Entry) -> dict[str, object]:
        out: dict[str, object] = {
            "place": one.place,
            "submission": one.name,
            "score": _plain(one.score),
            "interval": [_plain(one.low), _plain(one.high)],
            "ahead_of_next": None if one.ahead is None else [_plain(value) for value in one.ahead],
            "note": one.note,
        }
        if self.public_items:
            out |= {
                "public_place": one.public_place or None,
                "public_score": _plain(one.public),
                "shake_up": one.shake_up,
                "all_items": _plain(one.whole),
            }
        if self.group_names:
            out["groups"] = dict(zip(self.group_names, map(_plain, one.groups), strict=True))
        return out


def _same(name: str) -> str:
    return f"same file as {name}" if name else ""


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None
