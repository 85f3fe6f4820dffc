"""From the items listed by a foreign format to a catalog."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl

from tallymark.core.problems import Problems
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.geometry import Geometry
from tallymark.io.folders import SPLIT_WORDS, split_of_path
from tallymark.io.media import Medium

G = TypeVar("G", bound=Geometry)


@dataclass(frozen=True)
class Entry:
    """An item of a catalog that is being built.

    file: its medium, None if it is missing. split: train, val or test. table: the file with its truth.
    labelled: whether its truth is known. line: the line of `table` that lists it, 0 if there is none.
    """

    id: str
    file: Path | None
    split: str
    table: Path | None
    labelled: bool
    line: int = 0


def items_of(entries: Sequence[Entry]) -> Items:
    """The items of the entries, in their order."""
    ids = pl.Series("id", [entry.id for entry in entries], dtype=pl.String)
    return Items(ids, line=np.array([entry.line for entry in entries], np.int64))


def catalog_of(root: Path, medium: Medium, entries: Sequence[Entry], truth: Annotations[G], notes: Problems) -> Catalog:
    """The catalog of entries with distinct ids. The truth is indexed by `items_of(entries)`."""
    files = [None if entry.file is None else entry.file.relative_to(root).as_posix() for entry in entries]
    tables = [None if entry.table is None else str(entry.table) for entry in entries]
    return Catalog(
        root=root,
        medium=medium,
        items=truth.items,
        files=pl.Series(files, dtype=pl.String),
        split=pl.Series([entry.split for entry in entries], dtype=pl.String),
        labelled=np.array([entry.labelled for entry in entries], bool),
        tables=pl.Series(tables, dtype=pl.String),
        truth=truth if any(entry.labelled for entry in entries) else None,
        notes=notes,
    )


def base_name(name: str) -> str:
    """A file's name without its folders, separated by slashes or backslashes."""
    return name.replace("\\", "/").rpartition("/")[2]


def split_by_name(path: Path, root: Path) -> str:
    """The split of a table: by a word in its own name (`instances_val2017.json`), else by its folder."""
    for word in re.split(r"[^a-z]+", path.stem.lower()):
        if word in SPLIT_WORDS:
            return SPLIT_WORDS[word]
    return split_of_path(path, root)
