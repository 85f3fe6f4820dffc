"""The relational JSON tables of nuScenes: read in bounded memory, with every dangling token reported.

Thirteen tables; a row is a flat object with a `token`, by which other tables refer to it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from tallymark.core.parallel import prefetch
from tallymark.core.problems import UNREADABLE, Problem, Problems, clip
from tallymark.io.archives import BadArchive, file_status, is_file, open_file, packed_table
from tallymark.io.folders import open_folder
from tallymark.io.json_text import (
    BadJson,
    RepeatedKey,
    decode_value,
    line_at,
    read_json,
    read_json_text,
    show,
    skip_blanks,
)
from tallymark.io.regular import NotRegular

TEXT, NUMBER, NUMBERS, WORDS = pl.String, pl.Float64, pl.List(pl.Float64), pl.List(pl.String)
Schema = dict[str, pl.DataType | type[pl.DataType]]
COLUMNS: dict[str, Schema] = {
    "attribute": {"name": TEXT},
    "calibrated_sensor": {
        "sensor_token": TEXT,
        "rotation": NUMBERS,
        "translation": NUMBERS,
        "camera_intrinsic": pl.List(NUMBERS),
    },
    "category": {"name": TEXT},
    "ego_pose": {"rotation": NUMBERS, "translation": NUMBERS},
    "instance": {"category_token": TEXT},
    "log": {"date_captured": TEXT, "vehicle": TEXT, "logfile": TEXT},
    "map": {"log_tokens": WORDS, "filename": TEXT},
    "sample": {"scene_token": TEXT, "timestamp": NUMBER},
    "sample_annotation": {
        "sample_token": TEXT,
        "instance_token": TEXT,
        "translation": NUMBERS,
        "size": NUMBERS,
        "rotation": NUMBERS,
        "attribute_tokens": WORDS,
    },
    "sample_data": {
        "sample_token": TEXT,
        "ego_pose_token": TEXT,
        "calibrated_sensor_token": TEXT,
        "filename": TEXT,
        "timestamp": NUMBER,
        "is_key_frame": pl.Boolean,
    },
    "scene": {"log_token": TEXT, "name": TEXT},
    "sensor": {"channel": TEXT, "modality": TEXT},
    "visibility": {"level": TEXT},
}
"""The columns that are read of each table, besides the token."""
OPTIONAL = {"camera_intrinsic", "logfile", "attribute_tokens", "is_key_frame", "level", "log_tokens"}
VECTORS = {"rotation": 4, "translation": 3, "size": 3}
REFERENCES = [
    ("calibrated_sensor", "sensor_token", "sensor"),
    ("instance", "category_token", "category"),
    ("map", "log_tokens", "log"),
    ("sample", "scene_token", "scene"),
    ("sample_annotation", "sample_token", "sample"),
    ("sample_annotation", "instance_token", "instance"),
    ("sample_annotation", "attribute_tokens", "attribute"),
    ("sample_data", "sample_token", "sample"),
    ("sample_data", "ego_pose_token", "ego_pose"),
    ("sample_data", "calibrated_sensor_token", "calibrated_sensor"),
    ("scene", "log_token", "log"),
]
"""Foreign keys: table, column, and the table whose tokens the column holds."""
READERS = 2
"""Tables that are read at once: one of them has most of the rows."""
CHUNK = 1 << 24
BETWEEN = re.compile(rb"\}\s*,\s*\{")
GAP = re.compile(r"[\s,]*")
LIST_START, LIST_END = re.compile(rb"\s*\[\s*[{\]]"), re.compile(rb"[}\[]\s*\]\s*$")
LARGEST, SMALLEST = 1e100, 1e-100
"""Bounds of coordinates and rotations: products of numbers beyond them are infinite, or 0."""
HALF_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F]")
"""An escape that may be half of a character, which polars would replace by another."""
EXPECTED, REMEDY = "a list of objects", "unzip it again; the rows before the error are used"

Tables = dict[str, pl.DataFrame]


def read_tables(folder: Path, problems: Problems, *, annotated: bool) -> Tables:
    """All thirteen tables; one that is missing or unreadable is a problem, and empty in the result."""
    optional = {"attribute", "visibility", "map"} | (set() if annotated else {"sample_annotation", "instance"})
    tables = {}
    read = prefetch(lambda name: _read_table(folder, name, problems.fresh()), COLUMNS, READERS, len(COLUMNS))
    for name, (table, met) in zip(COLUMNS, read, strict=True):
        tables[name] = pl.DataFrame(schema=_schema(name)) if table is None else table
        problems.merge(met)
        if table is None and name not in optional:
            expected, remedy = "the table " + name, "unzip the tables again"
            problems.add(Problem("missing_table", str(folder / f"{name}.json"), "nothing", expected, remedy))
    _report_dangling(folder, tables, problems)
    return tables


def _schema(name: str) -> Schema:
    return {"token": TEXT, **COLUMNS[name]}


def _read_table(folder: Path, name: str, problems: Problems) -> tuple[pl.DataFrame | None, Problems]:
    """The valid rows of a table, None if it is missing, and the problems of the others."""
    path = folder / f"{name}.json"
    if not is_file(path):
        return None, problems
    return _valid_rows(_read(path, _schema(name), problems), path, problems), problems


def _read(path: Path, schema: Schema, problems: Problems) -> pl.DataFrame:
    """The columns of a list of flat objects, parsed in chunks."""
    none = pl.DataFrame(schema=schema)
    try:
        if not _is_list(path):
            return _read_by_row(path, schema, problems)
        return pl.concat([none, *(_read_chunk(chunk, schema) for chunk in _objects(path))])
    except (PolarsError, _Doubtful):
        return _read_by_row(path, schema, problems)
    except OSError as error:
        found = (error.strerror or type(error).__name__).lower()
        problems.add(Problem(UNREADABLE, str(path), found, "a table", "check its permissions"))
        return none


class _Doubtful(Exception):
    """Rows that polars parses to something else than what they say."""


def _read_chunk(chunk: bytes, schema: Schema) -> pl.DataFrame:
    """The columns of lines of one object each. Polars would keep one of two keys, and write a list as a text."""
    if HALF_CHARACTER.search(chunk):
        raise _Doubtful
    table = pl.read_ndjson(chunk, schema=schema)
    repeated = any(chunk.count(f'"{name}"'.encode()) > table.height for name in schema)
    texts = table.select(pl.col(pl.String).str.contains("^[{\\[]").any())
    if repeated or True in texts.rows()[0]:
        raise _Doubtful
    return table


def _is_list(path: Path) -> bool:
    """Whether the text begins and ends as a list: one that was truncated between two rows does not."""
    with open_file(path) as file:
        start = file.read(64)
        file.seek(-min(64, file_status(path)[0]), os.SEEK_END)
        return LIST_START.match(start) is not None and LIST_END.search(file.read()) is not None


def _objects(path: Path) -> Iterator[bytes]:
    """A list of objects as lines of one object each. If a string contains braces, the lines are not valid JSON."""
    rest = b""
    with open_file(path) as file:
        while block := file.read(CHUNK):
            data = rest + block
            end = data.rfind(b"}") + 1
            rest = data[end:]
            if lines := data[:end].strip(b" \t\r\n,["):
                yield BETWEEN.sub(b"}\n{", lines.replace(b"\n", b" ").replace(b"\r", b" "))
    if left := rest.strip(b" \t\r\n,[]"):
        yield left


def _read_by_row(path: Path, schema: Schema, problems: Problems) -> pl.DataFrame:
    """The slow path: every object up to the first syntax error, with null for values of the wrong type."""
    text = read_json_text(path, problems, expected=EXPECTED)
    if text is None:
        return pl.DataFrame(schema=schema)

    def report(found: str, line: int | None = None) -> None:
        problems.add(Problem("bad_json", str(path), found, EXPECTED, REMEDY, line=line))

    rows: list[object] = []
    try:
        rows.extend(_values(text, report))
    except BadJson as bad:
        report(bad.found, bad.line)
    objects = [row for row in rows if isinstance(row, dict)]
    if len(objects) < len(rows):
        report("values that are not objects")
    columns = {name: [_typed(row.get(name), dtype) for row in objects] for name, dtype in schema.items()}
    for name in OPTIONAL & schema.keys():  # without a value they are empty, but not with one of another type
        for row, value in zip(objects, columns[name], strict=True):
            if value is None and row.get(name) is not None:
                found, remedy = f"{name} {show(row[name])} in row {show(row.get('token'))}", "correct the row"
                problems.add(Problem("bad_row", str(path), found, "a valid value in every column", remedy))
    return pl.DataFrame(columns, schema=schema)


def _values(text: str, report: Callable[[str, int | None], None]) -> Iterator[object]:
    """The values of a JSON list up to the first syntax error, a `BadJson`; rows with a key twice are reported."""
    at = skip_blanks(text, 0)
    if text[at : at + 1] != "[":
        raise BadJson(clip(text[at : at + 60]) if text.strip() else "an empty file", line_at(text, at))
    at += 1
    line, counted = 1, 0
    while text[(at := _skip_separators(text, at)) : at + 1] != "]":
        line, counted = line + text.count("\n", counted, at), at
        try:
            row, at = decode_value(text, at, line=line)
            yield row
        except RepeatedKey as bad:
            report(bad.found, bad.line)
            _, at = decode_value(text, at, [])
    if (at := skip_blanks(text, at + 1)) < len(text):
        raise BadJson(f"{clip(text[at : at + 60])} after the end", line_at(text, at))


def _skip_separators(text: str, at: int) -> int:
    return GAP.match(text, at).end()  # type: ignore[union-attr]  # it matches the empty string too


def _typed(value: object, dtype: object) -> object:
    """The value, if it is of this type; else None."""
    if isinstance(dtype, pl.List):
        inner = [_typed(each, dtype.inner) for each in value] if isinstance(value, list) else [None]
        return None if None in inner else inner
    if dtype == NUMBER:
        if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > sys.float_info.max:
            return None
        return float(value)
    return value if isinstance(value, str if dtype == TEXT else bool) else None


def _valid_rows(table: pl.DataFrame, path: Path, problems: Problems) -> pl.DataFrame:
    """The rows with valid values in all columns; the others are reported."""
    faults = {}
    for name in table.columns:
        bad = pl.lit(False) if name in OPTIONAL else pl.col(name).is_null()
        if name in VECTORS:
            values = pl.col(name).list
            finite = values.eval((pl.element().abs() < LARGEST).fill_null(False)).list.all()
            bad = bad | (values.len() != VECTORS[name]) | ~finite.fill_null(False)
        if name == "rotation":
            bad = bad | (pl.col(name).list.eval(pl.element().abs()).list.sum() < SMALLEST)
        if name == "camera_intrinsic":
            rows = pl.col(name).list
            threes = rows.eval(pl.element().list.len().fill_null(0) == 3).list.all()
            bad = ~(pl.col(name).is_null() | (rows.len() == 0) | ((rows.len() == 3) & threes))
        faults[name] = bad.fill_null(True)
    faulty, repeated = pl.any_horizontal(*faults.values()), pl.col("token").is_first_distinct().not_()
    if not table.select((faulty | repeated).any()).item():
        return table
    named = table.select(of="token", **faults).filter(pl.any_horizontal(*faults)).rows(named=True)
    expected, remedy = "a valid value in every column", "correct the row"
    problems.add_each(
        "bad_row",
        str(path),
        named,
        lambda row: Problem("bad_row", str(path), _invalid_columns(row), expected, remedy),
    )
    problems.add_each(
        "duplicate_token",
        str(path),
        table.filter(repeated & ~faulty)["token"].to_list(),
        lambda token: Problem(
            "duplicate_token", str(path), f"{clip(token)} of an earlier row", "a token of its own", "drop the row"
        ),
    )
    return table.filter(~(faulty | repeated))


def _invalid_columns(row: dict[str, Any]) -> str:
    """The columns of a row without a valid value."""
    bad = ", ".join(name for name, wrong in row.items() if wrong is True)
    return f"no valid {bad} in row {row['of'] and clip(row['of'])}"


def _dangling(file: str, column: str, expected: str, row: tuple[str, str]) -> Problem:
    """The problem of a row, given by its token and the dangling one that it refers to."""
    found, remedy = f"{clip(row[1])} in row {clip(row[0])}", "correct the reference, or drop the row"
    return Problem("dangling_token", file, found, expected, remedy, column=column)


def _report_dangling(folder: Path, tables: Tables, problems: Problems) -> None:
    lost = pl.collect_all([_without_target(tables, *reference) for reference in REFERENCES])
    empty = set()
    for (name, column, target), rows in zip(REFERENCES, lost, strict=True):
        if not tables[target].height:  # one problem, not one for each row that refers to it
            if rows.height and is_file(folder / f"{target}.json"):
                empty.add(target)
            continue
        file, expected = str(folder / f"{name}.json"), f"a token of {target}.json"
        problems.add_each("dangling_token", file, rows.rows(), partial(_dangling, file, column, expected))
    for target in sorted(empty):
        file, expected = str(folder / f"{target}.json"), "the rows that other tables refer to"
        problems.add(Problem("empty_table", file, "no valid row", expected, "unzip the tables again"))


def _without_target(tables: Tables, name: str, column: str, target: str) -> pl.LazyFrame:
    """The token and the reference of each row that refers to a row that is not there."""
    named = tables[name].lazy().select("token", column).drop_nulls()
    if isinstance(COLUMNS[name][column], pl.List):
        named = named.explode(column).drop_nulls()
    known = tables[target].lazy().select("token")
    return named.join(known, left_on=column, right_on="token", how="anti", maintain_order="left")


def sample_tokens(folder: Path, problems: Problems) -> list[str]:
    """The tokens of the `sample.json` below a folder; of several, that of the test set."""
    listed = open_folder(folder, problems)
    found = [] if listed is None else listed.named("sample.json")
    tables = sorted(found, key=lambda path: ("test" not in str(path.relative_to(folder)), path))
    if not tables:
        problems.add(
            Problem("empty_folder", str(folder), "no sample.json", "the tables of a data set", "name their folder")
        )
        return []
    expected, remedy = "a list of samples with a token each", "unzip the tables again"
    samples = read_json(tables[0], problems, expected=expected, remedy=remedy)
    if samples is None:
        return []
    rows = samples if isinstance(samples, list) else [samples]
    tokens = [row.get("token") if isinstance(row, dict) else None for row in rows]
    bad = [row for row, token in zip(rows, tokens, strict=True) if not isinstance(token, str)]
    file = str(tables[0])
    problems.add_each("bad_json", file, bad, lambda row: Problem("bad_json", file, show(row), expected, remedy))
    return [token for token in tokens if isinstance(token, str)]


def is_json(path: str | Path) -> bool:
    """Whether a file begins like a JSON object, unlike a CSV file; of none that can be opened, its reader says so."""
    try:
        with open_file(packed_table(path) or path) as file:
            return file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, NotRegular, BadArchive):
        return False
    except OSError as error:
        error.filename = str(path)  # while a file is read, the system does not name it
        raise
