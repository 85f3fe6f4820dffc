"""The index page of several reports: a picture of each, its score beside that of the baseline, and links."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from tallymark.core.humanize import number, plural
from tallymark.inference.predictor import PredictionResult
from tallymark.io.media import BadMedia
from tallymark.modalities.render import renderer_of
from tallymark.reporting.blocks import Section, Tile, gallery, table
from tallymark.reporting.page import write_html

PICTURE = 480
"""Width of a picture in pixels."""


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


def example_picture(result: PredictionResult) -> np.ndarray:
    """The item with most predictions, with these drawn in it; a blank picture if none can be read."""
    renderer = renderer_of(result.catalog)
    for item in np.argsort(-result.predictions.counts, kind="stable").tolist():
        try:
            drawn = renderer.drawings(result.catalog, result.predictions, item, result.recipe)
        except BadMedia:
            continue
        for image in drawn.values():
            height, width = image.shape[:2]
            scale = PICTURE / width
            return cv2.resize(image, (PICTURE, max(1, round(height * scale))), interpolation=cv2.INTER_AREA)
    return np.zeros((PICTURE, PICTURE, 3), np.uint8)


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
