"""Synthetic wheat photographs in the official files of the wheat challenge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tallymark.core import options
from tallymark.core.options import Fraction, bounded
from tallymark.core.parallel import in_threads
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
"""Sources that occur in the test split only, as in the challenge."""
NAMES = [*SOURCES, *FOREIGN]
PLACEHOLDER = "1.0 0 0 50 50"


@dataclass(frozen=True)
class SceneOptions(options.SceneOptions):
    """What the photographs look like.

    size: side in pixels. empty: share of photographs without a head.
    foreign: share of test photographs from sources that are not in the train split.
    """

    demo: ClassVar[Mapping[str, Any]] = {"items": 100, "size": 256}

    size: int = bounded(512, most=8_192)
    empty: Fraction = 0.035
    foreign: Fraction = 0.25


@dataclass(frozen=True, eq=False)
class _Shot:
    source: str
    boxes: np.ndarray


def write(folder: Path, items: int, seed: int, scenes: SceneOptions) -> None:
    """Write train.csv, train/, test/, sample_submission.csv, and the truth of test/ in solution.csv."""
    check_side(scenes.size)
    tests = test_share(items)
    counts = (items - tests, tests)
    places = [
        [_place(seed, split, number, scenes.foreign) for number in range(counts[split])] for split in (TRAIN, TEST)
    ]
    used = sorted({*places[TRAIN], *places[TEST]})
    styles = [STYLES[style] for style in (*SOURCES.values(), *FOREIGN.values())]

    def sow(place: int) -> Plot:
        return prepare(stream(seed, PLOTS, place), styles[place], scenes.size)

    plots = dict(zip(used, in_threads(sow, used, "growing wheat"), strict=True))

    def shoot_all(split: int, name: str, count: int) -> tuple[list[str], list[_Shot]]:
        (folder / name).mkdir(parents=True, exist_ok=True)
        ids = hex_names(seed, split, count)
        files = [folder / name / f"{one}.jpg" for one in ids]
        shoot = partial(_shoot, (seed, split), files, places[split], plots, scenes.empty)
        return ids, make_each(count, shoot, f"{name} photographs")

    _write_boxes(folder / "train.csv", *shoot_all(TRAIN, "train", items - tests), scenes.size, False)
    ids, shots = shoot_all(TEST, "test", tests)
    _write_boxes(folder / "solution.csv", ids, shots, scenes.size, True)
    write_table(folder / "sample_submission.csv", {"image_id": ids, "PredictionString": [PLACEHOLDER] * tests})


def _shoot(
    path: tuple[int, int],
    files: Sequence[Path],
    places: Sequence[int],
    plots: Mapping[int, Plot],
    empty: float,
    number: int,
) -> _Shot:
    """Write a photograph of the plot at its place. path: of the random streams. empty: probability of no head."""
    rng = stream(*path, number)
    place = places[number]
    image, boxes = photograph(rng, plots[place], bare=rng.random() < empty)
    save_jpeg(files[number], image, int(rng.integers(85, 96)))
    return _Shot(NAMES[place], boxes)


def _place(seed: int, split: int, number: int, foreign: float) -> int:
    """The source of a photograph, as an index into `NAMES`."""
    rng = stream(seed, PLACES, split, number)
    if split == TEST and rng.random() < foreign:
        return len(SOURCES) + int(rng.integers(len(FOREIGN)))
    return int(rng.integers(len(SOURCES)))


def _write_boxes(path: Path, ids: list[str], shots: list[_Shot], size: int, with_empty: bool) -> None:
    """One row per box; the truth of the test split also lists photographs without one, the training file does not."""
    rows = []
    for photo, shot in zip(ids, shots, strict=True):
        cells = [str(box) for box in shot.boxes.astype(float).tolist()] or [""] * with_empty
        rows += [(photo, str(size), str(size), cell, shot.source) for cell in cells]
    header = ("image_id", "width", "height", "bbox", "source")
    write_table(path, {name: [row[k] for row in rows] for k, name in enumerate(header)})
