"""Read and write CSV: cells as text, or columns of integers, with the physical line of each row.

Stricter than a data-frame reader: a row with too few or too many fields, an unbalanced quote, a NUL byte or text
that is not UTF-8 is a problem with its line number. One line is one row: no cell spans several lines.
Tolerated, because nothing can be misread: byte-order mark, CRLF, blank lines, whitespace around a cell.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from tallymark.core.humanize import plural
from tallymark.core.outputs import replacing
from tallymark.core.problems import UNREADABLE, Problem, Problems, clip
from tallymark.io.archives import file_status, open_file, packed_table, read_bytes
from tallymark.io.plain_csv import BLOCK, has_blanks, is_plain, parse_blocks, parse_clean, parse_integers
from tallymark.io.regular import NotRegular
from tallymark.io.texts import UNKNOWN, first_line

TextColumns = Mapping[str, pl.Series | Sequence[str]]
"""Columns of text by their names."""
BLANKS = " \t\r\n\f\v"
FOREIGN = {
    b"\xff\xfe": ("UTF-16 text", "save the file as CSV in UTF-8"),
    b"\xfe\xff": ("UTF-16 text", "save the file as CSV in UTF-8"),
    b"\x1f\x8b": ("a gzip archive", "unpack it first"),
    b"PK\x03\x04": ("a zip archive or spreadsheet", "unpack it, or save the sheet as CSV"),
}
"""First bytes of other file types that are submitted by mistake: what they are, and what to do."""


@dataclass(frozen=True, eq=False)
class Table:
    """A CSV file as columns of text; `line[i]` is the physical line of row i.

    cells: text, and 32-bit integers in columns that were asked for as such, if every cell of them is one.
    padded: whether cells may be surrounded by whitespace.
    """

    file: str
    cells: pl.DataFrame
    line: np.ndarray
    padded: bool = True

    def __len__(self) -> int:
        return self.cells.height

    @property
    def header(self) -> list[str]:
        return self.cells.columns

    def text(self, column: str) -> pl.Series:
        """The cells of a column without surrounding whitespace."""
        cells = self.cells[column]
        if self.is_integer(column):
            return cells.cast(pl.String)
        return _strip(cells) if self.padded else cells

    def is_integer(self, column: str) -> bool:
        """Whether a column was read as integers, none of them negative."""
        return self.cells[column].dtype.is_integer()

    def select(self, *columns: str) -> Table:
        """Only these columns, of those that the table has: others need memory."""
        return replace(self, cells=self.cells.select([name for name in columns if name in self.header]))

    def filter(self, rows: np.ndarray) -> Table:
        """The rows where `rows` is true."""
        return replace(self, cells=self.cells.filter(pl.Series(rows)), line=self.line[rows])

    def report(
        self,
        problems: Problems,
        kind: str,
        rows: np.ndarray,
        column: str,
        expected: str,
        remedy: str,
        *,
        ids: pl.Series | None = None,
        found: Callable[[int], str] | None = None,
    ) -> None:
        """Add one problem for each index in `rows`; `found(row)` describes what was found (default: the cell)."""
        problems.add_each(
            kind,
            self.file,
            rows.tolist(),
            lambda row: Problem(
                kind,
                self.file,
                clip(str(self.cells[column][row]).strip(BLANKS)) if found is None else found(row),
                expected,
                remedy,
                line=int(self.line[row]),
                item=None if ids is None else ids[row],
                column=column,
            ),
        )


def read_table(path: str | Path, problems: Problems, integers: Sequence[str] = ()) -> Table | None:
    """Read a CSV file with a header. None, with a problem, if nothing in it can be used.

    integers: columns to read as integers, which need a quarter of the memory, if the file has them all, and every cell
        is the shortest text of one from 0 on. They are text otherwise, as all other columns.
    """
    file = str(path)
    table = _read_in_blocks(path, integers)
    if table is not None:
        return table
    data = _read_bytes(path, problems)
    if data is None:
        return None
    end = data.find(b"\n")
    start = len(data) if end < 0 else end + 1
    header = _header(data[:start].decode("utf-8"), file, problems)
    if header is None:
        return None
    cells = parse_integers(data, start, header, integers)
    if cells is None:
        cells = parse_clean(data, start, header)
    if cells is not None:
        return _clean_table(file, cells, has_blanks(data))
    return _parse_by_line(data[start:].decode("utf-8"), header, file, problems)


def _read_in_blocks(path: str | Path, integers: Sequence[str]) -> Table | None:
    """A large table without the whole file in memory; None if it is small, or anything but plain text.

    It is then read as a whole, to say what is wrong with it.
    """
    try:
        if file_status(path)[0] <= BLOCK:
            return None
        with open_file(path) as file:
            first = file.readline()
            plain = is_plain(first) and not first.startswith((*FOREIGN,))
            header = _header(first.decode("ascii"), str(path), Problems()) if plain else None
            body = None if header is None else parse_blocks(file, header, integers)
    except OSError:
        return None
    return None if body is None else _clean_table(str(path), body[0], body[1] or has_blanks(first))


def _clean_table(file: str, cells: pl.DataFrame, padded: bool) -> Table:
    """A table of which each line below the header is a row."""
    return Table(file, cells, np.arange(2, 2 + cells.height, dtype=np.int32), padded)


def header_of(path: Path) -> list[str] | None:
    """The columns that the first line of a table names; None if there is no such line.

    The file cannot be opened, is empty or no UTF-8 text, or its columns are separated otherwise than by commas.
    """
    first = first_line(path)
    if not first.strip() or UNKNOWN in first or ("," not in first and re.search(r"[;\t ]", first.strip())):
        return None
    return [name.strip().strip('"') for name in first.split(",")]


def write_table(path: str | Path, columns: TextColumns) -> None:
    """Write text columns as CSV: comma, LF, quotes only where needed."""
    write_parts(path, [columns])


def write_parts(path: str | Path, parts: Iterable[TextColumns]) -> None:
    """The same for the rows of several tables, of which only one at a time is in memory as text."""
    _write_frames(path, (_text_frame(columns) for columns in parts))


def write_frame(path: str | Path, table: pl.DataFrame) -> None:
    """Write any table as CSV, whole or not at all."""
    _write_frames(path, [table])


def _text_frame(columns: TextColumns) -> pl.DataFrame:
    table = pl.DataFrame(dict(columns), schema_overrides=dict.fromkeys(columns, pl.String))
    return table.select(pl.all().replace("", None))  # an empty text would get quotes


def _write_frames(path: str | Path, tables: Iterable[pl.DataFrame]) -> None:
    with replacing(path) as unfinished, unfinished.open("wb") as file:
        for number, table in enumerate(tables):
            text = io.BytesIO()  # polars says what went wrong with a file, but not which error of the system it was
            table.write_csv(text, include_header=number == 0)
            file.write(text.getbuffer())


def number_text(values: np.ndarray) -> pl.Series:
    """Numbers as the shortest text that parses to the same number; whole numbers without a decimal point."""
    text = pl.Series(np.ascontiguousarray(values)).cast(pl.String)
    return text.str.strip_suffix(".0") if values.dtype.kind == "f" else text


def _strip(cells: pl.Series) -> pl.Series:
    """Cells without whitespace around them; a large column is copied only if it has any, which few files do."""
    blocks = -(-int(cells.estimated_size()) // BLOCK)
    rows = -(-len(cells) // max(blocks, 1))
    if blocks > 1 and not any(_is_padded(cells[at : at + rows]) for at in range(0, len(cells), rows)):
        return cells
    return cells.str.strip_chars(BLANKS)


def _is_padded(cells: pl.Series) -> bool:
    """Whether any cell begins or ends with whitespace."""
    return bool((cells.str.strip_chars(BLANKS).str.len_bytes() != cells.str.len_bytes()).any())


def _read_bytes(path: str | Path, problems: Problems) -> bytes | None:
    file = str(path)

    def refuse(kind: str, found: str, expected: str, remedy: str, line: int | None = None) -> None:
        problems.add(Problem(kind, file, found, expected, remedy, line=line))

    try:
        data = read_bytes(packed_table(path) or path)
    except OSError as error:
        reason = "a folder" if Path(path).is_dir() else (error.strerror or type(error).__name__).lower()
        remedy = error.remedy if isinstance(error, NotRegular) else "check the path"
        refuse(UNREADABLE, reason, "a CSV file", remedy)
        return None
    for mark, (what, remedy) in FOREIGN.items():
        if data.startswith(mark):
            refuse("encoding", what, "UTF-8 text", remedy, line=1)
            return None
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n") if b"\n" in data else data.replace(b"\r", b"\n")
    if not data or data.isspace():
        refuse("empty_file", "an empty file", "a header and rows", "check that the file is complete")
        return None
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        refuse("nul_byte", "a NUL byte", "text", "write the file again: it is binary or truncated", line=line)
        return None
    if not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            found = f"byte 0x{data[error.start]:02x}"
            refuse("encoding", found, "UTF-8 text", "save the file as CSV in UTF-8", line=line)
            return None
    return data


def _header(line: str, file: str, problems: Problems) -> list[str] | None:
    names = [name.strip(BLANKS) for name in _fields(line.rstrip("\n")) or []]
    repeated = {name for name in names if names.count(name) > 1}
    if not names or repeated:
        found = f"the column {clip(min(repeated))} twice" if repeated else clip(line.strip(BLANKS))
        expected = "a header with one name for each column"
        problems.add(Problem("bad_header", file, found, expected, "correct the first line", line=1))
        return None
    return names


def _parse_by_line(body: str, header: list[str], file: str, problems: Problems) -> Table:
    """The slow path: every line on its own; each malformed one is a problem, the others are kept."""
    rows: list[list[str]] = []
    lines: list[int] = []
    separated_otherwise = len(header) == 1 and re.search("[;\t]", header[0]) is not None
    for line, text in enumerate("" if separated_otherwise else body.split("\n"), start=2):
        if not text.strip(BLANKS):
            continue
        fields = _fields(text)
        if fields is None:
            remedy = "put quotes around whole fields and close them on the same line"
            problems.add(Problem("bad_quote", file, clip(text), "fields with paired quotes", remedy, line=line))
        elif len(fields) != len(header):
            expected = f"{plural(len(header), 'field')}: {','.join(header)}"
            found = f"{len(fields)} in {clip(text)}"
            problems.add(Problem("field_count", file, found, expected, "give every row all its fields", line=line))
        else:
            rows.append(fields)
            lines.append(line)
    schema = dict.fromkeys(header, pl.String)
    return Table(file, pl.DataFrame(rows, schema=schema, orient="row"), np.array(lines, np.int64))


_FIELD = re.compile(r'[ \t]*"([^"]*(?:""[^"]*)*)"[ \t\r]*(,|$)|([^",]*)(,|$)')


def _fields(line: str) -> list[str] | None:
    """The fields of one line; None if a quote does not enclose a whole field."""
    if '"' not in line:
        return line.split(",")
    fields = []
    at = 0
    separator = ","
    while separator:
        match = _FIELD.match(line, at)
        if match is None:
            return None
        quoted, quoted_end, plain, plain_end = match.groups()
        fields.append(plain if quoted is None else quoted.replace('""', '"'))
        separator = plain_end if quoted is None else quoted_end
        at = match.end()
    return fields
