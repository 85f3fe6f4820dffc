"""Text files beside recordings that should be tables of events, and are none: reported, never taken for "no events"."""

from __future__ import annotations

import re
from collections.abc import Set
from pathlib import Path

from tallymark.core.problems import Problem, Problems, clip
from tallymark.formats.event_tables import TABLE_ENDING, by_stem, recording_of
from tallymark.io.audio import RECORDING
from tallymark.io.folders import Folder
from tallymark.io.texts import LINE_END, read_text

SUFFIXES = {".txt", ".tsv"}
TABLE_NAME = re.compile(r"(\.Table\.\d+.*|[._-]selections?)\.(txt|tsv)$", re.IGNORECASE)
"""Names that only selection tables have."""
EXPECTED = "a Raven selection table or an Audacity label track"
REMEDY = "export it again, or remove it"


def report_other_texts(listed: Folder, tables: Set[Path], problems: Problems) -> None:
    """Report texts that have the name of a table, or of a recording, and are neither kind of table.

    tables: those that were read, or reported already. Without any, a text named like a recording may be a note on it.
    """
    others = [path for path in listed.ending(SUFFIXES) if path not in tables]
    stems = by_stem(listed.ending(RECORDING.suffixes)) if others else {}
    for path in others:
        certain = TABLE_NAME.search(path.name) is not None
        if not certain and TABLE_ENDING.sub("", path.name) not in stems:
            continue
        recording = recording_of(path, stems)
        item = None if recording is None else recording.name
        text = read_text(path, problems, expected=EXPECTED, item=item)
        if text is not None and (certain or tables):
            found = clip(LINE_END.split(text.strip(), maxsplit=1)[0]) if text.strip() else "an empty file"
            problems.add(Problem("bad_table", str(path), found, EXPECTED, REMEDY, line=1, item=item))
