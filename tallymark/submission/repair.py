"""Mending a submission on request. Nothing changes silently: every change is listed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from tallymark.core.problems import BadInput, Problem, Problems, clip, shorten
from tallymark.io.tables import BLANKS, read_table, write_table
from tallymark.submission.dialect import Change, Dialect, Row

ROW_KINDS = {"field_count", "bad_quote"}
"""Problems that cost one row; all others that reading a table finds cost the file."""
_ODD_BLANK = re.compile(rf"[^\S{re.escape(BLANKS)}]")
"""What looks like a space and does not separate, as a non-breaking one from a web page."""


def repair_file(
    dialect: Dialect, source: str | Path, target: str | Path, expected: Sequence[str] | None, rule_options: Any
) -> list[Change]:
    """Write a valid form of `source` to `target` and tell what was changed.

    `expected` are the ids that must be there: rows of others are dropped, missing ones added.
    Raises `BadInput` when the file as a whole cannot be read.
    """
    rows, header, changes = _read_rows(dialect, source, rule_options)
    by_item: dict[str, list[Row]] = {}
    for row in rows:
        by_item.setdefault(row.item, []).append(row)
    if expected is not None:
        known = set(expected)
        for item in [item for item in by_item if item not in known]:
            for row in by_item.pop(item):
                changes.append(Change(row.line, item, "dropped a row of an unknown id", _shown(row), ""))
        for item in expected:
            by_item.setdefault(item, [])

    def note(row: Row, what: str, before: str, after: str) -> None:
        changes.append(Change(row.line, row.item, what, shorten(before), shorten(after)))

    mended: list[dict[str, str]] = []
    for item, found in by_item.items():
        if found:
            cells = dialect.repair(found, rule_options, note)
        else:
            added = dialect.filler(header, rule_options)
            cells = [] if added is None else [added]
            changes.extend(Change(None, item, "added a missing row", "", ",".join(row.values())) for row in cells)
        mended.extend({**row, header[0]: item} for row in cells)
    write_table(target, {name: pl.Series([row[name] for row in mended], dtype=pl.String) for name in header})
    changes.sort(key=lambda change: (change.line is None, change.line or 0))
    return changes


def _read_rows(dialect: Dialect, source: str | Path, rule_options: Any) -> tuple[list[Row], list[str], list[Change]]:
    """The readable rows with all their columns, the official header, and what had to be dropped."""
    problems, changes = Problems(), list[Change]()
    table = read_table(source, problems)
    if table is None or any(problem.kind not in ROW_KINDS for problem in problems):
        raise BadInput(problems)
    header = dialect.columns(table.header, rule_options)
    if header is None:
        found = clip(",".join(table.header))
        remedy = "name the columns as the challenge does; a repair does not guess them"
        raise BadInput(Problem("bad_header", table.file, found, "the official columns", remedy, line=1))
    for problem in problems:
        changes.append(Change(problem.line, "", "dropped an unreadable row", problem.found, ""))
    if more := problems.total - len(changes):
        changes.append(Change(None, "", f"dropped {more} more unreadable rows", "", ""))
    surplus = [name for name in table.header if name not in header]
    if surplus:
        changes.append(Change(1, "", "dropped columns", ",".join(surplus), ""))
    rows = []
    for line, cells in zip(table.line.tolist(), table.cells.iter_rows(named=True), strict=True):
        cells = {name: text.strip(BLANKS) for name, text in cells.items()}
        if item := cells[header[0]]:
            for name in header[1:]:
                plain = _ODD_BLANK.sub(" ", cells[name])
                if plain != cells[name]:
                    changes.append(
                        Change(line, item, "wrote odd blanks as spaces", clip(cells[name]), shorten(plain.strip()))
                    )
                    cells[name] = plain.strip()
            rows.append(Row(line, item, cells))
        else:
            changes.append(Change(line, "", "dropped a row without an id", shorten(",".join(cells.values())), ""))
    return rows, header, changes


def _shown(row: Row) -> str:
    return shorten(",".join(row.cells.values()))
