"""Calls that tables beside recordings state: which recording is meant, and the catalog of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

import numpy as np
import polars as pl

from tallymark.data.annotations import Annotations
from tallymark.data.audio import RECORDING
from tallymark.data.catalog import Catalog
from tallymark.data.folders import Folder, part_of
from tallymark.data.geometry import Instants
from tallymark.data.items import Items
from tallymark.data.recorded import day_of
from tallymark.formats.gathered import Entry, Finder, bare_name, catalog_of, distinct_names, every_note, items_of
from tallymark.problems import Problem, Problems


@dataclass
class Heard:
    """What one table states: begin and end of each call in seconds, its line, and the recording's name if given."""

    table: Path
    begin: list[float] = field(default_factory=list)
    end: list[float] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    file: list[str | None] = field(default_factory=list)

    def add(self, begin: float, end: float, line: int, file: str | None = None) -> None:
        self.begin.append(begin)
        self.end.append(end)
        self.line.append(line)
        self.file.append(file)


def catalog_of_calls(listed: Folder, tables: Sequence[Heard], problems: Problems) -> Catalog:
    """All recordings, labelled where a table is about them; nobody says that the others are empty.

    A table is about the recordings that its rows name, and about the one whose stem begins its own name. Two tables
    of one recording are taken together, and that is noted.
    """
    recordings = listed.ending(RECORDING.suffixes)
    names = distinct_names(recordings, listed.root, lambda path: path.name)
    notes, finder = every_note(), Finder(recordings, listed.root)
    position: dict[Path | str, int] = {}
    entries: list[Entry] = []
    item: list[int] = []

    def entry_of(found: Path | str, table: Path) -> int:
        if found not in position:
            position[found] = len(entries)
            file = found if isinstance(found, Path) else None
            part = part_of(file or table, listed.root)
            entries.append(Entry(names[file] if file else str(found), file, part, table, labelled=True))
        elif (first := entries[position[found]]).table != table:
            found_too = f"calls of {first.id}, as in {first.table}"
            expected, remedy = "one table for each recording", "nothing, if both belong to it: they are taken together"
            notes.add(Problem("two_tables", str(table), found_too, expected, remedy, item=first.id))
        return position[found]

    for heard in tables:
        own = recording_of(heard.table, recordings)
        if (own is None and None in heard.file) or (own is None and not heard.file):
            _report_unknown(heard, problems)
        by_name = {name: _named(name, heard, finder, listed, notes) for name in dict.fromkeys(heard.file) if name}
        places = [own if name is None else by_name[name] for name in heard.file]
        number = {place: entry_of(place, heard.table) for place in dict.fromkeys([*places, own]) if place is not None}
        item += [number[place] if place is not None else -1 for place in places]
    for path, name in names.items():
        if path not in position:
            entries.append(Entry(name, path, part_of(path, listed.root), None, labelled=False))
    begin, end, line = (
        np.array([value for heard in tables for value in getattr(heard, column)]) for column in ("begin", "end", "line")
    )
    at = np.array(item, np.int64)
    kept = np.flatnonzero(at >= 0)
    calls = Instants((begin + end) / 2, end - begin).take(kept)
    truth = Annotations.gather(items_of(entries), at[kept], calls, line=line[kept].astype(np.int64))
    return _by_day(catalog_of(listed.root, RECORDING, entries, truth, notes))


def recording_of(table: Path, recordings: Sequence[Path]) -> Path | None:
    """The recording whose stem begins a table's name (the longest such), the one in the same folder first."""
    fitting = [path for path in recordings if _begins(path.stem, table.name)]
    longest = max((len(path.stem) for path in fitting), default=0)
    fitting = [path for path in fitting if len(path.stem) == longest]
    beside = [path for path in fitting if path.parent == table.parent]
    chosen = beside or fitting
    return chosen[0] if len(chosen) == 1 else None


def table_path(folder: Path, recording: str, ending: str) -> Path:
    """Where the table of a recording is written: below `folder`, whatever its name says."""
    parts = [part for part in PurePosixPath(recording.replace("\\", "/")).parts if part not in ("/", "..")]
    path = folder.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name(path.stem + ending)


def spans(calls: Instants, unknown: float) -> tuple[np.ndarray, np.ndarray]:
    """Begin and end of calls; where a length is not known it is `unknown`, or less so that none begins before 0."""
    lengths = np.full(len(calls), np.nan) if calls.length is None else calls.length
    half = np.where(np.isnan(lengths), np.minimum(unknown / 2, np.maximum(calls.time, 0)), lengths / 2)
    return calls.time - half, calls.time + half


def _begins(stem: str, name: str) -> bool:
    """Whether a name is the stem and something that is set apart from it."""
    return name.startswith(stem) and not name[len(stem) : len(stem) + 1].isalnum()


def _named(name: str, heard: Heard, finder: Finder, listed: Folder, notes: Problems) -> Path | str:
    """The recording that a row names; the name itself where there is no such file."""
    found = finder.candidates(name, heard.table.parent, part_of(heard.table, listed.root))
    if len(found) == 1:
        return found[0]
    if found:
        rivals = " and ".join(path.relative_to(listed.root).as_posix() for path in found[:3])
        remedy = "write the name with its folder in front"
        notes.add(Problem("ambiguous_file", str(heard.table), rivals, f"one recording '{name}'", remedy, item=name))
    return bare_name(name)


def _report_unknown(heard: Heard, problems: Problems) -> None:
    found = f"{len(heard.file)} calls of no recording that is here"
    expected, remedy = "the name of a recording, or a column Begin File", "name the table like its recording"
    problems.add(Problem("unknown_recording", str(heard.table), found, expected, remedy))


def _by_day(catalog: Catalog) -> Catalog:
    """The catalog with the day of each recording as its group."""
    ids, truth = catalog.items.ids, catalog.truth
    group = pl.Series([day_of(file or name) for name, file in zip(ids, catalog.files, strict=True)], dtype=pl.String)
    items = Items(ids, group, catalog.items.line)
    return replace(catalog, items=items, truth=None if truth is None else replace(truth, items=items))
