"""Repairing a submission on request. Nothing changes silently: every change is listed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from tallymark.core.humanize import plural
from tallymark.core.options import RuleOptions
from tallymark.core.problems import BadInput, Problem, Problems, clip, shorten
from tallymark.data.items import Items
from tallymark.io.tables import BLANKS, Table, read_table, write_table
from tallymark.submission.dialect import Change, Dialect, Row
from tallymark.submission.separators import separator_of, with_commas
from tallymark.submission.table_checks import without_break_tags

ROW_PROBLEMS = {"field_count", "bad_quote"}
"""Kinds of problems that affect one row; with any other kind the table cannot be repaired."""
_UNUSUAL_SPACE = re.compile(rf"[^\S{re.escape(BLANKS)}]")
"""Whitespace that does not separate values, such as the non-breaking space of web pages."""


def repair_file(
    dialect: Dialect,
    source: str | Path,
    target: str | Path,
    expected: Sequence[str] | None,
    rule_options: RuleOptions,
    suffix_optional: bool = False,
) -> list[Change]:
    """Write a valid version of `source` to `target`, and return all changes, ordered by line.

    expected: the ids that the submission must have. Rows of other ids are dropped, missing ones are added.
    suffix_optional: whether `a` and `a.jpg` are the same id, which is then written as expected.
    Raises `BadInput` if the file as a whole cannot be read.
    """
    changes: list[Change] = []
    table, header = _open(dialect, source, rule_options, changes)
    by_item: dict[str, list[Row]] = {}
    rows = _read_rows(table, header, changes)
    if expected is not None:
        rows = _spelled_like(rows, expected, changes, suffix_optional=suffix_optional)
    for row in rows:
        by_item.setdefault(row.item, []).append(row)
    if expected is not None:
        _refuse_foreign(by_item, expected, str(source))
        _fit_to_ids(by_item, expected, changes)

    def note(row: Row, what: str, before: str, after: str) -> None:
        changes.append(Change(row.line, row.item, what, shorten(before), shorten(after)))

    repaired: list[dict[str, str]] = []
    for item, own in by_item.items():
        if own:
            cells = dialect.repair(own, rule_options, note)
        else:
            added = dialect.filler(header, rule_options)
            cells = [] if added is None else [added]
            changes.extend(Change(None, item, "added a missing row", "", ",".join(row.values())) for row in cells)
        repaired.extend({**row, header[0]: item} for row in cells)
    write_table(target, {name: pl.Series([row[name] for row in repaired], dtype=pl.String) for name in header})
    changes.sort(key=lambda change: (change.line is None, change.line or 0))
    return changes


def _open(
    dialect: Dialect, source: str | Path, rule_options: RuleOptions, changes: list[Change]
) -> tuple[Table, list[str]]:
    """The readable rows of a submission, and the official header. Unreadable rows and further columns are dropped."""
    problems = Problems()
    table = read_table(source, problems)
    if table is None or any(problem.kind not in ROW_PROBLEMS for problem in problems):
        raise BadInput(problems)
    if (mark := separator_of(table.header)) is not None and (read := with_commas(source, mark, changes)) is not None:
        table, problems = read, Problems()
    table, tagged = without_break_tags(table)
    if tagged:
        changes.append(Change(1, "", "removed tags like </br> at the ends of lines", plural(tagged, "line"), ""))
    header = dialect.columns(table.header, rule_options)
    if header is None:
        found = clip(",".join(table.header))
        remedy = "name the columns as the challenge does; repair does not guess them"
        raise BadInput(Problem("bad_header", table.file, found, "the official columns", remedy, line=1))
    shown = [Change(problem.line, "", "dropped an unreadable row", problem.found, "") for problem in problems]
    changes.extend(shown)
    if more := problems.total - len(shown):
        changes.append(Change(None, "", f"dropped {more} more unreadable rows", "", ""))
    surplus = [name for name in table.header if name not in header]
    if surplus:
        changes.append(Change(1, "", "dropped columns", ",".join(surplus), ""))
    return table, header


def _read_rows(table: Table, header: list[str], changes: list[Change]) -> list[Row]:
    """The rows with an id, with all their columns; unusual whitespace becomes plain spaces."""
    rows = []
    for line, texts in zip(table.line.tolist(), table.cells.iter_rows(named=True), strict=True):
        cells = {name: text.strip(BLANKS) for name, text in texts.items()}
        item = cells[header[0]]
        if not item:
            changes.append(Change(line, "", "dropped a row without an id", shorten(",".join(cells.values())), ""))
            continue
        for name in header[1:]:
            plain = _UNUSUAL_SPACE.sub(" ", cells[name])
            if plain != cells[name]:
                what = "replaced unusual whitespace by spaces"
                changes.append(Change(line, item, what, clip(cells[name]), shorten(plain.strip())))
                cells[name] = plain.strip()
        rows.append(Row(line, item, cells))
    return rows


def _spelled_like(
    rows: list[Row], expected: Sequence[str], changes: list[Change], *, suffix_optional: bool
) -> list[Row]:
    """The rows with their ids as they are expected, where there is no doubt which of them each means."""
    items, known = Items.of(list(dict.fromkeys(row.item for row in rows))), Items.of(list(expected))
    spelled = items.spelled_like(known) if suffix_optional else items
    spelling = dict(zip(items.ids, spelled.ids, strict=True)) | items.meant_as(known)
    for row in rows:
        if spelling[row.item] != row.item:
            changes.append(Change(row.line, row.item, "changed the spelling of the id", row.item, spelling[row.item]))
    return [row._replace(item=spelling[row.item]) for row in rows]


def _refuse_foreign(by_item: dict[str, list[Row]], expected: Sequence[str], source: str) -> None:
    """Refuse a submission of another set: nothing of it would be left."""
    if by_item and by_item.keys().isdisjoint(expected):
        found, wanted = f"ids as {clip(next(iter(by_item)))}", f"ids as {clip(next(iter(expected), ''))}"
        remedy = "give --against of the same set, or write the ids as it has them"
        raise BadInput(Problem("no_common_id", source, found, wanted, remedy))


def _fit_to_ids(by_item: dict[str, list[Row]], expected: Sequence[str], changes: list[Change]) -> None:
    """Drop the rows of ids that are not expected, and add the missing ids without rows, in place."""
    known = set(expected)
    for item in [item for item in by_item if item not in known]:
        for row in by_item.pop(item):
            before = shorten(",".join(row.cells.values()))
            changes.append(Change(row.line, item, "dropped a row of an unknown id", before, ""))
    for item in expected:
        by_item.setdefault(item, [])
