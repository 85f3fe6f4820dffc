"""Data sets in nuScenes tables: each set of tables is a split, joined to its sweeps and images by their names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from tallymark.core.problems import EVERY, Problem, Problems, clip, nearest
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog, Split, concat_splits
from tallymark.data.drive import Drive, annotations_of, join_drive, unknown_categories
from tallymark.data.items import Items
from tallymark.geometry import Cuboids, Geometry
from tallymark.geometry.poses import concat_poses
from tallymark.io.archives import is_file
from tallymark.io.folders import Folder, split_of_path
from tallymark.io.media import Medium
from tallymark.io.nuscenes_tables import Tables, read_tables
from tallymark.io.suffixes import IMAGE_SUFFIXES


def read_drive_dataset(
    listed: Folder,
    medium: Medium,
    truth: Annotations[Cuboids] | None,
    table: Path | None,
    classes: tuple[str, ...],
    problems: Problems,
    *,
    keep_unknown: bool = False,
) -> Catalog:
    """The samples of all sets of tables below a folder, with the truth of `table` or else of the tables.

    keep_unknown: take categories that are not in `classes` as further classes, instead of reporting them.
    """
    media = [(split_of_path(path, listed.root), path) for path in listed.ending(medium.suffixes | IMAGE_SUFFIXES)]
    all_files = {path.name: path for _, path in media}
    splits: list[Split] = []
    drives: list[Drive] = []
    groups: list[pl.DataFrame] = []
    notes = Problems(EVERY)
    named: set[str] = set()
    maps: set[str] = set()
    for folder in sorted({path.parent for path in listed.named("sample.json")}):
        name = split_of_path(folder / "sample.json", listed.root)
        annotated = is_file(folder / "sample_annotation.json")
        tables = read_tables(folder, problems, annotated=annotated)
        for file_names in (tables["sample_data"]["filename"], tables["map"]["filename"]):
            named.update(file_names.str.split("/").list.last())
        maps.update(tables["map"]["filename"].str.split("/").list.last())
        own_files = {path.name: path for split, path in media if split == name}  # splits may share names of maps
        drive, items = join_drive(tables, all_files | own_files)
        known = (*classes, *unknown_categories(tables, classes)) if keep_unknown else classes
        own = _truth(truth, table, folder, tables, items, known, name, notes, problems)
        files = _sweeps(drive, items)
        truth_file = table if own is not None and truth is not None and name != "test" else folder
        splits.append(Split(name, files, own, truth_file, names=items.ids.to_list()))
        drives.append(drive)
        groups.append(pl.DataFrame({"id": items.ids, "group": items.group}))
    if truth is not None:
        samples = {name for split in splits if split.name != "test" for name in split.names}
        _report_unknown(truth, str(table), Items.of(list(samples)), problems)
    catalog = concat_splits(listed.root, medium, splits, problems)
    catalog.notes.merge(notes)
    _note_orphans([path for _, path in media], named, catalog.notes)
    group = catalog.items.ids.to_frame("id").join(pl.concat(groups).unique("id"), "id", "left", maintain_order="left")
    items = Items(catalog.items.ids, group["group"].fill_null("(none)"), catalog.items.line)
    truth = None if catalog.truth is None else replace(catalog.truth, items=items)
    lost = sorted(maps - all_files.keys())
    remarks = (f"no map: {', '.join(lost)} not found; only drawings and point_painting use it",) if lost else ()
    return replace(catalog, items=items, truth=truth, drive=_concat_drives(drives, items), remarks=remarks)


def _truth(
    truth: Annotations[Cuboids] | None,
    table: Path | None,
    folder: Path,
    tables: Tables,
    items: Items,
    classes: tuple[str, ...],
    split: str,
    notes: Problems,
    problems: Problems,
) -> Annotations[Cuboids] | None:
    """The truth of a split: the rows of the truth file for its samples, or the annotations of the tables."""
    from_tables = annotations_of(tables, items, classes) if tables["sample_annotation"].height else None
    file = str(folder / "category.json")
    for name in unknown_categories(tables, classes):
        problems.add(Problem("unknown_class", file, clip(name), "a class of the challenge", nearest(name, classes)))
    if truth is None or split == "test":
        return from_tables
    named = items.find(truth.items.ids) >= 0
    own = truth.reindex(Items(truth.items.ids.filter(pl.Series(named)), line=_lines(truth.items, named)))
    if from_tables is not None:
        _note_disagreement(own, from_tables, str(table), notes)
    return own


def _report_unknown(truth: Annotations[Geometry], table: str, samples: Items, problems: Problems) -> None:
    """Rows of the truth file for samples that are in no set of tables."""
    ids, line = truth.items.ids, truth.items.line
    expected, remedy = "a sample of sample.json", "drop the row, or add the sample's tables"
    problems.add_each(
        "unknown_sample",
        table,
        np.flatnonzero(samples.find(ids) < 0).tolist(),
        lambda at: Problem(
            "unknown_sample",
            table,
            clip(ids[at]),
            expected,
            remedy,
            line=None if line is None else int(line[at]),
            item=ids[at],
        ),
    )


def _lines(items: Items, kept: np.ndarray) -> np.ndarray | None:
    return None if items.line is None else items.line[kept]


def _note_disagreement(
    truth: Annotations[Geometry], from_tables: Annotations[Geometry], file: str, notes: Problems
) -> None:
    """Samples for which the truth file and the tables have different numbers of cuboids."""
    other = from_tables.reindex(truth.items)
    remedy = "use one of the two: remove the file to use the tables"
    for at in np.flatnonzero(truth.counts != other.counts).tolist():
        found = f"{truth.counts[at]} cuboids of sample {truth.items.ids[at]}"
        expected = f"the {other.counts[at]} of sample_annotation.json"
        line = None if truth.items.line is None else int(truth.items.line[at])
        notes.add(Problem("tables_disagree", file, found, expected, remedy, line=line))  # the sample may stay


def _note_orphans(paths: list[Path], named: set[str], notes: Problems) -> None:
    """Sweeps and images that no table names."""
    expected, remedy = "a row in sample_data.json", "none, or add its rows to the tables"
    for path in paths:
        if path.name not in named:
            notes.add(Problem("orphan_media", str(path), "no table names it", expected, remedy))


def _sweeps(drive: Drive, items: Items) -> dict[str, Path]:
    """The sweep of each sample that has one."""
    file = drive.sample_data["file"]
    rows = zip(items.ids, drive.samples.tolist(), strict=True)
    return {name: Path(file[row]) for name, row in rows if row >= 0 and file[row] is not None}


def _concat_drives(drives: list[Drive], items: Items) -> Drive:
    """Several drives as one, with the samples in the order of the items."""
    start = np.cumsum([0, *(drive.sample_data.height for drive in drives)])
    samples = np.full(len(items), -1)
    for drive, shift in zip(drives, start, strict=False):
        at = items.find(drive.tokens)
        samples[at[at >= 0]] = np.where(drive.samples < 0, -1, drive.samples + shift)[at >= 0]
    return Drive(
        sample_data=pl.concat([drive.sample_data for drive in drives]),
        sensor=concat_poses([drive.sensor for drive in drives]),
        vehicle=concat_poses([drive.vehicle for drive in drives]),
        intrinsic=np.concatenate([drive.intrinsic for drive in drives]),
        samples=samples,
        tokens=items.ids,
        maps={scene: path for drive in drives for scene, path in drive.maps.items()},
    )
