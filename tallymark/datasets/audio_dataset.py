"""Recordings and the tables of what is heard in them: names joined with or without the folders in front."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from tallymark.core.problems import EVERY, Problem, Problems
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import NO_GROUP, Catalog, Split, concat_splits
from tallymark.data.items import Items
from tallymark.io.finder import Finder
from tallymark.io.folders import Folder, split_of_path
from tallymark.io.media import Medium

DAY = re.compile(r"(?<!\d)(?:19|20)\d\d-?[01]\d-?[0-3]\d(?!\d)")
"""A date in the name of a file or folder."""


def read_audio_dataset(
    listed: Folder,
    medium: Medium,
    tables: Sequence[Path],
    read_truth: Callable[[Path], Annotations[Any] | None],
    problems: Problems,
) -> Catalog | None:
    """A data set of recordings and tables; recordings that no table of their part names hold nothing.

    Where two tables name the same recording, the one that names more recordings counts, and that is noted.
    """
    recordings = listed.ending(medium.suffixes)
    notes = Problems(EVERY)
    read = [(path, truth) for path in tables if (truth := read_truth(path)) is not None]
    read.sort(key=lambda pair: -len(pair[1].items))
    taken: dict[Path, Path] = {}
    parts: list[Split] = []
    for table, truth in read:
        part = _part(table, truth, recordings, listed.root, notes)
        rivals = sorted({taken[path].name for path in part.files.values() if path in taken})
        if rivals:
            found = f"recordings that {', '.join(rivals)} names too"
            _note_unused(table, found, "each recording in one table", notes)
            continue
        if not part.files and len(read) > 1 and recordings:
            _note_unused(table, f"none of its {len(truth.items)} recordings is here", "recordings of the folder", notes)
            continue
        taken |= dict.fromkeys(part.files.values(), table)
        parts.append(part)
    parts = _with_the_rest(parts, [path for path in recordings if path not in taken], listed.root)
    if not parts:
        expected = f"recordings ({', '.join(sorted(medium.suffixes))}) or tables of calls"
        problems.add(Problem("empty_folder", str(listed.root), "none", expected, "name the folder that holds them"))
        return None
    catalog = concat_splits(listed.root, medium, parts, problems)
    catalog.notes.merge(notes)
    ids, files = catalog.items.ids, catalog.files
    group = pl.Series([day_of(file or name) for name, file in zip(ids, files, strict=True)], dtype=pl.String)
    return replace(catalog, items=Items(ids, group, catalog.items.line))


def day_of(name: str) -> str:
    """The group of a recording: the folder that it lies in if that names a day, else the day in its name."""
    path = Path(name)
    if DAY.search(path.parent.name):
        return path.parent.name
    day = DAY.search(path.name)
    return day[0] if day else NO_GROUP


def _part(table: Path, truth: Annotations[Any], recordings: list[Path], root: Path, notes: Problems) -> Split:
    """Each name in a table with its recording: by its whole path, else by its bare name if only one has it."""
    finder, files = Finder(recordings, root), {}
    for name in truth.items.ids:
        candidates = finder.candidates(name)
        if len(candidates) == 1:
            files[name] = candidates[0]
        elif candidates:
            found = " and ".join(str(path.relative_to(root)) for path in candidates[:3])
            remedy = "write the name with its folder in front"
            notes.add(Problem("ambiguous_file", str(table), found, f"one recording '{name}'", remedy, item=name))
    parts = {split_of_path(path, root) for path in files.values()}
    name = parts.pop() if len(parts) == 1 else "train"
    return Split(name, files, truth, table, unnamed_are_empty=True)


def _with_the_rest(parts: list[Split], rest: list[Path], root: Path) -> list[Split]:
    """Recordings that no table names, in the part that their folder says; without any table they are to be heard."""
    default = "train" if parts else "test"
    taken = {name for part in parts if part.truth is not None for name in part.truth.items.ids}
    for path in rest:
        name = split_of_path(path, root, default)
        part = next((part for part in parts if part.name == name), None)
        if part is None:
            part = Split(name, {})
            parts.append(part)
        own = _name(path, root)
        own = path.relative_to(root).as_posix() if own in taken else own
        taken.add(own)
        part.files[own] = path
    return parts


def _name(path: Path, root: Path) -> str:
    """The bare name, with the folder in front if that is a day's."""
    return f"{path.parent.name}/{path.name}" if path.parent != root and DAY.search(path.parent.name) else path.name


def _note_unused(table: Path, found: str, expected: str, notes: Problems) -> None:
    remedy = "nothing, if another table is meant; else move that one away"
    notes.add(Problem("unused_table", str(table), found, expected, remedy))
