"""Clips with a yes or no: tables `clip_name,label` of truth, and `clip_name,probability` of predictions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tallymark.core.problems import BadInput, Problem, Problems
from tallymark.data.annotations import Annotations
from tallymark.data.items import unique_items
from tallymark.geometry import Events
from tallymark.io.tables import Table, number_text, write_table
from tallymark.submission.table_checks import read_ids, read_numbers

NAMES = ("clip_name", "clip", "filename")
"""Columns with the name of a clip, of which the first one counts."""
LABELS = ("label", "presence", "present")
PROBABILITIES = ("probability", "score", "confidence")
TIMES = ("timestamp", "start", "end")
YES, NO = ("1", "1.0", "yes", "true"), ("0", "0.0", "no", "false")


def _column(header: Sequence[str], names: Sequence[str]) -> str | None:
    return next((name for name in names if name in header), None)


def has_clip_labels(header: Sequence[str]) -> bool:
    """Whether a table may say yes or no about clips: it has names and labels, and no times."""
    return bool(_column(header, NAMES) and _column(header, LABELS)) and not set(TIMES) & set(header)


def has_clip_probabilities(header: Sequence[str]) -> bool:
    """Whether a table has a probability for each clip, and no times."""
    return bool(_column(header, NAMES) and _column(header, PROBABILITIES)) and not set(TIMES) & set(header)


def read_clip_labels(table: Table, problems: Problems) -> Annotations[Events]:
    """The clips of a table; one with a yes has an event somewhere in it, whose time is not known."""
    table, ids = read_ids(table, _column(table.header, NAMES) or "", problems)
    label = _column(table.header, LABELS) or ""
    text = table.text(label).str.to_lowercase()
    bad = np.flatnonzero(~text.is_in([*YES, *NO]).to_numpy())
    table.report(problems, "bad_label", bad, label, "1 or 0", "write 1 for clips with a call, 0 for others", ids=ids)
    _report_duplicates(table, ids, problems)
    items, item = unique_items(ids, table.line)
    found = np.flatnonzero(text.is_in(YES).to_numpy())
    return Annotations.from_rows(items, item[found], Events.somewhere(len(found)), line=table.line[found])


def read_clip_probabilities(table: Table, problems: Problems) -> Annotations[Events]:
    """The clips of a table, each with one event, whose score is the probability that there is any."""
    table, ids = read_ids(table, _column(table.header, NAMES) or "", problems)
    column = _column(table.header, PROBABILITIES) or ""
    values = read_numbers(table, column, ids, ("a finite number", "write a plain decimal number"), problems)
    _report_duplicates(table, ids, problems)
    items, item = unique_items(ids, table.line)
    return Annotations.from_rows(items, item, Events.somewhere(len(item)), score=np.nan_to_num(values), line=table.line)


def _report_duplicates(table: Table, ids: pl.Series, problems: Problems) -> None:
    again = np.flatnonzero(~ids.is_first_distinct().to_numpy())
    table.report(problems, "duplicate_id", again, ids.name, "every clip once", "remove one of the rows", ids=ids)


def write_clip_probabilities(annotations: Annotations[Events], path: str | Path) -> None:
    """Write the highest score of each clip; 0 where nothing was found."""
    write_table(
        path, {"clip_name": annotations.items.ids, "probability": number_text(annotations.highest_scores.round(6))}
    )


def known_times(annotations: Annotations[Events], path: str | Path) -> np.ndarray:
    """The times of events, to be written to a file; `BadInput` for clips, whose events are at unknown times."""
    if annotations.weak:
        remedy = "write them in the form clips, or predict times"
        raise BadInput(Problem("no_times", str(path), "probabilities of clips", "times of events", remedy))
    return annotations.shapes.time
