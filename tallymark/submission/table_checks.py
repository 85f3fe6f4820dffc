"""Checks that all dialects share: the header of a table, its ids, and whether they are the expected ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl

from tallymark.core.humanize import plural
from tallymark.core.options import RuleOptions
from tallymark.core.problems import Problem, Problems, clip, nearest, shorten
from tallymark.data.annotations import Annotations
from tallymark.data.items import BLOCK, Items
from tallymark.geometry import Geometry
from tallymark.io.tables import Table, read_table
from tallymark.submission.separators import SEPARATORS, separator_of

G = TypeVar("G", bound=Geometry)

BREAK_TAG = r"(?i)\s*<\s*/?\s*br\s*/?\s*>\s*$"
"""The tag with which some web pages end the lines of their example files."""


def without_break_tags(table: Table) -> tuple[Table, int]:
    """The table without line-break tags at the ends of its lines, and how many lines have one."""
    last = table.header[-1]
    if table.is_integer(last) or not (last.endswith(">") or table.text(last).str.ends_with(">").any()):
        return table, 0
    name = re.sub(BREAK_TAG, "", last)
    if name in table.header[:-1]:
        return table, 0
    cells = table.cells[last].str.replace(BREAK_TAG, "")
    changed = int((cells != table.cells[last]).sum()) + (name != last)
    return replace(table, cells=table.cells.drop(last).with_columns(cells.alias(name))), changed


def report_break_tags(table: Table, problems: Problems) -> Table:
    """The table without line-break tags, which are one problem for the whole file."""
    clean, lines = without_break_tags(table)
    if lines:
        found = f"{plural(lines, 'line')} ending in a tag like </br>, as on a web page"
        remedy = "remove the tags; of a submission, `tallymark repair` does"
        problems.add(Problem("break_tag", table.file, found, "plain lines", remedy, line=1))
    return clean


def open_table(path: str | Path, columns: Sequence[str], problems: Problems, *, exactly: bool = False) -> Table | None:
    """Read a CSV file that must have these columns, and no others if `exactly`; None, with a problem, otherwise."""
    table = read_table(path, problems)
    return None if table is None else require_columns(table, columns, problems, exactly=exactly)


def require_columns(table: Table, columns: Sequence[str], problems: Problems, *, exactly: bool = False) -> Table | None:
    """The table, if it has these columns, and no others if `exactly`; None, with a problem, otherwise."""
    missing = [name for name in columns if name not in table.header]
    if missing:
        near = nearest(missing[0], map(shorten, table.header))
        remedy = f"name the columns {','.join(columns)} ({missing[0]}: {near})"
        bad_header(table, ",".join(columns), remedy, problems)
        return None
    if exactly and len(table.header) > len(columns):
        remedy = "remove the other columns (pandas: to_csv(…, index=False))"
        bad_header(table, ",".join(columns), remedy, problems)
        return None
    return table


def read_numbers(table: Table, column: str, ids: pl.Series, wanted: tuple[str, str], problems: Problems) -> np.ndarray:
    """A column of numbers; cells without a finite one are reported. wanted: what is expected, and the remedy."""
    values = table.text(column).cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    table.report(problems, "not_a_number", np.flatnonzero(~np.isfinite(values)), column, *wanted, ids=ids)
    return values


def score_column(table: Table) -> np.ndarray | None:
    """The confidences in a column `score`, which a file may have beside the official ones; None if not numbers."""
    if "score" not in table.header:
        return None
    scores = table.text("score").cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    return scores if np.isfinite(scores).all() else None


def bad_header(table: Table, expected: str, remedy: str, problems: Problems) -> None:
    """Report the header of a table. The remedy is another if the fields are not separated by commas."""
    found = clip(",".join(table.header))
    if (mark := separator_of(table.header)) is not None:
        remedy = f"separate the fields by commas, not by {SEPARATORS[mark]}; of a submission, `tallymark repair` does"
    if table.header[-1].endswith(">") and without_break_tags(table)[1]:
        remedy = "remove tags like </br> from the ends of the lines; `tallymark repair` does"
    problems.add(Problem("bad_header", table.file, found, expected, remedy, line=1))


def read_ids(table: Table, column: str, problems: Problems) -> tuple[Table, pl.Series]:
    """The rows with an id, and their ids without surrounding spaces; other rows are reported and skipped."""
    ids = table.text(column)
    empty = (ids == "").to_numpy()
    if empty.any():
        table.report(problems, "empty_id", np.flatnonzero(empty), column, "an id", "add the id, or remove the row")
        table = table.filter(~empty)
        ids = ids.filter(pl.Series(~empty))
    return table, ids


def one_row_each(table: Table, ids: pl.Series, column: str, problems: Problems) -> tuple[Table, Items]:
    """The items of a file with one row per item; further rows of an item are reported and skipped."""
    if _may_repeat(ids):
        first = ids.is_first_distinct().to_numpy()
        again = np.flatnonzero(~first)
        remedy = "join the rows of an item, or remove all but one"
        table.report(problems, "duplicate_id", again, column, "one row for each id", remedy, ids=ids)
        table = table.filter(first)
        ids = ids.filter(pl.Series(first))
    return table, Items(ids, line=table.line)


def _may_repeat(ids: pl.Series) -> bool:
    """Whether any two ids may be equal, by their hashes, which need a tenth of the memory of a set of the ids."""
    hashes = np.empty(len(ids), np.uint64)
    for start in range(0, len(ids), BLOCK):
        block = slice(start, start + BLOCK)
        hashes[block] = ids[block].hash().to_numpy()
    hashes.sort()
    return bool((hashes[1:] == hashes[:-1]).any())


def align(
    predicted: Annotations[G],
    items: Items,
    rule_options: RuleOptions,
    file: str,
    problems: Problems,
    suffix_optional: bool = False,
) -> Annotations[G]:
    """The predictions for the expected items. Unknown and missing ids are problems unless the options allow them.

    suffix_optional: whether `a` and `a.jpg` are the same id.
    """
    if items.are(predicted.items.ids):
        return replace(predicted, items=items)
    index = items.find(predicted.items.ids)
    if suffix_optional and (index < 0).any():
        predicted = replace(predicted, items=predicted.items.spelled_like(items))
        index = items.find(predicted.items.ids)
    if rule_options.extra == "error":
        remedy = "remove the row (or read with extra=ignore)"
        report_unknown(np.flatnonzero(index < 0), predicted.items, items, file, problems, remedy)
    if rule_options.missing == "error":
        present = np.zeros(len(items), bool)
        present[index[index >= 0]] = True
        report_missing(np.flatnonzero(~present), items, file, problems)
    return predicted.reindex(items)


def report_unknown(unknown: np.ndarray, items: Items, known: Items, file: str, problems: Problems, remedy: str) -> None:
    """Report the ids at these positions of `items` as unknown; with the known ones that they must mean."""
    line = items.line
    meant = items.meant_as(known)
    expected = "an id of the set that is scored"
    problems.add_each(
        "unknown_id",
        file,
        unknown.tolist(),
        lambda at: Problem(
            "unknown_id",
            file,
            clip(items.ids[at]),
            expected,
            f"write {clip(meant[name])}; `tallymark repair` does" if (name := items.ids[at]) in meant else remedy,
            line=None if line is None else int(line[at]),
            item=items.ids[at],
        ),
    )


def report_missing(missing: np.ndarray, items: Items, file: str, problems: Problems) -> None:
    """Report the items at these positions as missing."""
    expected = "a row for every id"
    remedy = "add a row for it (or read with missing=empty)"
    problems.add_each(
        "missing_id",
        file,
        missing.tolist(),
        lambda at: Problem(
            "missing_id", file, f"no row for {clip(items.ids[at])}", expected, remedy, item=items.ids[at]
        ),
    )
