"""Synthetic photographs of dishes in the official layout of the food challenge, with label noise in the train split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from tallymark.core import options, outputs
from tallymark.core.options import Fraction, bounded
from tallymark.core.problems import Problem, Problems
from tallymark.io.tables import number_text, write_frame, write_table
from tallymark.synthetic.dishes.menu import LARGEST, dish, look_alikes
from tallymark.synthetic.dishes.noise import draw_kind, noisy_photograph
from tallymark.synthetic.dishes.photographs import SMALLEST
from tallymark.synthetic.names import SIDES
from tallymark.synthetic.paint import save_jpeg
from tallymark.synthetic.streams import make_each, stream, test_share

SPLITS = ("train", "val", "test")
CONFUSED = 0.8
"""Share of wrong labels that name a similar dish; the others name any class."""


@dataclass(frozen=True)
class SceneOptions(options.SceneOptions):
    """What the photographs look like.

    classes: number of dishes. size: pixels of the longer side. noise: share of wrong labels in the train split.
    cross_domain: share of raw or packaged food in it. cross_category: share of photographs with two dishes in it.
    """

    demo: ClassVar[Mapping[str, Any]] = {"items": 300, "size": 96, "classes": 8}

    classes: int = bounded(12, most=1_000)
    size: int = bounded(256, most=8_192)
    noise: Fraction = 0.2
    cross_domain: Fraction = 0.0
    cross_category: Fraction = 0.0


def write(folder: Path, items: int, seed: int, scenes: SceneOptions) -> None:
    """Write a data set of `items` photographs: one in five for test, one in five of the others for val."""
    _check(scenes)
    tests = test_share(items)
    validation = test_share(items - tests)
    counts = dict(zip(SPLITS, (items - tests - validation, validation, tests), strict=True))
    for split in SPLITS:
        (folder / f"{split}_set").mkdir(parents=True, exist_ok=True)
        names = [f"{split}_{number:06d}.jpg" for number in range(counts[split])]
        made = make_each(counts[split], partial(_make, folder, split, seed, scenes), f"{split} photographs")
        label = np.array([number for number, _ in made], np.int64)
        if noisy := [(name, kind) for name, (_, kind) in zip(names, made, strict=True) if kind]:
            write_frame(folder / "label_noise.csv", pl.DataFrame(noisy, ["img_name", "kind"], orient="row"))
        if split != "test":
            write_table(folder / f"{split}_labels.csv", {"img_name": names, "label": number_text(label)})
            continue
        write_table(folder / "solution.csv", {"image_name": names, "label": number_text(label)})
        placeholders = {f"pred{rank + 1}": [str(rank)] * len(names) for rank in range(3)}
        write_table(folder / "sample_submission.csv", {"image_name": names, **placeholders})
    lines = [f"{number} {dish(number).name}\n" for number in range(scenes.classes)]
    outputs.write_text(folder / "class_list.txt", "".join(lines))


def _check(scenes: SceneOptions) -> None:
    problems = Problems()
    if scenes.classes > LARGEST:
        found, expected = f"classes={scenes.classes}", f"{LARGEST} classes at most"
        problems.add(Problem("bad_option", "scene options", found, expected, "give fewer classes"))
    if not SMALLEST <= scenes.size <= SIDES[1]:
        found, expected = f"size={scenes.size}", f"{SMALLEST} to {SIDES[1]} pixels"
        problems.add(Problem("bad_option", "scene options", found, expected, "give e.g. 256"))
    problems.raise_if_any()


def _make(folder: Path, split: str, seed: int, scenes: SceneOptions, number: int) -> tuple[int, str]:
    """Write the photograph of a number in a split; returns its label and the kind of noise."""
    rng = stream(seed, SPLITS.index(split), number)
    true = int(rng.integers(scenes.classes))
    shares = {"cross_domain": scenes.cross_domain, "cross_category": scenes.cross_category}
    kind = draw_kind(stream(seed, len(SPLITS), number), shares) if split == "train" else ""
    label = _noisy_label(rng, true, scenes) if split == "train" and not kind else true
    image = noisy_photograph(rng, true, scenes.classes, kind, scenes.size)
    save_jpeg(folder / f"{split}_set" / f"{split}_{number:06d}.jpg", image, int(rng.integers(78, 96)))
    return label, kind or ("wrong_label" if label != true else "")


def _noisy_label(rng: np.random.Generator, true: int, scenes: SceneOptions) -> int:
    """The label of a training photograph: the true one, or with probability `noise` a wrong one."""
    if rng.random() >= scenes.noise or scenes.classes == 1:
        return true
    others = look_alikes(true, scenes.classes)
    if not others or rng.random() >= CONFUSED:
        others = [other for other in range(scenes.classes) if other != true]
    return int(rng.choice(others))
