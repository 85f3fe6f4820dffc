"""Synthetic recordings in the official layout of the upcalls challenge: a bay to train on, a gulf for the test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tallymark.core import options
from tallymark.core.options import Fraction, bounded
from tallymark.core.outputs import make_folder
from tallymark.core.problems import Problem, Problems
from tallymark.io.audio_writer import write_wav
from tallymark.io.tables import number_text, write_table
from tallymark.synthetic.ocean.backgrounds import Background, add_upcalls
from tallymark.synthetic.ocean.days import DAY, day_name
from tallymark.synthetic.ocean.recordings import BAY, GULF, record
from tallymark.synthetic.streams import make_each, stream, test_share

TRAIN, TEST = 0, 1
SAMPLE_RATES = (1000, 192000)
"""Lowest and highest sample rate in Hz: high enough for the calls, and no more than recorders have."""


@dataclass(frozen=True)
class SceneOptions(options.SceneOptions):
    """What the recordings sound like.

    seconds: length of each. rate, test_rate: sample rates in Hz. calls: upcalls per hour, in recordings that have any.
    quiet: share of recordings without calls. clear: share of calls that stand out from the noise.
    background: a folder of real recordings without calls to mix them into; without it the noise is synthetic too.
    """

    demo: ClassVar[Mapping[str, Any]] = {"seconds": 60, "calls": 200}
    package: ClassVar[str] = "recordings.zip"

    seconds: float = bounded(900.0, most=7_200)
    rate: int = bounded(2000, most=192_000, least=100)
    test_rate: int = bounded(32000, most=192_000, least=100)
    calls: float = bounded(60.0, most=100_000)
    quiet: Fraction = 0.2
    clear: Fraction = 0.5
    background: str = ""


def write(folder: Path, items: int, seed: int, scenes: SceneOptions) -> None:
    """Write a data set of `items` recordings, one in five in the test split, and the tables of their calls."""
    _check(scenes)
    background = Background(Path(scenes.background)) if scenes.background else None
    folder.mkdir(parents=True, exist_ok=True)
    tests = test_share(items)

    def make_split(split: int, files: list[Path], what: str) -> list[np.ndarray]:
        return make_each(len(files), partial(_make, seed, split, files, background, scenes), what)

    names = [day_name(number, scenes.seconds) for number in range(items - tests)]
    train = make_split(TRAIN, [folder / "train" / name for name in names], "training recordings")
    span = np.concatenate([np.empty((0, 2)), *train])
    filename = [name for name, calls in zip(names, train, strict=True) for _ in calls]
    start, end = (number_text(column) for column in span.T)
    write_table(
        folder / "annotations_train.csv",
        {"filename": filename, "start": start, "end": end, "label": ["up"] * len(span)},
    )

    names = [f"B_cont_{number}.wav" for number in range(tests)]
    test = make_split(TEST, [folder / "test" / name for name in names], "test recordings")
    time = np.concatenate([np.empty((0, 2)), *test]).mean(axis=1).round(4)
    filename = [name for name, calls in zip(names, test, strict=True) for _ in calls]
    write_table(
        folder / "solution.csv", {"filename": filename, "timestamp": number_text(time), "label": ["up"] * len(time)}
    )
    write_table(folder / "sample_submission.csv", {"filename": [], "timestamp": []})


def _make(
    seed: int, split: int, files: list[Path], background: Background | None, scenes: SceneOptions, number: int
) -> np.ndarray:
    """Write a recording; returns (n, 2) start and end of each call in seconds."""
    waters, rate = (BAY, scenes.rate) if split == TRAIN else (GULF, scenes.test_rate)
    rng = stream(seed, split, number)
    per_hour = 0.0 if rng.random() < scenes.quiet else scenes.calls
    if background is None:
        samples, calls = record(rng, waters, scenes.seconds, rate, per_hour, scenes.clear)
    else:
        samples, calls = add_upcalls(rng, background.excerpt(rng, scenes.seconds, rate), rate, per_hour, scenes.clear)
    make_folder(files[number].parent)
    write_wav(files[number], samples, rate)
    return calls


def _check(scenes: SceneOptions) -> None:
    problems = Problems()
    if scenes.seconds > DAY:
        found, expected = f"seconds={scenes.seconds}", f"{DAY} seconds at most"
        problems.add(Problem("bad_option", "scene options", found, expected, "generate more recordings instead"))
    for name, rate in (("rate", scenes.rate), ("test_rate", scenes.test_rate)):
        if not SAMPLE_RATES[0] <= rate <= SAMPLE_RATES[1]:
            found, expected = f"{name}={rate}", f"{SAMPLE_RATES[0]} to {SAMPLE_RATES[1]} Hz"
            problems.add(Problem("bad_option", "scene options", found, expected, "give e.g. 2000"))
    problems.raise_if_any()
