"""Raven selection tables: tab-separated, one row for each view of a selection.

A selection has a row for each view (waveform, spectrogram) that shows it: together they are one event. `Begin File`
names the recording and `File Offset (s)` is the time in it; without these columns the table is named like it.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np

from tallymark.core.outputs import write_text
from tallymark.core.problems import Problem, Problems, clip
from tallymark.data.annotations import Annotations
from tallymark.data.event_labels import LabelFilter
from tallymark.formats.entries import base_name
from tallymark.formats.event_files import SUFFIXES
from tallymark.formats.event_tables import EventTable, spans, table_paths
from tallymark.formats.parsing import ParseError, parse_float
from tallymark.geometry import Events
from tallymark.io.folders import Folder
from tallymark.io.texts import first_line, read_lines

NUMBER = "Selection"
BEGIN = "Begin Time (s)"
END = "End Time (s)"
OFFSET = "File Offset (s)"
FILES = ("Begin File", "Begin Path")
COLUMNS = (NUMBER, "View", "Channel", BEGIN, END, "Low Freq (Hz)", "High Freq (Hz)", FILES[0], OFFSET, "Annotation")
Cells = dict[str, str]


def is_raven(path: Path) -> bool:
    """Whether a file begins with the header of a selection table."""
    header = _fields(first_line(path))
    return NUMBER in header and any(name.startswith("Begin Time") for name in header)


def selection_tables(listed: Folder) -> list[Path]:
    """The selection tables in a folder."""
    return [path for path in listed.ending(SUFFIXES) if is_raven(path)]


def read_selection_table(path: Path, labels: LabelFilter, problems: Problems) -> EventTable | None:
    """The events of one table whose labels are wanted; None, with a problem, if it lacks a required column."""
    rows = _rows(path, problems)
    if rows is None:
        return None
    events = EventTable(path)
    seen: dict[tuple[str, str | None], tuple[float, float]] = {}
    for line, cells in rows:
        file = next((cells[name] for name in FILES if cells.get(name)), None)
        try:
            span = _span(cells)
            key = (cells[NUMBER], file)
            if key not in seen:
                seen[key] = span
                kept = labels.keeps([cell for name, cell in cells.items() if labels.is_column(name)])
                events.add(*span, line, file, kept=kept)
            elif seen[key] != span:
                found = f"selection {clip(cells[NUMBER])} again at other times"
                remedy = "renumber the selections, or remove one of the two"
                raise ParseError("duplicate_selection", found, "a distinct number for each selection", remedy)
        except ParseError as bad:
            problems.add(bad.at(path, line, file))
    return events


def _rows(path: Path, problems: Problems) -> list[tuple[int, Cells]] | None:
    """The rows as (line, cells by column); None, with a problem, if required columns are missing."""
    lines = read_lines(path, problems)
    if lines is None:
        return None
    header = _fields(lines[0][1])
    missing = [name for name in (NUMBER, BEGIN, END) if name not in header]
    if missing:
        expected = f"a column {missing[0]}"
        remedy = "export the selection table with begin and end times"
        problems.add(Problem("bad_header", str(path), clip(lines[0][1]), expected, remedy, line=1))
        return None
    rows = []
    for line, text in lines[1:]:
        fields = _fields(text)
        if len(fields) < len(header):
            found = f"{len(fields)} in {clip(text)}"
            expected = f"{len(header)} fields"
            remedy = "give every row all its fields"
            problems.add(Problem("field_count", str(path), found, expected, remedy, line=line))
            continue
        rows.append((line, dict(zip(header, fields, strict=False))))
    files = {next((cells[name] for name in FILES if cells.get(name)), "") for _, cells in rows}
    if len(files) > 1 and OFFSET not in header:
        found = f"{len(files)} recordings"
        expected = f"a column {OFFSET}, since times continue from one recording to the next"
        problems.add(Problem("no_offset", str(path), found, expected, "add that measurement in Raven", line=1))
        return None
    return rows


def _fields(text: str) -> list[str]:
    """The cells of a row. Some programs other than Raven quote them."""
    return [cell.strip().strip('"') for cell in text.split("\t")]


def _span(cells: Cells) -> tuple[float, float]:
    """Begin and end of a selection in its recording, in seconds."""
    begin = parse_float(cells[BEGIN])
    end = parse_float(cells[END])
    offset = parse_float(cells[OFFSET]) if OFFSET in cells else begin
    if not np.isfinite([begin, end, offset]).all():
        found = " ".join(f"{name} {clip(cells[name])}" for name in (BEGIN, END, OFFSET) if name in cells)
        commas = re.search(r"\d,\d", found) is not None
        remedy = "write decimals with a point, not with a comma" if commas else "correct or remove the row"
        raise ParseError("not_a_number", found, "finite numbers of seconds", remedy)
    if end < begin:
        found = f"from {begin:g} to {end:g} s"
        raise ParseError("negative_duration", found, "an end after the begin", "correct or remove the row")
    return offset, offset + (end - begin) if OFFSET in cells else end


def write_raven(
    calls: Annotations[Events], folder: str | Path, band: tuple[float, float], *, default_length: float = 1.0
) -> list[Path]:
    """Write a selection table for each recording X.wav: `X.Table.1.selections.txt`.

    If another recording has the stem X, as X.flac, it is `X.wav.Table.1.selections.txt`. A recording without events
    gets a table without rows.

    Parameters
    ----------
    band
        Lowest and highest frequency of the selections in Hz.
    default_length
        Duration in seconds of events of unknown length.

    Returns
    -------
    The paths of the tables.
    """
    written = table_paths(Path(folder), calls.items.ids, ".Table.1.selections.txt")
    rows = _table_rows(calls, band, default_length, np.zeros(len(calls.items)))
    for item, path in enumerate(written):
        own = rows[int(calls.offsets[item]) : int(calls.offsets[item + 1])]
        numbered = [f"{number}\t{row}" for number, row in enumerate(own, start=1)]
        write_text(path, "\n".join([_header(calls), *numbered]) + "\n")
    return written


def write_raven_combined(
    calls: Annotations[Events],
    path: str | Path,
    band: tuple[float, float],
    seconds: np.ndarray,
    *,
    default_length: float = 1.0,
) -> None:
    """Write one selection table of all recordings, as Raven shows them when they are opened together, in this order.

    Parameters
    ----------
    band, default_length
        As for `write_raven`.
    seconds
        Length of each recording: times go on from one to the next; `File Offset (s)` is the time in the recording.
    """
    starts = np.cumsum(seconds) - seconds
    rows = _table_rows(calls, band, default_length, starts)
    numbered = [f"{number}\t{row}" for number, row in enumerate(rows, start=1)]
    write_text(path, "\n".join([_header(calls), *numbered]) + "\n")


def _header(calls: Annotations[Events]) -> str:
    return "\t".join([*COLUMNS, *(() if calls.score is None else ("Score",))])


def _table_rows(
    calls: Annotations[Events], band: tuple[float, float], default_length: float, starts: np.ndarray
) -> list[str]:
    """A row for each event, without its number. starts: when each recording begins, in seconds."""
    begin, end = spans(calls.shapes, default_length)
    files = [base_name(name) for name in calls.items.ids]
    shared = Counter(files)
    files = [name if shared[file] > 1 else file for name, file in zip(calls.items.ids, files, strict=True)]
    rows = []
    for at, item in enumerate(calls.item.tolist()):
        times = f"{begin[at] + starts[item]:.6f}", f"{end[at] + starts[item]:.6f}"
        text = calls.classes[int(calls.labels[at])] if calls.classes else ""
        score = [] if calls.score is None else [f"{calls.score[at]:.6g}"]
        frequencies = f"{band[0]:g}", f"{band[1]:g}"
        cells = ["Spectrogram 1", "1", *times, *frequencies, files[item], f"{begin[at]:.6f}", text, *score]
        rows.append("\t".join(cells))
    return rows
