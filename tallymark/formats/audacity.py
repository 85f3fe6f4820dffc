"""Audacity label tracks: `begin<TAB>end<TAB>text` in seconds, in a text file named like the recording.

A line that begins with a backslash has the frequency range of the label before it.
"""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path

import numpy as np

from tallymark.core.outputs import write_text
from tallymark.core.problems import Problem, Problems, clip
from tallymark.data.annotations import Annotations
from tallymark.data.event_labels import LabelFilter
from tallymark.formats.event_tables import EventTable, by_stem, recording_of, spans, table_paths
from tallymark.formats.parsing import parse_float
from tallymark.geometry import Events
from tallymark.io.audio import RECORDING
from tallymark.io.folders import Folder
from tallymark.io.texts import first_line, read_lines

FIELDS = 3
"""Fields in a line: begin, end, text."""


def label_tracks(listed: Folder, selections: Set[Path]) -> list[Path]:
    """The label tracks in a folder: the text files that begin with a label, other than these selection tables.

    If there are any, those that are named like a recording are tracks too: an empty one says that it has no events.
    """
    texts = [path for path in listed.ending({".txt"}) if path not in selections]
    certain = {path for path in texts if _begins_with_label(path)}
    if not certain:
        return []
    stems = by_stem(listed.ending(RECORDING.suffixes))
    return [path for path in texts if path in certain or (path.stem in stems and recording_of(path, stems))]


def read_label_track(path: Path, labels: LabelFilter, problems: Problems) -> EventTable | None:
    """The events of one label track whose labels are wanted; an empty file means that there are none."""
    lines = read_lines(path, problems)
    if lines is None:
        return None
    events = EventTable(path)
    for line, text in lines:
        if text.startswith("\\"):
            continue
        begin, end = _span(text)
        remedy = "correct or remove the line"
        if not np.isfinite([begin, end]).all():
            expected = "begin and end in seconds and a text, separated by tabs"
            problems.add(Problem("not_a_number", str(path), clip(text), expected, remedy, line=line))
        elif end < begin:
            found = f"from {begin:g} to {end:g} s"
            expected = "an end after the begin"
            problems.add(Problem("negative_duration", str(path), found, expected, remedy, line=line))
        else:
            label = text.split("\t", FIELDS - 1)[2:]
            events.add(begin, end, line, kept=labels.keeps([word.strip() for word in label]))
    return events


def _span(text: str) -> tuple[float, float]:
    """Begin and end in seconds, nan where they are missing. Some locales write a decimal comma."""
    fields = [*text.split("\t", FIELDS - 1), "", ""]
    return parse_float(fields[0].replace(",", ".")), parse_float(fields[1].replace(",", "."))


def _begins_with_label(path: Path) -> bool:
    return bool(np.isfinite(_span(first_line(path))).all())


def write_audacity(
    calls: Annotations[Events], folder: str | Path, text: str = "call", *, default_length: float = 0.0
) -> list[Path]:
    """Write a label track for each recording X.wav: `X.txt`, or `X.wav.txt` if another recording has the stem X.

    A recording without events gets an empty track.

    Parameters
    ----------
    text
        The label of events without a class.
    default_length
        Duration in seconds of events of unknown length; 0 writes them as points.

    Returns
    -------
    The paths of the tracks.
    """
    begin, end = spans(calls.shapes, default_length)
    written = table_paths(Path(folder), calls.items.ids, ".txt")
    for item, path in enumerate(written):
        rows = []
        for at in range(int(calls.offsets[item]), int(calls.offsets[item + 1])):
            label = calls.classes[int(calls.labels[at])] if calls.classes else text
            rows.append(f"{begin[at]:.6f}\t{end[at]:.6f}\t{label}\n")
        write_text(path, "".join(rows))
    return written
