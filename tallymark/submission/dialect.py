"""What a challenge's files look like. A dialect is a module (or object) with these functions; see `challenges/`."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tallymark.core.problems import Problems
from tallymark.data.annotations import Annotations


class Row(NamedTuple):
    """One row of a submission as text, for repairing; `cells` maps column names to text."""

    line: int
    item: str
    cells: dict[str, str]


class Change(NamedTuple):
    """One thing that a repair changed."""

    line: int | None
    item: str
    what: str
    before: str
    after: str


Note = Callable[[Row, str, str, str], None]
"""Called as note(row, what, before, after) for every change."""


class Dialect(Protocol):
    """How one challenge writes truth and submissions."""

    @property
    def FORMS(self) -> tuple[str, ...]:
        """The published forms of a submission; the first is written by default."""

    def read_truth(self, path: str | Path, rule_options: Any, problems: Problems) -> Annotations[Any] | None:
        """The official annotations. None if nothing can be used."""

    def read(self, path: str | Path, rule_options: Any, problems: Problems) -> Annotations[Any] | None:
        """A submission on its own, without the answers. None if nothing can be used."""

    def write(self, annotations: Annotations[Any], path: str | Path, form: str) -> None:
        """Write predictions as a submission."""

    def columns(self, header: list[str], rule_options: Any) -> list[str] | None:
        """The official columns among those of a submission, the id's first; None if they are not all there."""

    def repair(self, rows: list[Row], rule_options: Any, note: Note) -> list[dict[str, str]]:
        """The official rows of one item, made valid; `note` hears of every change."""

    def filler(self, header: list[str], rule_options: Any) -> dict[str, str] | None:
        """The cells (but the id) of a row for an item that has none; None where items need no row."""

    def folder_ids(self, folder: Path, problems: Problems) -> list[str]:
        """The ids that a submission for this data folder must have."""


def write_submission(
    dialect: Dialect, annotations: Annotations[Any], path: str | Path, rule_options: Any, form: str | None = None
) -> None:
    """Write predictions and read them back: a file that the check refuses never stays."""
    if form is not None and form not in dialect.FORMS:
        raise ValueError(f"form {form!r}: choose from {', '.join(dialect.FORMS)}")
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(path.parent))
    unchecked = path.with_name(path.name + ".unchecked")
    problems = Problems()
    try:
        dialect.write(annotations, unchecked, form or dialect.FORMS[0])
        dialect.read(unchecked, rule_options, problems)
        problems.about(str(path)).raise_if_any()
        unchecked.replace(path)
    finally:
        unchecked.unlink(missing_ok=True)
