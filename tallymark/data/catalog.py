"""Catalog: the items of a data set, their media files, and their truth where it is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from tallymark.core.humanize import plural
from tallymark.core.problems import EVERY, BadInput, Problem, Problems
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.data.recording_clock import RecordingClock
from tallymark.io.folders import normalize_name, relative_names
from tallymark.io.media import BadMedia, Medium

if TYPE_CHECKING:
    from tallymark.data.drive import Drive

NO_GROUP = "(none)"
SHOWN = 3
"""Missing files that a row about many of them names."""


@dataclass(frozen=True, eq=False)
class Catalog:
    """Items in a fixed order, each with its media file if there is one.

    files: the path of each item's file relative to `root`, null where it is missing.
    split: train, val or test. labelled: whether the truth of an item is known; it may have no objects.
    tables: for each item the file that has its truth. size: (n, 2) width and height according to the tables, or nan.
    cells: 1; more if the media are overlapping crops of larger scenes, offset by multiples of side / cells.
    notes: warnings about files that could be read all the same.
    remarks: sentences about what was left out as the format says; nothing is wrong, and there is nothing to do.
    clock: how the names of recordings state when they were made.
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
    remarks: tuple[str, ...] = ()
    clock: RecordingClock = field(default_factory=RecordingClock)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def group(self) -> pl.Series:
        """The group of each item: source, day or log; the same for all if the data set has none."""
        return self.items.group if self.items.group is not None else pl.repeat(NO_GROUP, len(self), eager=True)

    def path(self, item: int) -> Path | None:
        """The path of an item's file; None where it is missing."""
        file = self.files[item]
        return None if file is None else self.root / file

    def place(self, item: int) -> str:
        """The file to name in a message about an item: its media file, or its table."""
        return str(self.path(item) or self.tables[item] or self.root)

    def unread(self, item: int, bad: BadMedia) -> Problem:
        """That the file of an item cannot be read, as a problem."""
        expected = bad.expected or f"a readable {self.medium.noun}"
        return Problem(bad.kind, self.place(item), bad.found, expected, bad.remedy, item=self.items.ids[item])

    def select(self, chosen: np.ndarray) -> Self:
        """The items where `chosen` is true, or those at these indices, with their truth."""
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

    def in_split(self, *names: str) -> Self:
        """The items of these splits: `catalog.in_split("train")`."""
        return self.select(self.split.is_in(names).to_numpy())

    def with_media(self) -> Self:
        """The items whose file is there; the others are noted in one row. A `BadInput` if there is no file at all."""
        present = self.files.is_not_null().to_numpy()
        if present.all():
            return self
        notes = Problems(EVERY)
        notes.merge(self.notes)
        problem = missing_media(self)
        if not present.any():
            notes.add(replace(problem, remedy="get the files, or name the folder that has them"))
            raise BadInput(notes)
        notes.add(problem)
        return replace(self.select(present), notes=notes)

    def no_truth(self) -> BadInput:
        """The error of a data set without labelled items, with all that may be the reason, as an unreadable folder."""
        problems = Problems(EVERY)
        found, remedy = f"none among {len(self)} items", "name the folder that also has the annotations"
        problems.add(Problem("no_truth", str(self.root), found, "labelled items", remedy))
        problems.merge(self.notes)
        return BadInput(problems)

    def with_truth(self) -> LabelledCatalog:
        """The labelled items; a `BadInput` if there are none."""
        labelled = self if self.labelled.all() else self.select(self.labelled)
        if labelled.truth is None or not len(labelled):
            raise self.no_truth()
        return LabelledCatalog(
            root=labelled.root,
            medium=labelled.medium,
            items=labelled.items,
            files=labelled.files,
            split=labelled.split,
            labelled=labelled.labelled,
            tables=labelled.tables,
            truth=labelled.truth,
            size=labelled.size,
            cells=labelled.cells,
            drive=labelled.drive,
            notes=labelled.notes,
            remarks=labelled.remarks,
            clock=labelled.clock,
        )


@dataclass(frozen=True, eq=False)
class LabelledCatalog(Catalog):
    """A catalog of labelled items only, whose truth is always there."""

    truth: Annotations[Any] = field()


@dataclass(frozen=True, eq=False)
class Split:
    """One split of a data set before the splits are concatenated: its files by id, and its truth.

    unnamed_are_empty: whether a file without a row in the truth is known to have no objects.
    names: ids that belong to the split even without a file or truth.
    """

    name: str
    files: dict[str, Path]
    truth: Annotations[Any] | None = None
    table: Path | None = None
    unnamed_are_empty: bool = False
    names: Sequence[str] = ()


def missing_media(catalog: Catalog) -> Problem:
    """One row about all items without a file."""
    missing = catalog.files.is_null()
    ids, noun = catalog.items.ids.filter(missing), catalog.medium.noun
    tables = catalog.tables.filter(missing).unique()
    file = tables[0] if len(tables) == 1 and tables[0] else str(catalog.root)
    expected, remedy = f"a file below {catalog.root} for each {noun}", "get it, or go on without: it is left out"
    if len(ids) == 1:
        return Problem("missing_media", file, f"no file for {ids[0]}", expected, remedy, item=ids[0])
    found = f"{len(ids)} of {len(catalog)} {noun}s without a file: {', '.join(ids.head(SHOWN))}"
    found += ", …" if len(ids) > SHOWN else ""
    return Problem("missing_media", file, found, expected, "get them, or go on without: they are left out")


def concat_splits(root: Path, medium: Medium, splits: Sequence[Split], problems: Problems) -> Catalog:
    """One catalog of several splits: the items of each split's truth in their order, then the files without a row."""
    rows = pl.concat([_rows(root, split).with_columns(number=at) for at, split in enumerate(splits)], rechunk=True)
    duplicate = rows["id"].is_first_distinct().not_()
    expected, remedy = "every id in one split only", "rename or remove one of the two"
    for name, file, table in rows.filter(duplicate).select("id", "file", "table").iter_rows():
        place = str(root / file) if file else table or str(root)
        problems.add(Problem("duplicate_item", place, f"'{name}' again", expected, remedy, item=name))
    rows = rows.filter(~duplicate)
    group = rows["group"].fill_null(NO_GROUP) if rows["group"].is_not_null().any() else None
    items = Items(rows["id"], group, rows["line"].to_numpy())
    starts = np.searchsorted(rows["number"].to_numpy(), np.arange(len(splits) + 1)).tolist()
    truths = [
        split.truth.reindex(Items(items.ids[start:stop])).reindex(items)  # an id in two splits: the first's
        for split, (start, stop) in zip(splits, pairwise(starts), strict=True)
        if split.truth is not None
    ]
    catalog = Catalog(
        root=root,
        medium=medium,
        items=items,
        files=rows["file"],
        split=rows["split"],
        labelled=rows["labelled"].to_numpy(),
        tables=rows["table"],
        truth=merge_truths(truths) if truths else None,
    )
    for split in splits:
        if split.files and split.unnamed_are_empty and split.truth is not None and not len(split.truth.items):
            expected, remedy = "rows: without one, every file counts as empty", "check that the file is complete"
            catalog.notes.add(Problem("empty_table", str(split.table), "no row", expected, remedy))
    return catalog


def _rows(root: Path, split: Split) -> pl.DataFrame:
    """A row for each item of a split."""
    schema = {"id": pl.String, "file": pl.String}
    files = pl.DataFrame({"id": list(split.files), "file": relative_names(split.files.values(), root)}, schema=schema)
    named = pl.DataFrame({"id": list(split.names)}, schema={"id": pl.String})
    rows = named.join(files, "id", "full", coalesce=True, maintain_order="left_right")
    if split.truth is None:
        rows = rows.with_columns(group=pl.lit(None, pl.String), line=0, labelled=False)
    else:
        items = split.truth.items
        group = pl.repeat(None, len(items), dtype=pl.String, eager=True) if items.group is None else items.group
        line = np.zeros(len(items), np.int64) if items.line is None else items.line
        annotated = pl.DataFrame({"id": items.ids, "group": group, "line": line})
        rows = annotated.join(rows, "id", "full", coalesce=True, maintain_order="left_right")
        rows = rows.with_columns(
            pl.col("line").fill_null(0), labelled=pl.col("line").is_not_null() | split.unnamed_are_empty
        )
    table = None if split.table is None else str(split.table)
    return rows.select(
        "id", "file", "group", pl.col("line").cast(pl.Int64), "labelled",
        split=pl.lit(split.name), table=pl.lit(table, pl.String),
    )  # fmt: skip


def merge_truths(truths: Sequence[Annotations[Any]]) -> Annotations[Any]:
    """Annotations of the same items and of one geometry, as one."""
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
    """Files by their id `name(path)`; of two with the same id the first is used, and the other is noted.

    A file whose id equals a known one up to upper and lower case, as a.JPG and a.jpg, or up to the Unicode form of its
    accents, gets the known id, unless another file has it.
    """
    files: dict[str, Path] = {}
    own_ids = [name(path) for path in paths]
    exact = set(own_ids)
    spellings = {normalize_name(known_id): known_id for known_id in known if known_id not in exact}
    taken = exact.intersection(known)
    for path, own in zip(paths, own_ids, strict=True):
        key = own if own in taken else spellings.get(normalize_name(own), own)
        if key in files:
            expected, remedy = f"one file for {key}", f"remove it or {files[key]}"
            notes.add(Problem("ambiguous_file", str(path), "a second file of that name", expected, remedy, item=key))
        else:
            files[key] = path
    return files


def unlabelled_remark(catalog: Catalog) -> list[str]:
    """A sentence about items to train on that are not annotated, unless they are among the problems; none without any.

    Nobody knows whether there is anything in them.
    """
    open_to_train = (catalog.split != "test").to_numpy()
    left = int((open_to_train & ~catalog.labelled).sum())
    if catalog.truth is None or not left or "orphan_media" in catalog.notes.counts:
        return []
    share = f"{left} of {plural(int(open_to_train.sum()), catalog.medium.noun)}"
    return [f"{share} without annotations: not taken for empty, and not trained on"]
