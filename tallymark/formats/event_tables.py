"""Tables of events beside recordings (Raven, Audacity): which recording each is about, and the catalog of all."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tallymark.core.outputs import make_folder
from tallymark.core.problems import EVERY, Problem, Problems
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.recording_days import grouped_by_day
from tallymark.formats.entries import Entry, base_name, catalog_of, items_of
from tallymark.geometry import Events
from tallymark.io.audio import RECORDING
from tallymark.io.finder import Finder
from tallymark.io.folders import Folder, distinct_names, split_of_path
from tallymark.io.names import output_paths

TABLE_ENDING = re.compile(r"(\.Table\.\d+)?([._-]selections?|[._-]labels?)?\.(txt|tsv)$", re.IGNORECASE)
"""What follows the name of the recording in the name of a table."""

Recording = Path | str
"""The file of a recording, or its name where the file is missing."""


@dataclass
class EventTable:
    """The events of one table: begin and end in seconds, line, and the name of the recording if a row has one.

    kept: whether its label is wanted; the recordings of the others are labelled all the same.
    """

    table: Path
    begin: list[float] = field(default_factory=list)
    end: list[float] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    file: list[str | None] = field(default_factory=list)
    kept: list[bool] = field(default_factory=list)

    def add(self, begin: float, end: float, line: int, file: str | None = None, *, kept: bool = True) -> None:
        """Append one event."""
        self.begin.append(begin)
        self.end.append(end)
        self.line.append(line)
        self.file.append(file)
        self.kept.append(kept)


def catalog_of_events(listed: Folder, tables: Sequence[EventTable]) -> Catalog:
    """A catalog of all recordings in a folder; those with a table are labelled.

    A table is about the recordings that its rows name, and about the recording whose name its own name begins with.
    Two tables of one recording are combined, with a note.
    """
    recordings = listed.ending(RECORDING.suffixes)
    notes = Problems(EVERY)
    table_of, recording_of_event = _match_tables(listed, recordings, tables, notes)
    names = distinct_names(recordings, listed.root, lambda path: path.name)
    entries = [
        Entry(names[recording], recording, split_of_path(recording, listed.root), table, labelled=True)
        if isinstance(recording, Path)
        else Entry(recording, None, split_of_path(table, listed.root), table, labelled=True)
        for recording, table in table_of.items()
    ]
    unlabelled = [path for path in recordings if path not in table_of]
    entries += [Entry(names[path], path, split_of_path(path, listed.root), None, labelled=False) for path in unlabelled]
    position = {recording: at for at, recording in enumerate(table_of)}
    item = np.array([position[recording] for recording in recording_of_event], np.int64)
    begin = np.array([value for table in tables for value in table.begin], float)
    end = np.array([value for table in tables for value in table.end], float)
    line = np.array([value for table in tables for value in table.line], np.int64)
    events = Events((begin + end) / 2, end - begin)
    kept = np.flatnonzero([value for table in tables for value in table.kept])
    truth = Annotations.from_rows(items_of(entries), item[kept], events.take(kept), line=line[kept])
    return grouped_by_day(catalog_of(listed.root, RECORDING, entries, truth, notes))


def _match_tables(
    listed: Folder, recordings: Sequence[Path], tables: Sequence[EventTable], notes: Problems
) -> tuple[dict[Recording, Path], list[Recording]]:
    """The first table of each labelled recording, and the recording of each event, table by table."""
    finder = Finder(recordings, listed.root)
    stems = by_stem(recordings)
    table_of: dict[Recording, Path] = {}
    recording_of_event: list[Recording] = []
    for table in tables:
        own: Recording | None = recording_of(table.table, stems)
        if own is None and (None in table.file or not table.file):
            own = _missing_recording(table, notes)
        by_name = {
            name: _find_recording(name, table, finder, listed, notes) for name in dict.fromkeys(table.file) if name
        }
        found = [recording for name in table.file if (recording := by_name[name] if name else own) is not None]
        for recording in dict.fromkeys([*found, own] if own else found):
            first = table_of.setdefault(recording, table.table)
            if first != table.table:
                notes.add(_second_table(table.table, first, base_name(str(recording))))
        recording_of_event += found
    return table_of, recording_of_event


def by_stem(recordings: Sequence[Path]) -> dict[str, list[Path]]:
    """Recordings by their file name, with and without the suffix."""
    stems = defaultdict(list)
    for path in recordings:
        stems[path.stem].append(path)
        stems[path.name].append(path)
    return stems


def recording_of(table: Path, stems: Mapping[str, list[Path]]) -> Path | None:
    """The recording with the longest name or stem that a table's name begins with, up to a punctuation mark.

    Of several, the one in the table's folder is chosen; None if that leaves none or more than one.
    """
    name = table.name
    ends = [at for at, character in enumerate(name) if not character.isalnum()]
    matching = next((stems[name[:end]] for end in reversed(ends) if name[:end] in stems), [])
    chosen = [path for path in matching if path.parent == table.parent] or matching
    return chosen[0] if len(chosen) == 1 else None


def table_paths(folder: Path, recordings: Iterable[str], ending: str) -> list[Path]:
    """The paths to write the tables of recordings to, always below `folder`; their folders are created.

    A table is named like its recording without the suffix, or with it where two recordings share a stem.
    """
    paths = output_paths(folder, recordings, ending)
    for place in dict.fromkeys(path.parent for path in paths):
        make_folder(place)
    return paths


def spans(events: Events, default_length: float) -> tuple[np.ndarray, np.ndarray]:
    """Begin and end of events in seconds.

    An unknown length is taken as `default_length`, or less so that no event begins before 0.
    """
    lengths = np.full(len(events), np.nan) if events.length is None else events.length
    half = np.where(np.isnan(lengths), np.minimum(default_length / 2, np.maximum(events.time, 0)), lengths / 2)
    return events.time - half, events.time + half


def _find_recording(name: str, table: EventTable, finder: Finder, listed: Folder, notes: Problems) -> Recording:
    """The recording that a row names; its name without folders where there is no such file, or more than one."""
    found = finder.candidates(name, table.table.parent, split_of_path(table.table, listed.root))
    if len(found) == 1:
        return found[0]
    if found:
        candidates = " and ".join(path.relative_to(listed.root).as_posix() for path in found[:3])
        expected = f"one recording '{name}'"
        remedy = "write the name with its folder"
        notes.add(Problem("ambiguous_file", str(table.table), candidates, expected, remedy, item=name))
    return base_name(name)


def _missing_recording(table: EventTable, notes: Problems) -> str:
    """The name of the recording that a table is named after, where the folder does not have it; that is noted."""
    name = TABLE_ENDING.sub("", table.table.name)
    found = "no recording of that name, or several"
    expected = f"one recording '{name}'"
    remedy = "add the recording, or rename the table"
    notes.add(Problem("unknown_recording", str(table.table), found, expected, remedy, item=name))
    return name


def _second_table(table: Path, first: Path, name: str) -> Problem:
    found = f"events of {name}, as in {first}"
    remedy = "nothing, if both are right: they are combined"
    return Problem("two_tables", str(table), found, "one table for each recording", remedy)
