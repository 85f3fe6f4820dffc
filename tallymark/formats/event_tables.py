"""Calls that tables beside recordings state: which recording is meant, and the catalog of all of them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

import numpy as np
import polars as pl

from tallymark.core.problems import EVERY, Problem, Problems
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.datasets.audio_dataset import day_of
from tallymark.formats.entries import Entry, bare_name, catalog_of, items_of
from tallymark.geometry import Events
from tallymark.io.audio import RECORDING
from tallymark.io.finder import Finder
from tallymark.io.folders import Folder, distinct_names, split_of_path

ENDING = re.compile(r"(\.Table\.\d+)?([._-]selections?|[._-]labels?)?\.(txt|tsv)$", re.IGNORECASE)
"""What a table's name has behind that of its recording."""


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


def catalog_of_calls(listed: Folder, tables: Sequence[Heard]) -> Catalog:
    """All recordings, labelled where a table is about them; nobody says that the others are empty.

    A table is about the recordings that its rows name, and about the one whose stem begins its own name. Two tables
    of one recording are taken together, and that is noted.
    """
    recordings = listed.ending(RECORDING.suffixes)
    names = distinct_names(recordings, listed.root, lambda path: path.name)
    notes, finder, stems = Problems(EVERY), Finder(recordings, listed.root), by_stem(recordings)
    about: dict[Path | str, Path] = {}
    meant: list[Path | str] = []
    for heard in tables:
        own: Path | str | None = recording_of(heard.table, stems)
        if own is None and (None in heard.file or not heard.file):
            own = _without_file(heard, notes)
        by_name = {name: _named(name, heard, finder, listed, notes) for name in dict.fromkeys(heard.file) if name}
        places = [place for name in heard.file if (place := by_name[name] if name else own) is not None]
        for place in dict.fromkeys([*places, own] if own else places):
            first = about.setdefault(place, heard.table)
            if first != heard.table:
                _note_two(heard.table, first, bare_name(str(place)), notes)
        meant += places
    entries = [
        Entry(names[place], place, split_of_path(place, listed.root), table, labelled=True)
        if isinstance(place, Path)
        else Entry(place, None, split_of_path(table, listed.root), table, labelled=True)
        for place, table in about.items()
    ]
    rest = [path for path in recordings if path not in about]
    entries += [Entry(names[path], path, split_of_path(path, listed.root), None, labelled=False) for path in rest]
    number = {place: at for at, place in enumerate(about)}
    begin, end, line = (
        np.array([value for heard in tables for value in getattr(heard, column)]) for column in ("begin", "end", "line")
    )
    item = np.array([number[place] for place in meant], np.int64)
    calls = Events((begin + end) / 2, end - begin)
    truth = Annotations.from_rows(items_of(entries), item, calls, line=line.astype(np.int64))
    return _by_day(catalog_of(listed.root, RECORDING, entries, truth, notes))


def by_stem(recordings: Sequence[Path]) -> dict[str, list[Path]]:
    """Recordings by their name, with and without the suffix."""
    stems = defaultdict(list)
    for path in recordings:
        stems[path.stem].append(path)
        stems[path.name].append(path)
    return stems


def recording_of(table: Path, stems: Mapping[str, list[Path]]) -> Path | None:
    """The recording whose name or stem begins a table's name, set apart from the rest of it: the longest such one.

    Of several with that stem the one in the same folder is meant; None if there is no telling.
    """
    name = table.name
    ends = [at for at, character in enumerate(name) if not character.isalnum()]
    fitting = next((stems[name[:end]] for end in reversed(ends) if name[:end] in stems), [])
    chosen = [path for path in fitting if path.parent == table.parent] or fitting
    return chosen[0] if len(chosen) == 1 else None


def table_paths(folder: Path, recordings: Iterable[str], ending: str) -> list[Path]:
    """Where the tables of recordings are written: below `folder`, whatever their names say, each in a file of its own.

    They are named like the recordings without the suffix, but for those that only this tells apart.
    """
    paths = []
    for recording in recordings:
        parts = PurePosixPath(recording.replace("\\", "/")).parts
        paths.append(folder.joinpath(*(part for part in parts if part not in ("/", "..") and not part.endswith(":"))))
        paths[-1].parent.mkdir(parents=True, exist_ok=True)
    shared = Counter(path.with_suffix("") for path in paths)
    return [path.with_name((path.stem if shared[path.with_suffix("")] == 1 else path.name) + ending) for path in paths]


def spans(calls: Events, unknown: float) -> tuple[np.ndarray, np.ndarray]:
    """Begin and end of calls; where a length is not known it is `unknown`, or less so that none begins before 0."""
    lengths = np.full(len(calls), np.nan) if calls.length is None else calls.length
    half = np.where(np.isnan(lengths), np.minimum(unknown / 2, np.maximum(calls.time, 0)), lengths / 2)
    return calls.time - half, calls.time + half


def _named(name: str, heard: Heard, finder: Finder, listed: Folder, notes: Problems) -> Path | str:
    """The recording that a row names; the name itself where there is no such file."""
    found = finder.candidates(name, heard.table.parent, split_of_path(heard.table, listed.root))
    if len(found) == 1:
        return found[0]
    if found:
        rivals = " and ".join(path.relative_to(listed.root).as_posix() for path in found[:3])
        remedy = "write the name with its folder in front"
        notes.add(Problem("ambiguous_file", str(heard.table), rivals, f"one recording '{name}'", remedy, item=name))
    return bare_name(name)


def _without_file(heard: Heard, notes: Problems) -> str:
    """The recording that a table's own name means, although it is not here: what stands before the table's ending."""
    name = ENDING.sub("", heard.table.name)
    found, expected = "no recording of that name, or several", f"one recording '{name}' with its calls"
    notes.add(Problem("unknown_recording", str(heard.table), found, expected, "add it, or rename the table", item=name))
    return name


def _note_two(table: Path, first: Path, name: str, notes: Problems) -> None:
    found, expected = f"calls of {name}, as in {first}", "one table for each recording"
    remedy = "nothing, if both belong to it: they are taken together"
    notes.add(Problem("two_tables", str(table), found, expected, remedy))


def _by_day(catalog: Catalog) -> Catalog:
    """The catalog with the day of each recording as its group."""
    ids, truth = catalog.items.ids, catalog.truth
    group = pl.Series([day_of(file or name) for name, file in zip(ids, catalog.files, strict=True)], dtype=pl.String)
    items = Items(ids, group, catalog.items.line)
    return replace(catalog, items=items, truth=None if truth is None else replace(truth, items=items))
