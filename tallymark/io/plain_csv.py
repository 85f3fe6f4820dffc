"""CSV without anything odd, as polars parses it: whole, or block by block where a file is large."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import BinaryIO

import numpy as np
import polars as pl

BLOCK = 1 << 22
"""Bytes of a large file that are read and parsed at once."""


def is_plain(text: bytes) -> bool:
    """Whether text is of lines in ASCII that end as in Unix."""
    return text.isascii() and b"\r" not in text and b"\0" not in text


def has_blanks(text: bytes) -> bool:
    """Whether text has whitespace other than the ends of its lines."""
    return any(blank in text for blank in (b" ", b"\t", b"\f", b"\v"))


def parse_blocks(file: BinaryIO, header: list[str], integers: Sequence[str]) -> tuple[pl.DataFrame, bool] | None:
    """The lines of a file from here on, read in blocks of lines, and whether they have blanks.

    Neither the file nor what polars needs to parse it is in memory as a whole. None unless all lines are plain and
    well formed, and the same columns are integers in all blocks.
    """
    parts: list[pl.DataFrame] = []
    blanks = False
    whole = integers if set(integers) <= set(header) else ()
    while block := file.read(BLOCK) + file.readline():
        if not is_plain(block):
            return None
        part = parse_integers(block, 0, header, whole) if whole else parse_clean(block, 0, header)
        if part is None:
            return None
        parts.append(part)
        blanks = blanks or has_blanks(block)
    return (pl.concat(parts), blanks) if parts else None


def parse_clean(data: bytes, start: int, header: list[str]) -> pl.DataFrame | None:
    """The fast path for a well-formed body: polars parses it, and the lengths of the cells prove each row complete.

    None if the body may be malformed; it is then parsed line by line.
    """
    if start == len(data):
        return pl.DataFrame(schema=dict.fromkeys(header, pl.String))
    quotes = _positions(data, start, '"')
    if b"\r" in data or not _enclose_fields(quotes, data):
        return None
    cells = _parse(data, start, dict.fromkeys(header, pl.String), quote='"' if len(quotes) else None)
    if cells is None:
        return None
    if len(header) == 1 and (cells[header[0]].str.strip_chars() == "").any():
        return None  # blank lines, which are no rows
    ends = _positions(data, start, "\n")
    if not data.endswith(b"\n"):
        ends = np.append(ends, len(data))
    if cells.shape != (len(ends), len(header)):
        return None
    # Polars pads rows that are too short and truncates some that are too long. In both cases the lengths of the
    # cells, separators and quotes of the row do not add up to that of its line.
    rest = np.diff(ends, prepend=ends.dtype.type(start - 1))
    rest -= len(header)
    if len(quotes):
        rest -= np.diff(np.searchsorted(quotes, ends), prepend=0).astype(rest.dtype)
    rest -= cells.select(pl.sum_horizontal(pl.all().str.len_bytes())).to_series().to_numpy().astype(rest.dtype)
    return None if rest.any() else cells


def parse_integers(data: bytes, start: int, header: list[str], integers: Sequence[str]) -> pl.DataFrame | None:
    """The fastest path: these columns as integers. None unless the cells of all are integers in their shortest form.

    Whatever polars accepts as a number is at least as long as the shortest text of that number. So if the lengths of
    these texts, of the other cells and of the separators add up to that of the body, each cell is such a text.
    """
    if not integers or not set(integers) <= set(header) or start == len(data):
        return None
    if data.find(b'"', start) >= 0 or b"\r" in data:
        return None
    cells = _parse(data, start, {name: pl.Int32 if name in integers else pl.String for name in header}, quote=None)
    rows = data.count(b"\n", start) + (not data.endswith(b"\n"))
    if cells is None or cells.shape != (rows, len(header)):
        return None
    length = rows * len(header) - (not data.endswith(b"\n"))
    for name in header:
        column = cells[name]
        if column.has_nulls() or (name in integers and (column < 0).any()):
            return None
        length += _digits(column) if name in integers else int(column.str.len_bytes().to_numpy().sum(dtype=np.int64))
    return cells if length == len(data) - start else None


def _parse(data: bytes, start: int, schema: Mapping[str, type[pl.DataType]], quote: str | None) -> pl.DataFrame | None:
    """The lines from `start` on, which may be below a header, as polars reads them; None if it cannot."""
    try:
        return pl.read_csv(
            data,
            has_header=False,
            skip_lines=int(start > 0),
            schema=schema,
            empty_string_is_null=False,
            quote_char=quote,
            truncate_ragged_lines=False,
        )
    except pl.exceptions.PolarsError:
        return None


def _digits(integers: pl.Series) -> int:
    """How many digits 32-bit integers from 0 on have, in all."""
    return len(integers) + sum(int((integers >= 10**power).sum()) for power in range(1, 10))


def _positions(data: bytes, start: int, character: str) -> np.ndarray:
    """The positions of a character from `start` on. In blocks, since the comparison needs a byte per byte."""
    if data.find(character.encode(), start) < 0:
        return np.empty(0, np.int64)
    text = np.frombuffer(data, np.uint8)
    dtype = np.int32 if len(text) < 1 << 31 else np.int64
    found = (at + np.flatnonzero(text[at : at + BLOCK] == ord(character)) for at in range(start, len(text), BLOCK))
    return np.concatenate([positions.astype(dtype) for positions in found])


def _enclose_fields(quotes: np.ndarray, data: bytes) -> bool:
    """Whether every quote is at the start or the end of a field."""
    text = np.frombuffer(data, np.uint8)
    opening, closing = quotes[::2], quotes[1::2]
    edges = np.concatenate([text[opening - 1], text[closing[closing < len(text) - 1] + 1]])
    return len(opening) == len(closing) and bool(((edges == ord(",")) | (edges == ord("\n"))).all())
