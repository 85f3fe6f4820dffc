"""The index page of several reports: a picture of each, its score beside that of the baseline, and links."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tallymark.core.humanize import number, plural
from tallymark.reporting.blocks import Section, Tile, gallery, table
from tallymark.reporting.page import write_html


class Entry(NamedTuple):
    """A report to link to.

    title: of the challenge. picture: RGB. score, baseline: nan where there is none. better: "higher" or "lower".
    report: its path, relative to the index.
    """

    title: str
    picture: np.ndarray
    score: float
    baseline: float
    better: str
    report: str


def write_index(entries: Sequence[Entry], out: Path, title: str, lead: str) -> None:
    """Write the index page of some reports."""
    tiles = [
        Tile.make(entry.picture, entry.title, [_score(entry), f"baseline {_number(entry.baseline)}"], link=entry.report)
        for entry in entries
    ]
    rows = [(entry.title, _number(entry.score), _number(entry.baseline), entry.better) for entry in entries]
    sections = [
        Section("Reports", gallery("Open a report by its picture", tiles, wide=True)),
        Section("Scores", table(["challenge", "score", "baseline", "better"], rows)),
    ]
    write_html(out, title, lead, [(str(len(entries)), plural(len(entries), "report").partition(" ")[2])], sections)


def _score(entry: Entry) -> str:
    return f"score {_number(entry.score)} ({entry.better} is better)"


def _number(value: float) -> str:
    return number(value) if math.isfinite(value) else "-"
