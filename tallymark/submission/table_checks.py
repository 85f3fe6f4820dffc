"""What every dialect does with the rows of its tables: header, ids, and fitting them to the expected items."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tallymark.core.options import RuleOptions
from tallymark.core.problems import Problem, Problems, clip, nearest, shorten
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.io.tables import Table, read_table

SEPARATORS = {";": "semicolons, as spreadsheets of some countries do", "\t": "tabs"}
"""Marks between fields that people hand in instead of commas."""


def open_table(path: str | Path, columns: Sequence[str], problems: Problems, *, exactly: bool = False) -> Table | None:
    """Read a CSV file that must have these columns, and no others if `exactly`."""
    table = read_table(path, problems)
    if table is None:
        return None
    missing = [name for name in columns if name not in table.header]
    if missing:
        near = nearest(missing[0], map(shorten, table.header))
        remedy = f"name the columns {','.join(columns)} ({missing[0]}: {near})"
        bad_header(table, ",".join(columns), remedy, problems)
        return None
    if exactly and len(table.header) > len(columns):
        remedy = "leave out further columns (pandas: to_csv(…, index=False))"
        bad_header(table, ",".join(columns), remedy, problems)
        return None
    return table


def bad_header(table: Table, expected: str, remedy: str, problems: Problems) -> None:
    found = clip(",".join(table.header))
    for mark, name in SEPARATORS.items():
        if len(table.header) == 1 and mark in table.header[0]:
            remedy = f"separate the fields by commas, not by {name}"
    problems.add(Problem("bad_header", table.file, found, expected, remedy, line=1))


def read_ids(table: Table, column: str, problems: Problems) -> tuple[Table, pl.Series]:
    """The ids of the rows, without blanks around them; rows without an id are reported and left out."""
    ids = table.text(column)
    empty = (ids == "").to_numpy()
    if empty.any():
        table.report(problems, "empty_id", np.flatnonzero(empty), column, "an id", "name the item or drop the row")
        table, ids = table.filter(~empty), ids.filter(pl.Series(~empty))
    return table, ids


def one_row_each(table: Table, ids: pl.Series, column: str, problems: Problems) -> tuple[Table, Items]:
    """The items of a file with one row per item; later rows of the same item are reported and left out."""
    first = ids.is_first_distinct().to_numpy()
    if not first.all():
        again = np.flatnonzero(~first)
        remedy = "join the rows of an item, or drop all but one"
        table.report(problems, "duplicate_id", again, column, "one row for each id", remedy, ids=ids)
        table, ids = table.filter(first), ids.filter(pl.Series(first))
    return table, Items(ids, line=table.line)


def align(
    predicted: Annotations[Any], items: Items, rule_options: RuleOptions, file: str, problems: Problems
) -> Annotations[Any]:
    """The predictions under the expected items; unknown and missing ids are problems unless the reading allows them."""
    index = items.find(predicted.items.ids)
    if rule_options.extra == "error":
        remedy = "drop the row (or read with extra=ignore)"
        report_unknown(np.flatnonzero(index < 0), predicted.items, file, problems, remedy)
    if rule_options.missing == "error":
        seen = np.zeros(len(items), bool)
        seen[index[index >= 0]] = True
        report_missing(np.flatnonzero(~seen), items, file, problems)
    return predicted.reindex(items)


def report_unknown(unknown: np.ndarray, items: Items, file: str, problems: Problems, remedy: str) -> None:
    line, expected = items.line, "an id of the set that is scored"
    problems.add_each(
        "unknown_id",
        file,
        unknown.tolist(),
        lambda at: Problem(
            "unknown_id",
            file,
            clip(items.ids[at]),
            expected,
            remedy,
            line=None if line is None else int(line[at]),
            item=items.ids[at],
        ),
    )


def report_missing(missing: np.ndarray, items: Items, file: str, problems: Problems) -> None:
    expected, remedy = "a row for every id", "add a row for it (or read with missing=empty)"
    problems.add_each(
        "missing_id",
        file,
        missing.tolist(),
        lambda at: Problem(
            "missing_id", file, f"no row for {clip(items.ids[at])}", expected, remedy, item=items.ids[at]
        ),
    )
