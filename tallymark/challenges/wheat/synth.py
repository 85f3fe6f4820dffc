"""Made wheat photographs in the official files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tallymark.core.options import Fraction
from tallymark.io.tables import write_table
from tallymark.synthetic.field.plots import STYLES, Plot, photograph, prepare
from tallymark.synthetic.names import check_side, hex_names
from tallymark.synthetic.paint import save_jpeg
from tallymark.synthetic.streams import make_each, stream, test_share

TRAIN, TEST, PLOTS, PLACES = 0, 1, 2, 3
SOURCES = {
    "arvalis_1": "straw",
    "arvalis_2": "green",
    "arvalis_3": "dusk",
    "ethz_1": "dense",
    "inrae_1": "large",
    "rres_1": "flash",
    "usask_1": "rows",
}
FOREIGN = {"nau_1": "hazy", "utokyo_1": "amber"}
"""Places that only the test photographs know, as in the challenge."""
NAMES = [*SOURCES, *FOREIGN]
HOLDER = "1.0 0 0 50 50"


DEMO = {"items": 100, "size": 256}


@dataclass(frozen=True)
class Scenes:
    """What is made.

    size: side of the photographs in pixels.
    empty: share of photographs without a head.
    foreign: share of test photographs from places that are not among the training photographs.
    """

    size: int = 512
    empty: Fraction = 0.035
    foreign: Fraction = 0.25


@dataclass(frozen=True, eq=False)
class _Shot:
    source: str
    boxes: np.ndarray


def write(folder: Path, items: int, seed: int, scenes: Scenes) -> None:
    """train.csv, train/, test/, sample_submission.csv, and the answers for test/ in solution.csv."""
    check_side(scenes.size)
    tests = test_share(items)
    counts = (items - tests, tests)
    places = [[_place(seed, part, number, scenes.foreign) for number in range(counts[part])] for part in (TRAIN, TEST)]
    used = sorted({*places[TRAIN], *places[TEST]})
    styles = [STYLES[style] for style in (*SOURCES.values(), *FOREIGN.values())]

    def sow(number: int) -> Plot:
        return prepare(stream(seed, PLOTS, used[number]), styles[used[number]], scenes.size)

    plots = dict(zip(used, make_each(len(used), sow, "growing wheat"), strict=True))

    def shoot(part: int, path: Path, number: int) -> _Shot:
        rng, place = stream(seed, part, number), places[part][number]
        picture, boxes = photograph(rng, plots[place], bare=rng.random() < scenes.empty)
        save_jpeg(path, picture, int(rng.integers(85, 96)))
        return _Shot(NAMES[place], boxes)

    def tour(part: int, name: str, count: int) -> tuple[list[str], list[_Shot]]:
        (folder / name).mkdir(parents=True, exist_ok=True)
        ids = hex_names(seed, part, count)
        return ids, make_each(count, lambda n: shoot(part, folder / name / f"{ids[n]}.jpg", n), f"{name} photographs")

    _write_boxes(folder / "train.csv", *tour(TRAIN, "train", items - tests), scenes.size, False)
    ids, shots = tour(TEST, "test", tests)
    _write_boxes(folder / "solution.csv", ids, shots, scenes.size, True)
    write_table(folder / "sample_submission.csv", {"image_id": ids, "PredictionString": [HOLDER] * tests})


def _place(seed: int, part: int, number: int, foreign: float) -> int:
    """Where a photograph was taken, as a position in `NAMES`."""
    rng = stream(seed, PLACES, part, number)
    if part == TEST and rng.random() < foreign:
        return len(SOURCES) + int(rng.integers(len(FOREIGN)))
    return int(rng.integers(len(SOURCES)))


def _write_boxes(path: Path, ids: list[str], shots: list[_Shot], size: int, with_empty: bool) -> None:
    """One row per box; the answers also name the photographs without one, the training file does not."""
    rows = []
    for photo, shot in zip(ids, shots, strict=True):
        cells = [str(box) for box in shot.boxes.astype(float).tolist()] or [""] * with_empty
        rows += [(photo, str(size), str(size), cell, shot.source) for cell in cells]
    header = ("image_id", "width", "height", "bbox", "source")
    write_table(path, {name: [row[k] for row in rows] for k, name in enumerate(header)})
