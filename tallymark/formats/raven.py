"""Raven selection tables: tab-separated, a row for each view of a selection.

A selection is shown in several views (waveform, spectrogram) and has a row in each: that is one call. The recording
is the one that `Begin File` names, with `File Offset (s)` as the time in it; else the table is named like it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tallymark.core.problems import Problem, Problems, clip
from tallymark.data.annotations import Annotations
from tallymark.formats.entries import Refused, as_number, bare_name, first_line, read_lines
from tallymark.formats.event_tables import Heard, spans, table_paths
from tallymark.geometry import Events
from tallymark.io.folders import Folder

SUFFIXES = {".txt", ".tsv"}
NUMBER, BEGIN, END, OFFSET = "Selection", "Begin Time (s)", "End Time (s)", "File Offset (s)"
FILES = ("Begin File", "Begin Path")
COLUMNS = (NUMBER, "View", "Channel", BEGIN, END, "Low Freq (Hz)", "High Freq (Hz)", FILES[0], OFFSET, "Annotation")
Cells = dict[str, str]


def is_raven(path: Path) -> bool:
    """Whether a file begins with the header of a selection table."""
    header = _fields(first_line(path))
    return NUMBER in header and any(name.startswith("Begin Time") for name in header)


def raven_tables(listed: Folder, problems: Problems) -> list[Heard]:
    """The calls of all selection tables below a folder."""
    paths = [path for path in listed.ending(SUFFIXES) if is_raven(path)]
    return [heard for path in paths if (heard := read_table(path, problems)) is not None]


def read_table(path: Path, problems: Problems) -> Heard | None:
    """The calls of one table; None, with a problem, if its columns do not tell them."""
    rows = _rows(path, problems)
    if rows is None:
        return None
    heard = Heard(path)
    seen: dict[tuple[str, str | None], tuple[float, float]] = {}
    for line, cells in rows:
        file = next((cells[name] for name in FILES if cells.get(name)), None)
        try:
            span, key = _span(cells), (cells[NUMBER], file)
            if key not in seen:
                seen[key] = span
                heard.add(*span, line, file)
            elif seen[key] != span:
                found, expected = f"selection {clip(cells[NUMBER])} again at other times", "a number for each selection"
                raise Refused("duplicate_selection", found, expected, "number the selections, or remove one of the two")
        except Refused as bad:
            problems.add(bad.at(path, line, file))
    return heard


def _rows(path: Path, problems: Problems) -> list[tuple[int, Cells]] | None:
    """The rows by column, each with its line."""
    lines = read_lines(path, problems)
    if lines is None:
        return None
    header = _fields(lines[0][1])
    missing = [name for name in (NUMBER, BEGIN, END) if name not in header]
    if missing:
        expected, remedy = f"a column {missing[0]}", "export the selection table with its times"
        problems.add(Problem("bad_header", str(path), clip(lines[0][1]), expected, remedy, line=1))
        return None
    rows = []
    for line, text in lines[1:]:
        fields = _fields(text)
        if len(fields) < len(header):
            expected, remedy = f"{len(header)} fields", "give every row all its fields"
            found = f"{len(fields)} in {clip(text)}"
            problems.add(Problem("field_count", str(path), found, expected, remedy, line=line))
            continue
        rows.append((line, dict(zip(header, fields, strict=False))))
    files = {next((cells[name] for name in FILES if cells.get(name)), "") for _, cells in rows}
    if len(files) > 1 and OFFSET not in header:
        found, expected = f"{len(files)} recordings", f"a column {OFFSET}: times run on from one to the next"
        problems.add(Problem("no_offset", str(path), found, expected, "add that measurement in Raven", line=1))
        return None
    return rows


def _fields(text: str) -> list[str]:
    """The cells of a row; programs other than Raven put them in quotes."""
    return [cell.strip().strip('"') for cell in text.split("\t")]


def _span(cells: Cells) -> tuple[float, float]:
    """Begin and end of a selection in its recording, in seconds."""
    begin, end = as_number(cells[BEGIN]), as_number(cells[END])
    offset = as_number(cells[OFFSET]) if OFFSET in cells else begin
    if not np.isfinite([begin, end, offset]).all():
        found = " ".join(f"{name} {clip(cells[name])}" for name in (BEGIN, END, OFFSET) if name in cells)
        raise Refused("not_a_number", found, "finite numbers of seconds", "mend or remove the row")
    if end < begin:
        found = f"from {begin:g} to {end:g} s"
        raise Refused("negative_duration", found, "an end after the begin", "mend or remove the row")
    return offset, offset + (end - begin) if OFFSET in cells else end


def write_raven(
    calls: Annotations[Events], folder: str | Path, band: tuple[float, float], *, unknown: float = 1.0
) -> list[Path]:
    """Write a selection table for each recording X.wav, `X.Table.1.selections.txt`; returns where.

    Beside another recording of that stem, as X.flac, it is `X.wav.Table.1.selections.txt`.

    band: lowest and highest frequency of the selections in Hz. unknown: seconds that a call takes where its length
    is not known. A recording without calls gets a table without rows.
    """
    begin, end = spans(calls.shapes, unknown)
    header = [*COLUMNS, *(() if calls.score is None else ("Score",))]
    written = table_paths(Path(folder), calls.items.ids, ".Table.1.selections.txt")
    for item, (name, path) in enumerate(zip(calls.items.ids, written, strict=True)):
        rows = ["\t".join(header)]
        file = bare_name(name)
        for at in range(int(calls.offsets[item]), int(calls.offsets[item + 1])):
            times = f"{begin[at]:.6f}", f"{end[at]:.6f}"
            text = calls.classes[int(calls.labels[at])] if calls.classes else ""
            score = [] if calls.score is None else [f"{calls.score[at]:.6g}"]
            view = str(len(rows)), "Spectrogram 1", "1"
            rows.append("\t".join([*view, *times, f"{band[0]:g}", f"{band[1]:g}", file, times[0], text, *score]))
        path.write_text("\n".join(rows) + "\n", "utf-8", newline="\n")
    return written
