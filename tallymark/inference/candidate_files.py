"""Candidate files: candidates as a Parquet table, to tune, to fuse and to report from without inference.

A row for each candidate, with the columns

    item                      its id; the rows of an item follow one another
    fold, group               of the item, where they are known
    item_width, item_height   of the item in its own units; of a recording, its seconds and null
    presence                  the probability that the item has any object at all
    score, label              of the candidate; the label counts the classes
    x, y, width, …            the fields of the geometry that the task's candidates have

An item without candidates has one row, in which the last ones are null. Challenge, recipe and classes are in the
metadata of the file. Whatever is not as it was written is a problem, and nothing in a file is evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl

from tallymark.core.outputs import write_bytes
from tallymark.core.problems import BadInput, Problem, Problems, clip
from tallymark.data.items import Items
from tallymark.inference.candidate_columns import SHAPE, candidates_of_columns, shape_fields
from tallymark.inference.candidates import Candidates
from tallymark.inference.metadata import ModelMetadata
from tallymark.io.regular import open_regular, read_regular

SUFFIX = ".parquet"
MARK = b"PAR1"
"""With this, every Parquet file begins and ends."""
KEY = "tallymark.candidates"
"""The key of the facts in the metadata of the file."""
EXPECTED = "a table of candidates that this package wrote"
REMEDY = "give the held_out.parquet of a run, or what `tallymark predict --candidates` writes"
SIZES = ("item_width", "item_height")
OF_ITEM = ("item", "fold", "group", *SIZES, "presence")
FLOATS, INTEGERS = (pl.Float32, pl.Float64), (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)
MAX_ROWS = 200_000_000
UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, MemoryError)
"""Exceptions of polars for bytes that are no Parquet file, or a damaged one."""


@dataclass(frozen=True, eq=False)
class StoredCandidates:
    """What a candidate file holds.

    metadata: challenge, classes, and the recipe with the thresholds that were used. fold: (n,) the fold of each item,
    where candidates are those of a training; None for those of a prediction.
    """

    metadata: ModelMetadata
    candidates: Candidates
    fold: np.ndarray | None = None


def is_candidate_file(path: str | Path) -> bool:
    """Whether a path is a regular file that begins as Parquet does."""
    try:
        with open_regular(path) as file:
            return file.read(len(MARK)) == MARK
    except OSError:
        return False


def write_candidates(
    candidates: Candidates, path: str | Path, metadata: ModelMetadata, fold: np.ndarray | None = None
) -> None:
    """Write candidates, whole or not at all. Of the metadata, challenge, recipe and classes are kept."""
    objects, items = candidates.objects, candidates.items
    at = pl.Series("at", np.arange(len(items)))
    of_items = pl.DataFrame({"at": at, "item": items.ids})
    if fold is not None:
        of_items = of_items.with_columns(pl.Series("fold", fold.astype(np.int64)))
    if items.group is not None:
        of_items = of_items.with_columns(items.group.alias("group"))
    sizes = [pl.Series(name, side).fill_nan(None) for name, side in zip(SIZES, candidates.size.T, strict=True)]
    of_items = of_items.with_columns(*sizes, pl.Series("presence", candidates.presence))
    columns = {"at": objects.item, "score": objects.scores, "label": objects.labels.astype(np.int64)}
    columns |= {name: getattr(objects.shapes, name) for name in shape_fields(metadata.recipe)}
    table = of_items.join(pl.DataFrame(columns), on="at", how="left", maintain_order="left_right").drop("at")
    facts = ModelMetadata(metadata.challenge, metadata.recipe, metadata.classes).text()
    data = BytesIO()  # polars says what went wrong with a file, but not which error of the system it was
    table.write_parquet(data, metadata={KEY: facts})
    write_bytes(path, data.getbuffer())


def read_candidates(path: str | Path, problems: Problems) -> StoredCandidates | None:
    """The content of a candidate file; None, with problems, if it is not as it was written."""
    opened = _open(path, problems)
    if opened is None:
        return None
    metadata, table = opened
    before = problems.total
    kinds: dict[str, tuple[type[pl.DataType], ...]] = {"item": (pl.String,), "fold": INTEGERS, "group": (pl.String,)}
    kinds |= dict.fromkeys((*SIZES, "presence", "score"), FLOATS)
    kinds |= dict.fromkeys(shape_fields(metadata.recipe), FLOATS) | {"label": INTEGERS}  # labels are shapes too
    for name, allowed in kinds.items():
        if name not in table.columns:
            if name not in ("fold", "group"):
                _report(problems, path, f"no column {name}", "every column of a candidate file")
        elif table.schema[name] not in allowed:
            _report(problems, path, f"{table.schema[name]} in column {name}", " or ".join(map(str, allowed)), name)
    unknown = [name for name in table.columns if name not in kinds]
    if unknown:
        _report(problems, path, f"a column {clip(unknown[0])}", f"the columns {', '.join(kinds)}")
    if problems.total > before or not _check_values(table, path, problems):
        return None
    return _stored(table, metadata, path, problems)


def _open(path: str | Path, problems: Problems) -> tuple[ModelMetadata, pl.DataFrame] | None:
    """The facts and the table of a file."""
    try:
        data = read_regular(path)
        facts = pl.read_parquet_metadata(BytesIO(data)).get(KEY)
        if facts is None:
            _report(problems, path, "a Parquet table of something else", EXPECTED)
            return None
        metadata = ModelMetadata.read(facts, Path(path), kind="bad_candidates", expected=EXPECTED, remedy=REMEDY)
        rows = pl.scan_parquet(BytesIO(data)).select(pl.len()).collect().item()
        if rows > MAX_ROWS:
            _report(problems, path, f"{rows} rows", f"at most {MAX_ROWS}")
            return None
        return metadata, pl.read_parquet(BytesIO(data))
    except BadInput as bad:
        problems.merge(bad.problems)
    except UNREADABLE as error:
        reason = error.strerror if isinstance(error, OSError) else None
        _report(problems, path, (reason or "not a Parquet file, or only a part of one").lower(), EXPECTED)
    return None


def _check_values(table: pl.DataFrame, path: str | Path, problems: Problems) -> bool:
    """Report nulls where there must be none, numbers that are not finite, and items that are torn apart."""
    before = problems.total
    numbers = [name for name in table.columns if name not in OF_ITEM]
    found = table["score"].is_not_null()
    for name in table.columns:
        column = table[name]
        missing = column.is_null() if name in OF_ITEM else column.is_null() & found
        if missing.any() and name != SIZES[1]:  # recordings have no height
            _report(problems, path, f"an empty cell in row {missing.arg_max()}", "a value", name)
        if column.dtype in FLOATS and not column.is_finite().fill_null(True).all():
            _report(
                problems,
                path,
                f"NaN or infinity in row {(~column.is_finite()).fill_null(False).arg_max()}",
                "numbers",
                name,
            )
        if name in numbers and (~found & column.is_not_null()).any():
            _report(problems, path, "a value in a row without a score", "an empty cell", name)
    if problems.total > before:
        return False
    first = (table["item"] != table["item"].shift(1)).fill_null(True)
    torn = first & ~table["item"].is_first_distinct()
    if torn.any():
        name = clip(table["item"].filter(torn)[0])
        _report(problems, path, f"the item {name} in two places", "the rows of an item together", "item")
        return False
    item = np.cumsum(first.to_numpy()) - 1
    at = np.flatnonzero(first.to_numpy())[item]
    for name in OF_ITEM:
        if name in table.columns and not table[name].equals(table[name][at]):
            _report(problems, path, "several values for one item", "one for each item", name)
    if (np.bincount(item)[item][~found.to_numpy()] > 1).any():
        _report(problems, path, "a row without a score beside others of its item", "no such row", "score")
    return problems.total == before


def _stored(
    table: pl.DataFrame, metadata: ModelMetadata, path: str | Path, problems: Problems
) -> StoredCandidates | None:
    """The candidates in a table whose columns and values are those of a candidate file."""
    starts = table["item"].is_first_distinct()
    of_items, rows = table.filter(starts), table.filter(table["score"].is_not_null())
    item = np.cumsum(starts.to_numpy())[table["score"].is_not_null().to_numpy()] - 1
    columns = {
        "keys": np.array(of_items["item"].to_list(), str),
        "size": of_items.select(SIZES).cast(pl.Float64).fill_null(np.nan).to_numpy(),
        "presence": of_items["presence"].to_numpy(),
        "offsets": np.concatenate([[0], np.cumsum(np.bincount(item, minlength=of_items.height))]),
        "label": rows["label"].cast(pl.Int64).to_numpy(),
        "score": rows["score"].to_numpy(),
    }
    columns |= {f"{SHAPE}{name}": rows[name].to_numpy() for name in shape_fields(metadata.recipe)}
    try:
        candidates = candidates_of_columns(columns, metadata.recipe, metadata.classes)
    except (KeyError, ValueError):
        _report(problems, path, "labels or sizes that cannot be", "labels of its classes, and sizes of all items")
        return None
    group = of_items["group"] if "group" in table.columns else None
    candidates = candidates.rename(Items(of_items["item"].alias("id"), group))
    return StoredCandidates(metadata, candidates, of_items["fold"].to_numpy() if "fold" in table.columns else None)


def _report(problems: Problems, path: str | Path, found: str, expected: str, column: str | None = None) -> None:
    problems.add(Problem("bad_candidates", str(path), found, expected, REMEDY, column=column))
