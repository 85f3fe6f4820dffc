"""Catalog: the items of a data set, where their media are, and their truth where it is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tallymark.core.problems import EVERY, Problem, Problems
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.io.folders import folded
from tallymark.io.media import Medium

if TYPE_CHECKING:
    from tallymark.data.drive import Drive

NO_GROUP = "(none)"


@dataclass(frozen=True, eq=False)
class Catalog:
    """Items in a fixed order, with a file each where there is one.

    files: the path of each item's file below `root`, null where it is missing.
    split: train, val or test. labelled: whether the truth of an item is known; it may be that nothing is in it.
    tables: for each item the file that states its truth. size: (n, 2) width and height as tables state them, or nan.
    cells: 1, or more where media are crops of larger scenes, shifted by that part of their side.
    notes: what reading found odd although everything could be used.
    """

    root: Path
    medium: Medium
    items: Items
    files: pl.Series
    split: pl.Series
    labelled: np.ndarray
    tables: pl.Series
    truth: Annotations[Any] | None = None
    size: np.ndarray | None = None
    cells: int = 1
    drive: Drive | None = None
    notes: Problems = field(default_factory=lambda: Problems(EVERY))

    def __len__(self) -> int:
        return len(self.items)

    @property
    def group(self) -> pl.Series:
        """The group of each item: source, day, log; one for all where there is none."""
        return self.items.group if self.items.group is not None else pl.repeat(NO_GROUP, len(self), eager=True)

    def path(self, item: int) -> Path | None:
        """Where an item's file is; None where it is missing."""
        file = self.files[item]
        return None if file is None else self.root / file

    def place(self, item: int) -> str:
        """The file to name in a message about an item: its own, or the table that names it."""
        return str(self.path(item) or self.tables[item] or self.root)

    def select(self, chosen: np.ndarray) -> Catalog:
        """The items where `chosen` is true (or those with these numbers), with their truth."""
        index = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        old = self.items
        items = Items(
            old.ids[index],
            None if old.group is None else old.group[index],
            None if old.line is None else old.line[index],
        )
        return replace(
            self,
            items=items,
            files=self.files[index],
            split=self.split[index],
            labelled=self.labelled[index],
            tables=self.tables[index],
            truth=None if self.truth is None else self.truth.reindex(items),
            size=None if self.size is None else self.size[index],
            drive=None if self.drive is None else self.drive.select(index),
        )

    def in_split(self, *names: str) -> Catalog:
        """The items of these splits: `catalog.in_split("train")`."""
        return self.select(self.split.is_in(names).to_numpy())


@dataclass(frozen=True, eq=False)
class Split:
    """One part of a data set before it is joined: its files by id, and its truth."""

    name: str
    files: dict[str, Path]
    truth: Annotations[Any] | None = None
    table: Path | None = None
    unnamed_are_empty: bool = False
    """Whether a file that the truth does not name is known to hold nothing."""
    names: Sequence[str] = ()
    """Ids that belong to the part, whether there is a file or truth for them or not."""


def concat_splits(root: Path, medium: Medium, parts: Sequence[Split], problems: Problems) -> Catalog:
    """One catalog of several parts: the items of each part's truth in their order, then the files without a row."""
    rows = pl.concat([_rows(root, part).with_columns(number=at) for at, part in enumerate(parts)])
    again = rows["id"].is_first_distinct().not_()
    expected, remedy = "every id in one part only", "rename or remove one of the two"
    for name, file, table in rows.filter(again).select("id", "file", "table").iter_rows():
        place = str(root / file) if file else table or str(root)
        problems.add(Problem("duplicate_item", place, f"'{name}' again", expected, remedy, item=name))
    rows = rows.filter(~again)
    group = rows["group"].fill_null(NO_GROUP) if rows["group"].is_not_null().any() else None
    items = Items(rows["id"], group, rows["line"].to_numpy())
    truths = [
        part.truth.reindex(Items(rows.filter(number=at)["id"])).reindex(items)  # of an id in two parts the first one's
        for at, part in enumerate(parts)
        if part.truth is not None
    ]
    catalog = Catalog(
        root=root,
        medium=medium,
        items=items,
        files=rows["file"],
        split=rows["split"],
        labelled=rows["labelled"].to_numpy(),
        tables=rows["table"],
        truth=merge(truths) if truths else None,
    )
    for part in parts:
        if part.files and part.unnamed_are_empty and part.truth is not None and not len(part.truth.items):
            expected, remedy = "rows: without one, every file counts as empty", "check that it was written to its end"
            catalog.notes.add(Problem("empty_table", str(part.table), "no row", expected, remedy))
    return catalog


def _rows(root: Path, part: Split) -> pl.DataFrame:
    """A row for each item of a part."""
    text = {"id": pl.String, "file": pl.String}
    names = [path.relative_to(root).as_posix() for path in part.files.values()]
    files = pl.DataFrame({"id": list(part.files), "file": names}, schema=text)
    named = pl.DataFrame({"id": list(part.names)}, schema={"id": pl.String})
    rows = named.join(files, "id", "full", coalesce=True, maintain_order="left_right")
    if part.truth is None:
        rows = rows.with_columns(group=pl.lit(None, pl.String), line=0, labelled=False)
    else:
        items = part.truth.items
        group = pl.repeat(None, len(items), dtype=pl.String, eager=True) if items.group is None else items.group
        line = np.zeros(len(items), np.int64) if items.line is None else items.line
        stated = pl.DataFrame({"id": items.ids, "group": group, "line": line})
        rows = stated.join(rows, "id", "full", coalesce=True, maintain_order="left_right")
        rows = rows.with_columns(
            pl.col("line").fill_null(0), labelled=pl.col("line").is_not_null() | part.unnamed_are_empty
        )
    table = None if part.table is None else str(part.table)
    return rows.select(
        "id", "file", "group", pl.col("line").cast(pl.Int64), "labelled",
        split=pl.lit(part.name), table=pl.lit(table, pl.String),
    )  # fmt: skip


def merge(truths: Sequence[Annotations[Any]]) -> Annotations[Any]:
    """Annotations of the same items and of one kind, as one."""
    merged = truths[0]
    for other in truths[1:]:
        lines = None if merged.line is None or other.line is None else np.concatenate([merged.line, other.line])
        merged = Annotations.from_rows(
            merged.items,
            np.concatenate([merged.item, other.item]),
            merged.shapes.concat(other.shapes),
            label=None if merged.label is None else np.concatenate([merged.label, other.labels]),
            classes=merged.classes,
            line=lines,
        )
    return merged


def file_ids(
    paths: Sequence[Path], name: Callable[[Path], str], notes: Problems, known: Sequence[str] = ()
) -> dict[str, Path]:
    """Files by the id that `name(path)` gives them; of two with the same id the first is used, and that is noted.

    A file whose id is a known one but for its case, as a.JPG for a.jpg, or for how its accents are written, belongs to
    that, if no other file does.
    """
    found: dict[str, Path] = {}
    keys = [name(path) for path in paths]
    exact = set(keys)
    spelled = {folded(word): word for word in known if word not in exact}
    taken = exact.intersection(known)
    for path, own in zip(paths, keys, strict=True):
        key = own if own in taken else spelled.get(folded(own), own)
        if key in found:
            expected, remedy = f"one file for {key}", f"remove it or {found[key]}"
            notes.add(Problem("ambiguous_file", str(path), "a second file of that name", expected, remedy, item=key))
        else:
            found[key] = path
    return found
