"""Made-up recordings in the layout of the upcalls challenge: a bay to learn from, a gulf to be tested in."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile

from tallymark.core.options import Fraction
from tallymark.core.problems import BadInput, Problem, Problems
from tallymark.io.audio import read_audio, total_hours
from tallymark.io.folders import AUDIO_SUFFIXES, media_files
from tallymark.io.media import BadMedia
from tallymark.io.tables import number_text, write_table
from tallymark.synthetic.ocean.backgrounds import add_upcalls
from tallymark.synthetic.ocean.recordings import BAY, GULF, Waters, record
from tallymark.synthetic.streams import make_each, stream, test_share

TRAIN, TEST = 0, 1
DAYS = 7
"""Recordings are dealt out to the days of a week, then to those of the next."""

LONGEST = 86400
SLOWEST, FASTEST = 1000, 192000
"""Samples a second: enough for the calls, and what recorders have."""


@dataclass(frozen=True)
class Scenes:
    """What the recordings are like.

    seconds: length of each. rate, test_rate: samples a second. calls: upcalls an hour, where there are any.
    quiet: share of recordings without one. clear: share of calls that stand out of the noise.
    background: a folder of real recordings without calls, of which stretches are taken; else the sea is made up too.
    """

    seconds: float = 900.0
    rate: int = 2000
    test_rate: int = 32000
    calls: float = 60.0
    quiet: Fraction = 0.2
    clear: Fraction = 0.5
    background: str = ""


DEMO = {"seconds": 60, "calls": 200}
"""Scenes for a quick look."""


def write(folder: Path, items: int, seed: int, scenes: Scenes) -> None:
    """Write `items` recordings below a folder, one in five for the test, and the tables of their calls."""
    _refuse(scenes)
    sea = Background(Path(scenes.background)) if scenes.background else None
    folder.mkdir(parents=True, exist_ok=True)
    tests = test_share(items)

    def make(waters: Waters, part: int, rate: int, number: int, path: Path) -> np.ndarray:
        rng = stream(seed, part, number)
        often = 0.0 if rng.random() < scenes.quiet else scenes.calls
        if sea is None:
            samples, calls = record(rng, waters, scenes.seconds, rate, often, scenes.clear)
        else:
            samples, calls = add_upcalls(rng, sea.stretch(rng, scenes.seconds, rate), rate, often, scenes.clear)
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, samples, rate, subtype="PCM_16")
        return calls

    names = [_day_name(number, scenes.seconds) for number in range(items - tests)]
    train = make_each(
        len(names), lambda n: make(BAY, TRAIN, scenes.rate, n, folder / "train" / names[n]), "training recordings"
    )
    span = np.concatenate([np.empty((0, 2)), *train])
    filename = [name for name, calls in zip(names, train, strict=True) for _ in calls]
    start, end = (number_text(column) for column in span.T)
    write_table(
        folder / "annotations_train.csv",
        {"filename": filename, "start": start, "end": end, "label": ["up"] * len(span)},
    )

    names = [f"B_cont_{number}.wav" for number in range(tests)]
    test = make_each(
        tests, lambda n: make(GULF, TEST, scenes.test_rate, n, folder / "test" / names[n]), "test recordings"
    )
    time = np.concatenate([np.empty((0, 2)), *test]).mean(axis=1).round(4)
    filename = [name for name, calls in zip(names, test, strict=True) for _ in calls]
    write_table(
        folder / "solution.csv", {"filename": filename, "timestamp": number_text(time), "label": ["up"] * len(time)}
    )
    write_table(folder / "sample_submission.csv", {"filename": [], "timestamp": []})


class Background:
    """Real recordings, as long as they are together."""

    def __init__(self, folder: Path) -> None:
        problems = Problems()
        self.paths = media_files(folder, AUDIO_SUFFIXES, problems)
        self.lengths = np.array([total_hours([path], problems) * 3600 for path in self.paths])
        if self.paths and not self.lengths.sum():
            found, remedy = "recordings without a sample", "name a folder of recordings without calls"
            problems.add(Problem("empty_recording", str(folder), found, "sound", remedy))
        problems.raise_if_any()

    def stretch(self, rng: np.random.Generator, seconds: float, rate: int) -> np.ndarray:
        """Any so many seconds of any of them; of a shorter one, all of it."""
        number = rng.choice(len(self.paths), p=self.lengths / self.lengths.sum())
        start = rng.uniform(0, max(self.lengths[number] - seconds, 0))
        try:
            return read_audio(self.paths[number], start, start + seconds, rate)
        except BadMedia as bad:
            remedy = "replace the file, or take it out of the folder"
            raise BadInput(Problem(bad.kind, str(self.paths[number]), bad.found, "a recording", remedy)) from None


def _refuse(scenes: Scenes) -> None:
    problems = Problems()
    if scenes.seconds > LONGEST:
        found, expected = f"seconds={scenes.seconds}", f"{LONGEST} seconds at most"
        problems.add(Problem("bad_option", "scenes", found, expected, "make more recordings instead"))
    for name, rate in (("rate", scenes.rate), ("test_rate", scenes.test_rate)):
        if not SLOWEST <= rate <= FASTEST:
            found, expected = f"{name}={rate}", f"{SLOWEST} to {FASTEST} samples a second"
            problems.add(Problem("bad_option", "scenes", found, expected, "give e.g. 2000"))
    problems.raise_if_any()


def _day_name(number: int, seconds: float) -> str:
    """The file of a training recording, in the folder of its day; those of one day follow one another."""
    slot = math.ceil(seconds)
    week, place = divmod(number // DAYS, LONGEST // slot)
    day = datetime.date(2009, 3, 28) + datetime.timedelta(days=number % DAYS + DAYS * week)
    clock = datetime.timedelta(seconds=place * slot)
    day_text, time_text = f"{day:%Y%m%d}", f"{datetime.datetime.min + clock:%H%M%S}"
    return f"NOPP6_EST_{day_text}/NOPP6_EST_{day_text}_{time_text}.wav"
