"""Cells that hold many values in one string, such as `0.5 10 10 30 30 0.3 0 0 50 50`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from tallymark.io.tables import BLANKS

CHUNK_BYTES = 1 << 21
"""Bytes that are split at once: the tokens of a whole file would need several times its size in memory."""

NOT_AN_INTEGER = np.iinfo(np.int64).min
SMALL = 1 << 30
"""Integers below it are kept in 32 bits."""
NO_WORDS = pl.Series(dtype=pl.String)


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tokens of a column, concatenated; row r has `counts[r]` of them.

    values: the tokens as numbers; nan (or `NOT_AN_INTEGER`) where a token is not a number of the requested type.
        Integers are in 32 bits if all are small and none is negative.
    words: the last token of each record, e.g. class names.
    """

    values: np.ndarray
    counts: np.ndarray
    words: pl.Series


def read_numbers(
    cells: pl.Series, kind: type[pl.Float64] | type[pl.Int64] = pl.Float64, separator: str = " ", brackets: str = ""
) -> Tokens:
    """Split stripped cells at whitespace, or another separator, and parse every token as a number.

    brackets: the two characters that may enclose a cell, and do not belong to its tokens.
    """
    return _read(cells, kind, 0, separator, brackets)


def read_records(cells: pl.Series, width: int) -> Tokens:
    """Split cells at whitespace into records of `width` tokens: numbers, and one word at the end of each.

    The words of rows whose count is not a multiple of `width` are dropped; the caller reports these rows.
    """
    return _read(cells, pl.Float64, width)


def read_integer_columns(cells: list[pl.Series]) -> tuple[np.ndarray, np.ndarray]:
    """(n, k) integers from k columns, and how many cells of each row are not empty.

    `NOT_AN_INTEGER` where a cell is none. In 32 bits if all are small and none is negative.
    """
    values = np.empty((len(cells[0]), len(cells)), np.int32)
    given = np.zeros(len(values), np.int32)
    for at, cell in enumerate(cells):
        given += (cell != "").to_numpy()
        column = cell.cast(pl.Int64, strict=False).fill_null(NOT_AN_INTEGER).to_numpy()
        if column.min(initial=0) < 0 or column.max(initial=0) >= SMALL:
            values = values.astype(np.int64, copy=False)
        values[:, at] = column
    return values, given


def read_integer_cells(cells: pl.Series, count: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, count) integers from cells that hold as many each, and how many each holds.

    `NOT_AN_INTEGER` where a token is none, and in the rows that hold fewer or more.
    """
    if count == 1:  # a cell is an integer, unless it holds fewer or more, which only a reader of tokens can separate
        values, given = read_integer_columns([cells])
        if values.min(initial=0) >= 0:
            return values, given
    tokens = read_numbers(cells, pl.Int64)
    complete = tokens.counts == count
    values = np.full((len(cells), count), NOT_AN_INTEGER)
    values[complete] = tokens.values[np.repeat(complete, tokens.counts)].reshape(-1, count)
    return values, tokens.counts


def split_cell(cell: str) -> list[str]:
    """The tokens of one cell, for a message: split at the same characters, of which `str.split` has many more."""
    return _TOKEN.findall(cell)


_TOKEN = re.compile(f"[^{BLANKS}]+")


def _read(
    cells: pl.Series, kind: type[pl.Float64] | type[pl.Int64], width: int, separator: str = " ", brackets: str = ""
) -> Tokens:
    chunks = _chunks(cells)
    if brackets:
        chunks = (chunk.str.strip_prefix(brackets[0]).str.strip_suffix(brackets[1]) for chunk in chunks)
    parts = [_read_chunk(chunk, kind, width, separator) for chunk in chunks]
    counts = np.concatenate([counts for _, counts, _ in parts] or [np.empty(0, np.int64)])
    words = pl.concat([words for _, _, words in parts] or [NO_WORDS])
    dtype = np.float64 if kind is pl.Float64 else np.result_type(np.int32, *(part.dtype for part, _, _ in parts))
    values = np.empty(sum(len(part) for part, _, _ in parts), dtype)
    end = len(values)
    while parts:  # from the end, so that each part is freed as it is copied
        part = parts.pop()[0]
        values[end - len(part) : end] = part
        end -= len(part)
    return Tokens(values, counts, words)


def _chunks(cells: pl.Series) -> Iterator[pl.Series]:
    ends = np.cumsum(cells.str.len_bytes().to_numpy())
    row = 0
    while row < len(cells):
        done = int(ends[row - 1]) if row else 0
        last = max(row + 1, int(np.searchsorted(ends, done + CHUNK_BYTES, "right")))
        yield cells[row:last]
        row = last


def _read_chunk(
    cells: pl.Series, kind: type[pl.Float64] | type[pl.Int64], width: int, separator: str
) -> tuple[np.ndarray, np.ndarray, pl.Series]:
    filled = cells.str.len_bytes().to_numpy() > 0
    texts = cells if filled.all() else cells.filter(pl.Series(filled))
    lists, numbers = _split(texts, separator, kind)
    words = len(numbers) // width if width else 0
    if numbers.null_count() > words:  # perhaps whitespace other than single spaces
        lists, numbers = _split(texts.str.replace_all(f"[{BLANKS}]+", " "), separator, kind)
    counts = np.zeros(len(cells), np.int64)
    counts[filled] = lists.list.len().to_numpy()
    if kind is pl.Int64:
        return _compact(numbers.fill_null(NOT_AN_INTEGER).to_numpy()), counts, NO_WORDS
    values = numbers.fill_null(np.nan).to_numpy()
    if not width:
        return values, counts, NO_WORDS
    tokens = lists.explode()
    if (counts % width).any():
        tokens = tokens.filter(pl.Series(np.repeat(counts % width == 0, counts)))
    return values, counts, tokens.gather_every(width, width - 1)


def _compact(integers: np.ndarray) -> np.ndarray:
    """The same integers in 32 bits if they are small and not negative, so that no sum of two leaves the range."""
    if len(integers) and integers.min() >= 0 and integers.max() < SMALL:
        return integers.astype(np.int32)
    return integers


def _split(texts: pl.Series, separator: str, kind: type[pl.Float64] | type[pl.Int64]) -> tuple[pl.Series, pl.Series]:
    """The tokens of each text, and all of them as numbers (null where a token is not a number)."""
    lists = texts.str.split(separator)
    return lists, lists.explode().cast(kind, strict=False)
