"""Made-up photographs of dishes in the layout of the food challenge, with wrong labels among those to learn from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tallymark.core.options import Fraction
from tallymark.core.problems import Problem, Problems
from tallymark.io.tables import number_text, write_table
from tallymark.synthetic.dishes.menu import LARGEST, dish, look_alikes
from tallymark.synthetic.dishes.photographs import SMALLEST, photograph
from tallymark.synthetic.names import SIDES
from tallymark.synthetic.paint import save_jpeg
from tallymark.synthetic.streams import make_each, stream, test_share

PARTS = ("train", "val", "test")
CONFUSED = 0.8
"""Fraction of wrong labels that name a look-alike; the others name any class."""


DEMO = {"items": 300, "size": 96, "classes": 8}


@dataclass(frozen=True)
class Scenes:
    """What the photographs are like.

    classes: how many dishes there are. size: pixels of the longer side. noise: share of training labels that are wrong.
    """

    classes: int = 12
    size: int = 256
    noise: Fraction = 0.2


def write(folder: Path, items: int, seed: int, scenes: Scenes) -> None:
    """Write `items` photographs below a folder: one in five for the test, one in five of the others to validate."""
    _refuse(scenes)
    tests = test_share(items)
    validation = test_share(items - tests)
    counts = dict(zip(PARTS, (items - tests - validation, validation, tests), strict=True))
    for part in PARTS:
        (folder / f"{part}_set").mkdir(parents=True, exist_ok=True)
        names = [f"{part}_{number:06d}.jpg" for number in range(counts[part])]
        label = np.array(make_each(counts[part], _maker(folder, part, seed, scenes), f"{part} photographs"), np.int64)
        if part != "test":
            write_table(folder / f"{part}_labels.csv", {"img_name": names, "label": number_text(label)})
            continue
        write_table(folder / "solution.csv", {"image_name": names, "label": number_text(label)})
        guesses = {f"pred{rank + 1}": [str(rank)] * len(names) for rank in range(3)}
        write_table(folder / "sample_submission.csv", {"image_name": names, **guesses})
    lines = [f"{number} {dish(number).name}\n" for number in range(scenes.classes)]
    (folder / "class_list.txt").write_text("".join(lines), encoding="utf-8")


def _refuse(scenes: Scenes) -> None:
    problems = Problems()
    if scenes.classes > LARGEST:
        found, expected = f"classes={scenes.classes}", f"{LARGEST} classes at most"
        problems.add(Problem("bad_option", "scenes", found, expected, "give fewer classes"))
    if not SMALLEST <= scenes.size <= SIDES[1]:
        found, expected = f"size={scenes.size}", f"{SMALLEST} to {SIDES[1]} pixels"
        problems.add(Problem("bad_option", "scenes", found, expected, "give e.g. 256"))
    problems.raise_if_any()


def _maker(folder: Path, part: str, seed: int, scenes: Scenes) -> Callable[[int], int]:
    """What makes the photograph of a number in this part, and says its label."""

    def make(number: int) -> int:
        rng = stream(seed, PARTS.index(part), number)
        shown = int(rng.integers(scenes.classes))
        label = _misnamed(rng, shown, scenes) if part == "train" else shown
        picture = photograph(rng, dish(shown), scenes.size)
        save_jpeg(folder / f"{part}_set" / f"{part}_{number:06d}.jpg", picture, int(rng.integers(78, 96)))
        return label

    return make


def _misnamed(rng: np.random.Generator, shown: int, scenes: Scenes) -> int:
    """The label that a training photograph gets: most often the right one."""
    if rng.random() >= scenes.noise or scenes.classes == 1:
        return shown
    others = look_alikes(shown, scenes.classes)
    if not others or rng.random() >= CONFUSED:
        others = [other for other in range(scenes.classes) if other != shown]
    return int(rng.choice(others))
