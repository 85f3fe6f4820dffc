"""The dialect of a challenge: how its truth and submission files are read, written and repaired.

A dialect is a module (or an object) with the functions of `Dialect`; see `challenges/`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tallymark.core.outputs import is_special, replacing
from tallymark.core.problems import Problems
from tallymark.data.annotations import Annotations

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Row(NamedTuple):
    """One row of a submission as text, to be repaired; `cells` maps column names to text."""

    line: int
    item: str
    cells: dict[str, str]


class Change(NamedTuple):
    """One change that a repair made."""

    line: int | None
    item: str
    what: str
    before: str
    after: str


Note = Callable[[Row, str, str, str], None]
"""Records a change of a repair: `note(row, what, before, after)`."""


class Dialect(Protocol):
    """The file formats of one challenge."""

    @property
    def FORMS(self) -> tuple[str, ...]:
        """The published formats of a submission; the first is written by default."""

    def read_truth(self, path: str | Path, rule_options: Any, problems: Problems) -> Annotations[Any] | None:
        """The official annotations; None if nothing can be used."""

    def read(self, path: str | Path, rule_options: Any, problems: Problems) -> Annotations[Any] | None:
        """The predictions of a submission; None if nothing can be used. Needs no truth."""

    def write(self, annotations: Annotations[Any], path: str | Path, form: str) -> None:
        """Write predictions as a submission."""

    def columns(self, header: list[str], rule_options: Any) -> list[str] | None:
        """The official columns of a submission with this header, the id column first; None if one is missing."""

    def repair(self, rows: list[Row], rule_options: Any, note: Note) -> list[dict[str, str]]:
        """The valid official rows of one item; `note` is called for every change."""

    def filler(self, header: list[str], rule_options: Any) -> dict[str, str] | None:
        """The cells, without the id, of a row for an item that has none; None if items need no row."""

    def folder_ids(self, folder: Path, problems: Problems) -> list[str]:
        """The ids that a submission for the test set in this folder must have."""


def write_submission(
    dialect: Dialect,
    annotations: Annotations[Any],
    path: str | Path,
    rule_options: DataclassInstance,
    form: str | None = None,
) -> None:
    """Write predictions and read them back: an invalid file never gets the name, and its problems are raised."""
    if form is not None and form not in dialect.FORMS:
        raise ValueError(f"form {form!r}: choose from {', '.join(dialect.FORMS)}")
    with replacing(path) as unchecked:
        dialect.write(annotations, unchecked, form or dialect.FORMS[0])
        check_written(dialect, unchecked, rule_options)


def check_written(dialect: Dialect, path: Path, rule_options: DataclassInstance) -> None:
    """Raise the problems of a submission that was just written; what went into a pipe cannot be read back."""
    problems = Problems()
    if not is_special(path):
        dialect.read(path, rule_options, problems)
    problems.raise_if_any()
