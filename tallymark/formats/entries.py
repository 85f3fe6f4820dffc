"""From the files of a foreign format to a catalog: text, names, parts, and an entry for each item."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tallymark.core.problems import Problem, Problems
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.io.folders import PARTS, split_of_path
from tallymark.io.media import Medium

WIDE = (b"\xff\xfe", b"\xfe\xff")
"""First bytes of UTF-16 text."""
LINE_END = re.compile(r"\r\n?|\n")


@dataclass(frozen=True)
class Entry:
    """An item of a catalog in the making; `line` is where `table` names it."""

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


def catalog_of(
    root: Path, medium: Medium, entries: Sequence[Entry], truth: Annotations[Any], notes: Problems
) -> Catalog:
    """The catalog of entries with different ids; the truth is under `items_of(entries)`."""

    def texts(values: Sequence[str | None]) -> pl.Series:
        return pl.Series(values, dtype=pl.String)

    return Catalog(
        root=root,
        medium=medium,
        items=truth.items,
        files=texts([None if entry.file is None else entry.file.relative_to(root).as_posix() for entry in entries]),
        split=texts([entry.split for entry in entries]),
        labelled=np.array([entry.labelled for entry in entries], bool),
        tables=texts([None if entry.table is None else str(entry.table) for entry in entries]),
        truth=truth if any(entry.labelled for entry in entries) else None,
        notes=notes,
    )


def bare_name(name: str) -> str:
    """A file's name without the folders in front, whichever way the slashes lean."""
    return name.replace("\\", "/").rpartition("/")[2]


def split_by_name(path: Path, root: Path) -> str:
    """The part that a table is about: as a word of its own name says (`instances_val2017.json`), else its folder."""
    for word in re.split(r"[^a-z]+", path.stem.lower()):
        if word in PARTS:
            return PARTS[word]
    return split_of_path(path, root)


def read_text(path: Path, problems: Problems) -> str | None:
    """A text file in UTF-8; a byte that is none becomes a mark. None, with a problem, where it is no text at all."""
    try:
        data = path.read_bytes()
    except OSError as error:
        found = (error.strerror or type(error).__name__).lower()
        problems.add(Problem("unreadable", str(path), found, "a text file", "check the file"))
        return None
    if data.startswith(WIDE) or b"\0" in data:
        found = "UTF-16 text" if data.startswith(WIDE) else "a NUL byte"
        problems.add(Problem("encoding", str(path), found, "UTF-8 text", "save the file as UTF-8 text"))
        return None
    return data.decode("utf-8-sig", "replace")


def first_line(path: Path) -> str:
    """The first line of a file that may be anything, without its end; blank if it cannot be opened."""
    try:
        with path.open("rb") as file:
            return file.readline(1 << 14).decode("utf-8-sig", "replace").rstrip("\r\n")
    except OSError:
        return ""


def read_lines(path: Path, problems: Problems) -> list[tuple[int, str]] | None:
    """The filled lines of a text file with their numbers."""
    text = read_text(path, problems)
    if text is None:
        return None
    return [(line, row) for line, row in enumerate(LINE_END.split(text), start=1) if row.strip()]


def as_number(text: str) -> float:
    """The number that a text is, or nan."""
    try:
        return float(text) if "_" not in text else float("nan")
    except ValueError:
        return float("nan")


class Refused(Exception):
    """An object that cannot be used: the kind of fault, what was found, what was expected, and what to do."""

    def __init__(self, kind: str, found: str, expected: str, remedy: str) -> None:
        super().__init__(found)
        self.kind, self.found, self.expected, self.remedy = kind, found, expected, remedy

    def at(self, file: Path, line: int | None, item: str | None = None) -> Problem:
        """The problem that this is, at its place."""
        return Problem(self.kind, str(file), self.found, self.expected, self.remedy, line=line, item=item)
