"""Reading CSV: strict about structure, exact about lines, and the same by the fast and the slow path."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallymark.core.problems import Problems
from tallymark.io import plain_csv, tables
from tallymark.io.tables import number_text, read_table, write_table


def read(tmp_path: Path, data: bytes) -> tuple[tables.Table | None, Problems]:
    path = tmp_path / "file.csv"
    path.write_bytes(data)
    problems = Problems()
    return read_table(path, problems), problems


def kinds(problems: Problems) -> list[tuple[str, int | None]]:
    return [(problem.kind, problem.line) for problem in problems]


@pytest.mark.parametrize(
    ("data", "rows", "lines"),
    [
        (b"a,b\n1,2\n3,4\n", [("1", "2"), ("3", "4")], [2, 3]),
        (b"a,b\n1,2\n3,4", [("1", "2"), ("3", "4")], [2, 3]),
        (b"\xef\xbb\xbfa,b\r\n1,2\r\n", [("1", "2")], [2]),
        (b"a,b\n\n1,2\n   \n3,4\n\n", [("1", "2"), ("3", "4")], [3, 5]),
        (b'a,b\n1,"x, y"\n2,"p ""q"""\n', [("1", "x, y"), ("2", 'p "q"')], [2, 3]),
        (b'"a","b"\n"1",""\n', [("1", "")], [2]),
        (b"a,b\n,\n1,\n", [("", ""), ("1", "")], [2, 3]),
        (b" a , b\n 1 , 2\n", [(" 1 ", " 2")], [2]),
        ("a,b\né,ü\n".encode(), [("é", "ü")], [2]),
        (b"a,b\n", [], []),
        (b"a,b", [], []),
    ],
)
def test_rows_are_read_with_their_lines(
    tmp_path: Path, data: bytes, rows: list[tuple[str, str]], lines: list[int]
) -> None:
    table, problems = read(tmp_path, data)
    assert not problems
    assert table is not None
    assert table.header == ["a", "b"]
    assert table.cells.rows() == rows
    assert table.line.tolist() == lines


@pytest.mark.parametrize("data", [b"a\n1\n\n2\n", b"a\n1\n \t\n2", b'"a"\r\n"1"\r\n\r\n"2"\r\n'])
def test_blank_lines_are_no_rows_of_a_table_of_one_column(tmp_path: Path, data: bytes) -> None:
    table, problems = read(tmp_path, data)
    assert not problems
    assert table is not None
    assert table.cells["a"].to_list() == ["1", "2"]
    assert table.line.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", [("empty_file", None)]),
        (b" \n \n", [("empty_file", None)]),
        (b"a,b\n1\n2,3\n4,5,6\n", [("field_count", 2), ("field_count", 4)]),
        (b"a,b\n1,2\n\n3\n", [("field_count", 4)]),
        (b'a,b\n1,"2\n3,4\n', [("bad_quote", 2)]),
        (b'a,b\n1,2"3\n"4"5,6\n', [("bad_quote", 2), ("bad_quote", 3)]),
        (b'a,b\n"1\n2",3\n', [("bad_quote", 2), ("bad_quote", 3)]),
        (b"a,b\n1,2\n3,\x004\n", [("nul_byte", 3)]),
        (b"a,b\n1,2\n\xff,4\n", [("encoding", 3)]),
        ("a,b\n1,2\n".encode("utf-16"), [("encoding", 1)]),
        (b"a,a\n1,2\n", [("bad_header", 1)]),
        (b'"a,b\n1,2\n', [("bad_header", 1)]),
    ],
)
def test_refuses_with_the_line(tmp_path: Path, data: bytes, expected: list[tuple[str, int | None]]) -> None:
    _, problems = read(tmp_path, data)
    assert kinds(problems) == expected


def test_good_rows_survive_bad_ones(tmp_path: Path) -> None:
    table, problems = read(tmp_path, b"a,b\n1,2\nbad\n3,4\n")
    assert table is not None
    assert table.cells.rows() == [("1", "2"), ("3", "4")]
    assert table.line.tolist() == [2, 4]
    assert kinds(problems) == [("field_count", 3)]


@pytest.mark.parametrize("name", ["missing.csv", "."])
def test_a_missing_file_or_folder_is_a_problem(tmp_path: Path, name: str) -> None:
    problems = Problems()
    assert read_table(tmp_path / name, problems) is None
    assert kinds(problems) == [("unreadable", None)]


def test_problems_are_counted_past_the_limit(tmp_path: Path) -> None:
    _, problems = read(tmp_path, b"a,b\n" + b"x\n" * 1000)
    assert problems.total == 1000
    assert len(list(problems)) == 100


fragments = st.sampled_from(
    [b"1", b"a b", b",", b"\n", b'"', b'""', b"\r\n", b" ", b"\t", b"\r", "é".encode(), b"x,y\n"]
)


@settings(max_examples=400)
@given(st.lists(fragments, max_size=30).map(b"".join))
def test_the_quick_way_equals_the_careful_way(body: bytes) -> None:
    """Where the quick way answers at all, it must answer as the line-by-line way, which is easy to trust."""
    data = b"a,b\n" + body
    quick = plain_csv.parse_clean(data, 4, ["a", "b"])
    if quick is None:
        return
    problems = Problems()
    careful = tables._parse_by_line(data[4:].decode(), ["a", "b"], "file", problems)
    assert not problems
    assert quick.rows() == careful.cells.rows()
    assert careful.line.tolist() == list(range(2, 2 + quick.height))


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), max_size=8)


@given(st.lists(st.tuples(cells, cells), max_size=6))
def test_write_then_read_is_the_identity(rows: list[tuple[str, str]]) -> None:
    import tempfile

    rows = [row for row in rows if "".join(row).strip()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.csv"
        write_table(path, {"a": [first for first, _ in rows], "b": [second for _, second in rows]})
        problems = Problems()
        table = read_table(path, problems)
    assert not problems
    assert table is not None
    assert table.cells.rows() == rows


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_number_text_reads_back_as_the_same_number(values: list[float]) -> None:
    text = number_text(np.array(values))
    assert text.cast(pl.Float64).to_list() == values
    assert [float(word) for word in text] == values


def test_whole_numbers_have_no_point() -> None:
    assert number_text(np.array([3.0, 2.5, -1.0])).to_list() == ["3", "2.5", "-1"]


def both_ways(tmp_path: Path, data: bytes) -> tuple[tables.Table, tables.Table]:
    """A table with its column b as integers, where it can be, and as text."""
    path = tmp_path / "file.csv"
    path.write_bytes(data)
    problems = Problems()
    integers, texts = read_table(path, problems, ["b"]), read_table(path, problems)
    assert integers is not None
    assert texts is not None
    return integers, texts


@pytest.mark.parametrize("body", [b"x,7\n", b"x,0\ny,10", b"x,2147483647\n", b" x ,99\n,100\n", "é,1\n".encode()])
def test_integers_have_the_text_of_the_file(tmp_path: Path, body: bytes) -> None:
    integers, texts = both_ways(tmp_path, b"a,b\n" + body)
    assert integers.is_integer("b")
    assert not texts.is_integer("b")
    for column in ("a", "b"):
        assert integers.text(column).to_list() == texts.text(column).to_list()
    assert integers.line.tolist() == texts.line.tolist()


NO_INTEGERS = ["007", "+7", "-7", "-0", " 7", "7 ", "\t7", "7.0", "7e0", "0x7", "", "2147483648", "9" * 20, '"7"', "x"]


@pytest.mark.parametrize("cell", [*NO_INTEGERS, "7\n", "7\n \nz,8", "7\r\nz,8"])
def test_a_column_is_text_unless_every_cell_is_the_shortest_text_of_an_integer(tmp_path: Path, cell: str) -> None:
    integers, texts = both_ways(tmp_path, f"a,b\nx,1\ny,{cell}\n".encode())
    if "\r" not in cell:  # a line end of Windows is one
        assert not integers.is_integer("b")
        assert integers.cells.equals(texts.cells)
    assert integers.text("b").to_list() == texts.text("b").to_list()
    assert integers.line.tolist() == texts.line.tolist()


@pytest.mark.parametrize("body", [b"x\ny,1\n", b"x,1,2\ny,3\n", b"x,1\ny,22,\nz\n", b"x,1\n,\n"])
def test_rows_of_other_lengths_are_not_read_as_integers(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "file.csv"
    path.write_bytes(b"a,b\n" + body)
    found, expected = Problems(), Problems()
    integers, texts = read_table(path, found, ["b"]), read_table(path, expected)
    assert [*found] == [*expected]
    assert integers is not None
    assert texts is not None
    assert integers.cells.equals(texts.cells)


number_fragments = st.sampled_from([b"1", b"0", b"12", b",", b",", b"\n", b"\n", b" ", b"-", b"+", b".", b"x", b'"'])


@settings(max_examples=400)
@given(st.lists(number_fragments, max_size=20).map(b"".join))
def test_integers_are_read_as_the_careful_way_reads_them(body: bytes) -> None:
    quick = plain_csv.parse_integers(b"a,b\n" + body, 4, ["a", "b"], ["b"])
    if quick is None:
        return
    problems = Problems()
    careful = tables._parse_by_line(body.decode(), ["a", "b"], "file", problems)
    assert not problems
    assert quick.cast(pl.String).rows() == careful.cells.rows()
    assert careful.line.tolist() == list(range(2, 2 + quick.height))


mixed_fragments = st.sampled_from(
    [b"1", b"12", b"x y", b",", b",", b"\n", b"\n", b"\n", b'"', b"-", b"\r\n", "é".encode()]
)


@settings(max_examples=400)
@given(st.lists(mixed_fragments, max_size=30).map(b"".join), st.sampled_from([(), ("b",)]), st.integers(1, 12))
def test_blocks_are_read_as_the_whole_file(body: bytes, integers: tuple[str, ...], block: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "file.csv"
        path.write_bytes(b"a,b\n" + body)
        expected, found = Problems(), Problems()
        whole = read_table(path, expected, integers)
        patch.setattr(tables, "BLOCK", 0)
        patch.setattr(plain_csv, "BLOCK", block)
        blocks = read_table(path, found, integers)
    assert [*found] == [*expected]
    assert (blocks is None) == (whole is None)
    if blocks is not None and whole is not None:
        assert blocks.cells.equals(whole.cells)
        assert blocks.cells.schema == whole.cells.schema
        assert blocks.line.tolist() == whole.line.tolist()
        assert blocks.padded == whole.padded


def test_a_large_plain_table_is_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.csv"
    path.write_text('a,b\nx y,1\n"z",2\n\'w,3')
    monkeypatch.setattr(tables, "BLOCK", 4)
    monkeypatch.setattr(plain_csv, "BLOCK", 4)
    monkeypatch.setattr(tables, "read_bytes", lambda path: pytest.fail("the whole file was read"))
    table = read_table(path, Problems())
    assert table is not None
    assert table.cells.rows() == [("x y", "1"), ("z", "2"), ("'w", "3")]
    assert table.line.tolist() == [2, 3, 4]
    assert table.padded
