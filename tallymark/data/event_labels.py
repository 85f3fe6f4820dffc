"""Labels of events: which rows of a table are the events that a challenge is about, and what the others are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from tallymark.core.problems import Problem, Problems
from tallymark.data.catalog import Catalog

SHOWN = 10
"""Labels that a remark lists; the others are only counted."""
ALL = "all"
"""What `--labels` is for all labels."""
SEPARATOR = "\x1f"


@dataclass(frozen=True)
class LabelFilter:
    """Keeps the rows whose labels are those of the wanted events, and counts the labels of the others.

    accepts: whether a row with these labels, one for each column that is not blank, is a wanted event.
    is_column: whether a column has labels, by its name. what: what the wanted events are called.
    chosen: whether the user has said which labels are wanted.
    """

    accepts: Callable[[Sequence[str]], bool]
    is_column: Callable[[str], bool]
    what: str
    chosen: bool = False
    excluded: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(
        cls, labels: str, accepts: Callable[[Sequence[str]], bool], is_column: Callable[[str], bool], what: str
    ) -> LabelFilter:
        """A filter of these labels, separated by commas, whatever their case; if it is `what`, those that `accepts`."""
        if labels == what:
            return cls(accepts, is_column, what)
        wanted = {label.strip().casefold() for label in labels.split(",")}

        def asked_for(row: Sequence[str]) -> bool:
            return ALL in wanted or any(label.casefold() in wanted for label in row)

        return cls(asked_for, is_column, what, chosen=True)

    def another(self) -> LabelFilter:
        """The same filter with counts of its own."""
        return replace(self, excluded=Counter())

    def keeps(self, labels: Sequence[str], rows: int = 1) -> bool:
        """Whether rows with these labels are kept; otherwise they are counted."""
        known = [label for label in labels if label]
        kept = self.accepts(known)
        if not kept:
            self.excluded[" ".join(known) or "(blank)"] += rows
        return kept

    def kept_rows(self, columns: Sequence[pl.Series], rows: int) -> np.ndarray:
        """Which of so many rows of a table are kept, given its columns of labels without surrounding spaces."""
        if not columns:
            return np.ones(rows, bool)
        joined = columns[0]
        if len(columns) > 1:
            joined = pl.select(pl.concat_str(*columns, separator=SEPARATOR)).to_series()
        counts = joined.value_counts().rows()
        kept = [text for text, count in counts if self.keeps(text.split(SEPARATOR), count)]
        return np.ones(rows, bool) if len(kept) == len(counts) else joined.is_in(kept).to_numpy()


def as_text(excluded: Counter[str]) -> str:
    """Excluded labels with the number of their rows, the most frequent first."""
    ordered = sorted(excluded.items(), key=lambda pair: (-pair[1], pair[0]))
    more = [f"{len(ordered) - SHOWN} other labels"] if len(ordered) > SHOWN else []
    return ", ".join([f"{count} {label}" for label, count in ordered[:SHOWN]] + more)


def label_remarks(labels: LabelFilter, excluded: Counter[str]) -> tuple[str, ...]:
    """A sentence about excluded labels, unless the user has chosen them."""
    if labels.chosen or not excluded:
        return ()
    return (f"excluded labels that are not {labels.what}: {as_text(excluded)} (--labels chooses others)",)


def with_label_remarks(
    catalog: Catalog, labels: LabelFilter, used: Sequence[LabelFilter], problems: Problems
) -> Catalog:
    """The catalog with a remark on what the filters of its tables excluded; a problem if that was everything."""
    excluded = sum((one.excluded for one in used), Counter[str]())
    if excluded and (catalog.truth is None or not len(catalog.truth)):
        problems.add(no_such_label(labels, excluded, str(catalog.root)))
    return replace(catalog, remarks=(*catalog.remarks, *label_remarks(labels, excluded)))


def no_such_label(labels: LabelFilter, excluded: Counter[str], place: str) -> Problem:
    """The problem of a file or folder in which no row has a label that is wanted."""
    remedy = f"choose them: --labels '{','.join(sorted(excluded)[:3])}', or --labels {ALL}"
    expected = f"labels of {labels.what}" if not labels.chosen else "the labels that --labels asks for"
    return Problem("other_labels", place, as_text(excluded), expected, remedy)
