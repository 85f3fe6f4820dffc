"""Cells with many values are split at blanks, read as numbers, and counted row by row."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallymark.io import tokens
from tallymark.io.tokens import (
    NOT_AN_INTEGER,
    read_integer_cells,
    read_integer_columns,
    read_numbers,
    read_records,
    split_cell,
)


def cells(*texts: str) -> pl.Series:
    return pl.Series(texts, dtype=pl.String)


def test_numbers_of_all_rows_follow_each_other() -> None:
    read = read_numbers(cells("0.5 10 -1e3", "", "7"))
    assert read.values.tolist() == [0.5, 10, -1000, 7]
    assert read.values.dtype == np.float64
    assert read.counts.tolist() == [3, 0, 1]
    assert len(read.words) == 0


@pytest.mark.parametrize("texts", [(), ("",), ("", "", "")])
def test_no_tokens(texts: tuple[str, ...]) -> None:
    for read in (read_numbers(cells(*texts)), read_numbers(cells(*texts), pl.Int64), read_records(cells(*texts), 3)):
        assert read.values.tolist() == []
        assert read.counts.tolist() == [0] * len(texts)
        assert read.words.to_list() == []


@pytest.mark.parametrize("text", ["1  2   3", "1\t2\t3", "1 2\f3", "1\v2 \t 3"])
def test_any_run_of_blanks_separates(text: str) -> None:
    read = read_numbers(cells("4 5", text))
    assert read.values.tolist() == [4, 5, 1, 2, 3]
    assert read.counts.tolist() == [2, 3]


@pytest.mark.parametrize("token", ["x", "1,5", "--2", "0x10", "1_000", "½"])
def test_a_token_that_is_no_number_is_nan(token: str) -> None:
    read = read_numbers(cells(f"1 {token} 3"))
    assert read.counts.tolist() == [3]
    assert math.isnan(read.values[1])
    assert read.values[[0, 2]].tolist() == [1, 3]


def test_integers_are_exact() -> None:
    read = read_numbers(cells("9007199254740993 0 -5"), pl.Int64)
    assert read.values.dtype == np.int64
    assert read.values.tolist() == [2**53 + 1, 0, -5]


@pytest.mark.parametrize("token", ["1.5", "1e3", "x", "99999999999999999999"])
def test_a_token_that_is_no_integer_is_marked(token: str) -> None:
    read = read_numbers(cells(f"1 {token} 3"), pl.Int64)
    assert read.values.tolist() == [1, NOT_AN_INTEGER, 3]


def test_another_separator() -> None:
    read = read_numbers(cells("1.5, 2, 3", "4, 5, 6"), separator=", ")
    assert read.values.tolist() == [1.5, 2, 3, 4, 5, 6]
    assert read.counts.tolist() == [3, 3]


def test_records_end_with_a_word() -> None:
    read = read_records(cells("0.5 1 car 0.25 2 bus", "", "0.75 3 car"), 3)
    assert read.words.to_list() == ["car", "bus", "car"]
    assert read.counts.tolist() == [6, 0, 3]
    numbers = read.values.reshape(-1, 3)
    assert numbers[:, :2].tolist() == [[0.5, 1], [0.25, 2], [0.75, 3]]
    assert np.isnan(numbers[:, 2]).all()


def test_words_that_look_like_numbers_stay_words() -> None:
    assert read_records(cells("1 2 007 3 4 nan"), 3).words.to_list() == ["007", "nan"]


def test_a_row_with_an_incomplete_record_has_no_words() -> None:
    read = read_records(cells("1 2 car", "1 2", "3 4 bus 5"), 3)
    assert read.counts.tolist() == [3, 2, 4]
    assert read.words.to_list() == ["car"]


def test_records_separated_by_several_blanks() -> None:
    read = read_records(cells("1  2 car", "3\t4 bus"), 3)
    assert read.words.to_list() == ["car", "bus"]
    assert read.counts.tolist() == [3, 3]


@given(st.lists(st.lists(st.integers(-(10**9), 10**9), max_size=5), max_size=20), st.integers(1, 40))
def test_how_the_text_is_cut_into_chunks_does_not_matter(rows: list[list[int]], size: int) -> None:
    column = cells(*(" ".join(map(str, row)) for row in rows))
    whole = read_numbers(column, pl.Int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "CHUNK_BYTES", size)
        parts = read_numbers(column, pl.Int64)
    for read in (whole, parts):
        assert read.values.tolist() == [value for row in rows for value in row]
        assert read.counts.tolist() == [len(row) for row in rows]


def test_records_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "CHUNK_BYTES", 8)
    read = read_records(cells("1 2 car", "3 4 bus 5 6 van", "", "7 8"), 3)
    assert read.words.to_list() == ["car", "bus", "van"]
    assert read.counts.tolist() == [3, 6, 0, 2]


@pytest.mark.parametrize(
    ("cell", "parts"),
    [
        ("", []),
        (" \t ", []),
        ("1 2\t3", ["1", "2", "3"]),
        ("  a  b ", ["a", "b"]),
        ("1\N{NO-BREAK SPACE}2", ["1\N{NO-BREAK SPACE}2"]),
        ("1\N{EM SPACE}2 3", ["1\N{EM SPACE}2", "3"]),
    ],
)
def test_a_message_splits_a_cell_as_reading_does(cell: str, parts: list[str]) -> None:
    assert split_cell(cell) == parts
    if cell.strip():
        assert read_numbers(cells(cell.strip(" \t"))).counts.tolist() == [len(parts)]


def test_integers_of_columns_are_small_until_one_is_not() -> None:
    values, given = read_integer_columns([cells("1", "2", ""), cells("3", "4", "5")])
    assert (values.dtype, values[:2].tolist(), given.tolist()) == (np.int64, [[1, 3], [2, 4]], [2, 2, 1])
    assert values[2].tolist() == [NOT_AN_INTEGER, 5]
    values, _ = read_integer_columns([cells("1", "2"), cells("3", "4")])
    assert (values.dtype, values.tolist()) == (np.int32, [[1, 3], [2, 4]])
    values, _ = read_integer_columns([cells("1", "2"), cells("3", "3000000000"), cells("-5", "1.0")])
    assert values.tolist() == [[1, 3, -5], [2, 3_000_000_000, NOT_AN_INTEGER]]


def test_integers_of_cells_need_their_number() -> None:
    values, given = read_integer_cells(cells("1 2", "3", "4 x", "5 6 7"), 2)
    assert given.tolist() == [2, 1, 2, 3]
    none = NOT_AN_INTEGER
    assert values.tolist() == [[1, 2], [none, none], [4, none], [none, none]]
