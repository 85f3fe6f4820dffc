"""Checks of media files: present, readable, of the annotated size, and listed in a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tallymark.core.engines.choice import BY_DEFAULT, EngineChoice
from tallymark.core.engines.mapping import map_items
from tallymark.core.problems import Problem, Problems
from tallymark.data.catalog import Catalog, missing_media
from tallymark.data.drive import Drive
from tallymark.data.road_map import read_road_map
from tallymark.io.images import IMAGE, inspect_image
from tallymark.io.media import BadMedia, Inspection, worker_died

Inspections = list[Inspection | BadMedia | None]
"""For each item the inspection of its file, why it cannot be read, or None where it is missing."""
FEW = 5
"""Missing files up to which each has a row."""
Job = tuple[Path | None, Callable[[Path], Inspection]]
"""A file, and the function that inspects it."""


def inspect_all(catalog: Catalog, engine: EngineChoice = BY_DEFAULT) -> Inspections:
    """Open every item's file, several at a time; one that ends the process that opens it cannot be read."""
    inspect = catalog.medium.inspect
    jobs = [(None if file is None else catalog.root / file, inspect) for file in catalog.files]
    return _inspect(jobs, f"inspecting {len(catalog)} {catalog.medium.noun}s", engine)


def check_media(
    catalog: Catalog, inspections: Inspections, problems: Problems, engine: EngineChoice = BY_DEFAULT
) -> None:
    """Report missing, unreadable and orphaned files, and those whose size differs from the annotated one."""
    _report_missing(catalog, problems)
    _report_orphans(catalog, problems)
    noun = catalog.medium.noun
    for item, inspection in enumerate(inspections):
        if isinstance(inspection, BadMedia) or (inspection is not None and inspection.faults):
            _report_inspection(str(catalog.path(item)), catalog.items.ids[item], inspection, noun, problems)
    _report_sizes(catalog, inspections, problems)
    if catalog.drive is not None:
        _check_other_sensor_data(catalog, catalog.drive, problems, engine)


def media_sizes(inspections: Inspections) -> np.ndarray:
    """(n, 2) the `extent` of each item's file; nan where it could not be read."""
    sizes = [one.extent if isinstance(one, Inspection) else (np.nan, np.nan) for one in inspections]
    return np.array(sizes, float).reshape(-1, 2)


def _inspect(jobs: Sequence[Job], title: str, engine: EngineChoice) -> Inspections:
    return map_items(_inspect_one, jobs, title, _ended_its_worker, engine)


def _inspect_one(job: Job) -> Inspection | BadMedia | None:
    path, inspect = job
    try:
        return None if path is None else inspect(path)
    except BadMedia as bad:
        return bad


def _ended_its_worker(_: Job, reason: str) -> BadMedia:
    return worker_died(reason)


def _report_inspection(
    file: str, item: str, inspection: Inspection | BadMedia | None, noun: str, problems: Problems
) -> None:
    if isinstance(inspection, BadMedia):
        expected = f"a readable {noun}"
        problems.add(Problem(inspection.kind, file, inspection.found, expected, inspection.remedy, item=item))
    elif inspection is not None:
        for kind, found, expected, remedy in inspection.faults:
            problems.add(Problem(kind, file, found, expected, remedy, item=item))


def _report_missing(catalog: Catalog, problems: Problems) -> None:
    """A row for each missing file; one row if they are many, as in a part of a large data set."""
    if catalog.files.null_count() > FEW:
        problems.add(missing_media(catalog))
        return
    expected, remedy = f"its {catalog.medium.noun} below {catalog.root}", "unzip it again, or exclude the item"
    lines = catalog.items.line
    for item in np.flatnonzero(catalog.files.is_null().to_numpy()).tolist():
        name, place = catalog.items.ids[item], catalog.place(item)
        line = None if lines is None or not lines[item] else int(lines[item])
        problems.add(Problem("missing_media", place, f"no file for {name}", expected, remedy, line=line, item=name))


def _report_orphans(catalog: Catalog, problems: Problems) -> None:
    """Files without a row in the table of their split."""
    if catalog.items.line is None:
        return
    without_row = pl.Series(~catalog.labelled & (catalog.items.line == 0))
    orphan = catalog.tables.is_not_null() & without_row & (catalog.split != "test")
    remedy = "add a row for it, or exclude the item"
    for item in np.flatnonzero(orphan.to_numpy()).tolist():
        expected = f"a row in {catalog.tables[item]}"
        name = catalog.items.ids[item]
        problems.add(Problem("orphan_media", catalog.place(item), "no row", expected, remedy, item=name))


def _report_sizes(catalog: Catalog, inspections: Inspections, problems: Problems) -> None:
    if catalog.size is None:
        return
    sizes = media_sizes(inspections)
    differs = np.flatnonzero((sizes != catalog.size).any(axis=1) & np.isfinite(sizes + catalog.size).all(axis=1))
    remedy = "use the image that was annotated, or scale its annotations"
    for item in differs.tolist():
        found = " x ".join(f"{side:g}" for side in sizes[item]) + " px"
        expected = " x ".join(f"{side:g}" for side in catalog.size[item]) + " px, as annotated"
        name, file = catalog.items.ids[item], str(catalog.path(item))
        problems.add(Problem("size_mismatch", file, found, expected, remedy, item=name))


def _check_other_sensor_data(catalog: Catalog, drive: Drive, problems: Problems, engine: EngineChoice) -> None:
    """Camera images and further sweeps that belong to the samples."""
    others = drive.sample_data.with_row_index("row").filter(
        ~pl.col("row").is_in(drive.samples)
        & pl.col("sample_token").is_in(catalog.items.ids.implode())
        & pl.col("modality").is_in(["camera", "lidar"])  # nuScenes has radars too, whose files nothing reads
    )
    rows = others.select("sample_token", "filename", "file", "modality").rows()
    jobs: list[Job] = [
        (Path(file) if file else None, inspect_image if sensor == "camera" else catalog.medium.inspect)
        for _, _, file, sensor in rows
    ]
    inspections = _inspect(jobs, f"inspecting {len(jobs)} further files", engine)
    expected, remedy = f"a file below {catalog.root}", "unzip it again, or do without this sensor"
    for (sample, name, file, sensor), inspection in zip(rows, inspections, strict=True):
        if file is None:
            found = f"no such file, of sample {sample}"  # not an item to exclude: its sweep may be there
            problems.add(Problem("missing_media", str(catalog.root / name), found, expected, remedy))
        else:
            noun = IMAGE.noun if sensor == "camera" else catalog.medium.noun
            _report_inspection(file, sample, inspection, noun, problems)
    for path in sorted(set(drive.maps.values())):
        try:
            read_road_map(path)
        except BadMedia as bad:
            remedy = "get the file again, or do without it"
            problems.add(Problem(bad.kind, str(path), bad.found, "a map that can be read", remedy))
