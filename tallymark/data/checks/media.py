"""The files of a data set: there, readable, of the stated size, and named by a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tallymark.core.parallel import in_threads
from tallymark.core.problems import Problem, Problems
from tallymark.data.catalog import Catalog
from tallymark.io.images import inspect_image
from tallymark.io.media import BadMedia, Inspection

Seen = list[Inspection | BadMedia | None]
"""For each item what its file looks like, why it cannot be read, or None where it is missing."""


def inspect_all(catalog: Catalog) -> Seen:
    """Open every item's file, several at a time."""
    jobs = [(catalog.path(item), catalog.medium.inspect) for item in range(len(catalog))]
    return _look_at(jobs, f"looking at {len(catalog)} {catalog.medium.noun}s")


def check_media(catalog: Catalog, seen: Seen, problems: Problems) -> None:
    _report_missing(catalog, problems)
    _report_orphans(catalog, problems)
    noun = catalog.medium.noun
    for item, inspect in enumerate(seen):
        _report_look(str(catalog.path(item)), catalog.items.ids[item], inspect, noun, problems)
    _report_sizes(catalog, seen, problems)
    if catalog.drive is not None:
        _check_other_shots(catalog, problems)


def extents(seen: Seen) -> np.ndarray:
    """(n, 2) what `Look.extent` says of each item; nan where nothing could be seen."""
    sizes = [inspect.extent if isinstance(inspect, Inspection) else (np.nan, np.nan) for inspect in seen]
    return np.array(sizes, float).reshape(-1, 2)


def _look_at(jobs: Sequence[tuple[Path | None, Callable[[Path], Inspection]]], what: str) -> Seen:
    def one(job: tuple[Path | None, Callable[[Path], Inspection]]) -> Inspection | BadMedia | None:
        path, inspect = job
        try:
            return None if path is None else inspect(path)
        except BadMedia as bad:
            return bad

    return in_threads(one, jobs, what)


def _report_look(file: str, item: str, inspect: Inspection | BadMedia | None, noun: str, problems: Problems) -> None:
    if isinstance(inspect, BadMedia):
        problems.add(Problem(inspect.kind, file, inspect.found, f"a readable {noun}", inspect.remedy, item=item))
    elif inspect is not None:
        for kind, found, expected, remedy in inspect.faults:
            problems.add(Problem(kind, file, found, expected, remedy, item=item))


def _report_missing(catalog: Catalog, problems: Problems) -> None:
    expected, remedy = f"a {catalog.medium.noun} below {catalog.root}", "unzip it again, or exclude the item"
    line = catalog.items.line
    for item in np.flatnonzero(catalog.files.is_null().to_numpy()).tolist():
        name, place = catalog.items.ids[item], catalog.place(item)
        at = None if line is None or not line[item] else int(line[item])
        problems.add(Problem("missing_media", place, f"no file for {name}", expected, remedy, line=at, item=name))


def _report_orphans(catalog: Catalog, problems: Problems) -> None:
    """Files that the table of their part does not name."""
    if catalog.items.line is None:
        return
    rowless = pl.Series(~catalog.labelled & (catalog.items.line == 0))
    named = catalog.tables.is_not_null() & rowless & (catalog.split != "test")
    remedy = "add a row for it, or exclude the item"
    for item in np.flatnonzero(named.to_numpy()).tolist():
        expected = f"a row in {catalog.tables[item]}"
        name = catalog.items.ids[item]
        problems.add(Problem("orphan_media", catalog.place(item), "no row", expected, remedy, item=name))


def _report_sizes(catalog: Catalog, seen: Seen, problems: Problems) -> None:
    if catalog.size is None:
        return
    sizes = extents(seen)
    differs = np.flatnonzero((sizes != catalog.size).any(axis=1) & np.isfinite(sizes + catalog.size).all(axis=1))
    remedy = "use the picture that was annotated, or scale its annotations"
    for item in differs.tolist():
        found = " x ".join(f"{side:g}" for side in sizes[item]) + " px"
        expected = " x ".join(f"{side:g}" for side in catalog.size[item]) + " px, as annotated"
        name, file = catalog.items.ids[item], str(catalog.path(item))
        problems.add(Problem("size_mismatch", file, found, expected, remedy, item=name))


def _check_other_shots(catalog: Catalog, problems: Problems) -> None:
    """Pictures and further sweeps that belong to the samples."""
    assert catalog.drive is not None
    shots = catalog.drive.shots.with_row_index("row").filter(
        ~pl.col("row").is_in(catalog.drive.samples) & pl.col("sample_token").is_in(catalog.items.ids.implode())
    )
    rows = shots.select("sample_token", "filename", "file", "modality").rows()
    jobs = [(Path(file) if file else None, inspect_image if kind == "camera" else catalog.medium.inspect)
            for _, _, file, kind in rows]  # fmt: skip
    looks = _look_at(jobs, f"looking at {len(jobs)} further files")
    expected, remedy = f"a file below {catalog.root}", "unzip it again, or do without this sensor"
    for (sample, name, file, kind), inspect in zip(rows, looks, strict=True):
        if file is None:
            found = f"no such file, of sample {sample}"  # not an item to exclude: its sweep may be there
            problems.add(Problem("missing_media", str(catalog.root / name), found, expected, remedy))
        else:
            noun = "picture" if kind == "camera" else catalog.medium.noun
            _report_look(file, sample, inspect, noun, problems)
