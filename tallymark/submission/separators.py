"""Tables of spreadsheets in which semicolons or tabs separate the fields, and perhaps commas the decimals."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import polars as pl

from tallymark.core.problems import Problems, clip, shorten
from tallymark.io.tables import BLANKS, Table
from tallymark.io.texts import read_lines
from tallymark.submission.dialect import Change

SEPARATORS = {";": "semicolons, as spreadsheets do in some countries", "\t": "tabs"}
"""Separators that some files have instead of commas."""
DECIMAL = re.compile(r"(?<!\S)([+-]?\d+),(\d+(?:[eE][+-]?\d+)?)(?!\S)")
"""A number with a decimal comma, by itself or between blanks."""


def separator_of(header: list[str]) -> str | None:
    """What separates the fields of a table, by its header as it is read with commas; None if that are commas."""
    return next((mark for mark in SEPARATORS if len(header) == 1 and mark in header[0]), None)


def with_commas(source: str | Path, mark: str, changes: list[Change]) -> Table | None:
    """The table as it would be with commas and decimal points; None if it cannot be read.

    Rows with more or fewer fields than the header are dropped.
    """
    lines = read_lines(Path(source), Problems())
    if not lines:
        return None
    split = [(line, next(csv.reader([text], delimiter=mark))) for line, text in lines]
    header = [name.strip(BLANKS) for name in split[0][1]]
    if len(set(header)) < len(header):
        return None
    changes.append(Change(1, "", f"replaced {SEPARATORS[mark].partition(',')[0]} between fields by commas", "", ""))
    rows = []
    numbers = []
    for line, fields in split[1:]:
        if len(fields) != len(header):
            changes.append(Change(line, "", "dropped an unreadable row", clip(mark.join(fields)), ""))
            continue
        points = [fields[0], *(DECIMAL.sub(r"\1.\2", cell) for cell in fields[1:])]
        if points != fields:
            before, after = (shorten(mark.join(cells[1:])) for cells in (fields, points))
            changes.append(Change(line, fields[0].strip(BLANKS), "replaced decimal commas by points", before, after))
        rows.append(points)
        numbers.append(line)
    cells = pl.DataFrame(rows, schema=dict.fromkeys(header, pl.String), orient="row")
    return Table(str(source), cells, np.array(numbers, np.int64))
