"""The interlocking JSON tables of a drive: read in bounded memory, with every token that leads nowhere reported.

nuScenes and Lyft publish the same thirteen tables. A row is a flat object with a `token`; other tables name it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from polars.exceptions import PolarsError

from tallymark.problems import Problem, Problems, clip

TEXT, NUMBER, NUMBERS, WORDS = pl.String, pl.Float64, pl.List(pl.Float64), pl.List(pl.String)
COLUMNS: dict[str, dict[str, pl.DataType | type[pl.DataType]]] = {
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
"""What is read of each table, beside the token."""
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
"""Table, column, and the table whose tokens the column names."""
CHUNK = 1 << 24
BETWEEN = re.compile(rb"\}\s*,\s*\{")

Tables = dict[str, pl.DataFrame]


def read_tables(folder: Path, problems: Problems, *, annotated: bool) -> Tables:
    """All thirteen tables; one that is missing or unreadable is a problem, and empty here."""
    needless = {"attribute", "visibility", "map"} | (set() if annotated else {"sample_annotation", "instance"})
    tables = {}
    for name, columns in COLUMNS.items():
        path, schema = folder / f"{name}.json", {"token": TEXT, **columns}
        if path.is_file():
            table = _read(path, schema, problems)
            tables[name] = _sound(table, path, problems)
            continue
        tables[name] = pl.DataFrame(schema=schema)
        if name not in needless:
            expected, remedy = "the table " + name, "unzip the tables again"
            problems.add(Problem("missing_table", str(path), "nothing", expected, remedy))
    _report_dangling(folder, tables, problems)
    return tables


def _read(path: Path, schema: dict[str, pl.DataType | type[pl.DataType]], problems: Problems) -> pl.DataFrame:
    """The wanted columns of a list of flat objects, a chunk of it at a time."""
    parts = [pl.DataFrame(schema=schema)]
    try:
        parts += [pl.read_ndjson(chunk, schema=schema) for chunk in _objects(path)]
    except PolarsError as error:
        problems.add(Problem("bad_json", str(path), _reason(path, error), "a list of objects", "unzip it again"))
    return pl.concat(parts)


def _objects(path: Path) -> Iterator[bytes]:
    """A list of objects as lines of one object each; no string of these tables holds a brace."""
    rest = b""
    with path.open("rb") as file:
        while block := file.read(CHUNK):
            data = rest + block
            end = data.rfind(b"}") + 1
            rest = data[end:]
            if lines := data[:end].strip(b" \t\r\n,["):
                yield BETWEEN.sub(b"}\n{", lines.replace(b"\n", b" ").replace(b"\r", b" "))
    if left := rest.strip(b" \t\r\n,[]"):
        yield left


def _reason(path: Path, error: PolarsError) -> str:
    """What is wrong with the text, if Python's own reader finds it."""
    try:
        rows = json.loads(path.read_bytes())
    except ValueError as bad:
        return str(bad)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return "not a list of objects"
    return clip(str(error).splitlines()[0])


def _sound(table: pl.DataFrame, path: Path, problems: Problems) -> pl.DataFrame:
    """The rows that have all their values; the others are reported."""
    bad = pl.lit(False)
    for name in table.columns:
        if name not in OPTIONAL:
            bad = bad | pl.col(name).is_null()
        if name in VECTORS:
            values = pl.col(name).list
            finite = values.eval(pl.element().is_finite()).list.all()
            bad = bad | (values.len() != VECTORS[name]) | ~finite.fill_null(False)
        if name == "rotation":
            bad = bad | (pl.col(name).list.eval(pl.element().abs()).list.sum() == 0)
    faulty = table.select(bad.fill_null(True).alias("bad"))["bad"]
    again = table["token"].is_first_distinct().not_() & table["token"].is_not_null()
    for rows, kind, found, expected, remedy in (
        (
            faulty,
            "bad_row",
            "a value missing or of the wrong form",
            "all the columns' values",
            "mend the row",
        ),
        (again & ~faulty, "duplicate_token", "the token of an earlier row", "a token of its own", "drop the row"),
    ):
        tokens = table["token"].filter(rows).to_list()
        problems.add_each(
            kind,
            str(path),
            tokens,
            lambda token, kind=kind, found=found, expected=expected, remedy=remedy: Problem(  # type: ignore[misc]
                kind, str(path), f"{found} (token {token})", expected, remedy
            ),
        )
    return table.filter(~(faulty | again))


def _report_dangling(folder: Path, tables: Tables, problems: Problems) -> None:
    for name, column, target in REFERENCES:
        if not tables[target].height and not (folder / f"{target}.json").is_file():
            continue
        named = tables[name].select("token", pl.col(column)).drop_nulls()
        if isinstance(named.schema[column], pl.List):
            named = named.explode(column).drop_nulls()
        lost = named.join(tables[target], left_on=column, right_on="token", how="anti", maintain_order="left")
        file, expected = str(folder / f"{name}.json"), f"a token of {target}.json"
        problems.add_each(
            "dangling_token",
            file,
            lost.select("token", column).rows(),
            lambda row, file=file, expected=expected, column=column: Problem(  # type: ignore[misc]
                "dangling_token",
                file,
                f"{clip(row[1])} in row {clip(row[0])}",
                expected,
                "mend the reference, or drop the row",
                column=column,
            ),
        )
