"""Audacity label tracks: `begin<TAB>end<TAB>text` in seconds, in a text file named like the recording.

A line that begins with a backslash gives the frequencies of the label before it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tallymark.core.problems import Problem, Problems, clip
from tallymark.data.annotations import Annotations
from tallymark.formats.entries import as_number, first_line, read_lines
from tallymark.formats.event_tables import Heard, by_stem, recording_of, spans, table_paths
from tallymark.formats.raven import is_raven
from tallymark.geometry import Events
from tallymark.io.audio import RECORDING
from tallymark.io.folders import Folder

MOST = 3
"""Fields in a line."""


def audacity_tracks(listed: Folder, problems: Problems) -> list[Heard]:
    """The labels of all tracks below a folder: text files that begin like one, and, where there are such, those that
    are named like a recording.
    """
    texts = [path for path in listed.ending({".txt"}) if not is_raven(path)]
    sure = {path for path in texts if _looks_like_labels(path)}
    if not sure:
        return []
    stems = by_stem(listed.ending(RECORDING.suffixes))
    tracks = [path for path in texts if path in sure or (path.stem in stems and recording_of(path, stems))]
    return [heard for path in tracks if (heard := read_track(path, problems)) is not None]


def read_track(path: Path, problems: Problems) -> Heard | None:
    """The labels of one track; an empty file says that there are none."""
    lines = read_lines(path, problems)
    if lines is None:
        return None
    heard = Heard(path)
    for line, text in lines:
        if text.startswith("\\"):
            continue
        begin, end = _span(text)
        if not np.isfinite([begin, end]).all():
            expected, remedy = "begin and end in seconds, then a text, between tabs", "mend or remove the line"
            problems.add(Problem("not_a_number", str(path), clip(text), expected, remedy, line=line))
        elif end < begin:
            expected, remedy = "an end after the begin", "mend or remove the line"
            found = f"from {begin:g} to {end:g} s"
            problems.add(Problem("negative_duration", str(path), found, expected, remedy, line=line))
        else:
            heard.add(begin, end, line)
    return heard


def _span(text: str) -> tuple[float, float]:
    """Begin and end, nan where there are none; some locales write a decimal comma."""
    fields = [*text.split("\t", MOST - 1), "", ""]
    return as_number(fields[0].replace(",", ".")), as_number(fields[1].replace(",", "."))


def _looks_like_labels(path: Path) -> bool:
    return bool(np.isfinite(_span(first_line(path))).all())


def write_audacity(
    calls: Annotations[Events], folder: str | Path, text: str = "call", *, unknown: float = 0.0
) -> list[Path]:
    """Write a label track for each recording X.wav, `X.txt` (or `X.wav.txt`, beside another one X); returns where.

    text: the label of calls without a class. unknown: seconds that a call takes where its length is not known; with
    0 it is a point. A recording without calls gets an empty track.
    """
    begin, end = spans(calls.shapes, unknown)
    written = table_paths(Path(folder), calls.items.ids, ".txt")
    for item, path in enumerate(written):
        rows = []
        for at in range(int(calls.offsets[item]), int(calls.offsets[item + 1])):
            label = calls.classes[int(calls.labels[at])] if calls.classes else text
            rows.append(f"{begin[at]:.6f}\t{end[at]:.6f}\t{label}\n")
        path.write_text("".join(rows), "utf-8", newline="\n")
    return written
