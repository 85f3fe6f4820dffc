"""Synthetic streets in the official files of the lyft challenge: sweeps, camera images, 13 linked tables, train.csv."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal

from tallymark.challenges.lyft.dialect import TRUTH, truth_columns
from tallymark.core import options
from tallymark.core.options import Fraction, bounded
from tallymark.core.outputs import write_bytes
from tallymark.core.problems import Problem, Problems
from tallymark.io.tables import write_table
from tallymark.synthetic.streams import test_share
from tallymark.synthetic.street.drive import CHANNELS, Rig, record_drives, truth_of
from tallymark.synthetic.street.raycast import Lidar
from tallymark.synthetic.street.tables import ANSWERS, maps_of, tables_of

CAMERAS = {"none": 0, "front": 1, "ahead": 3, "around": 6}
LIMITS = {"samples_per_scene": 1000, "beams": 256, "columns": 8192, "image_width": 4096}


@dataclass(frozen=True)
class SceneOptions(options.SceneOptions):
    """What the streets and sweeps look like.

    samples_per_scene: samples per drive. beams, columns: resolution of the lidar. noise: of its ranges, in metres.
    drop: share of returns that are lost. cameras: none, 1, 3 or 6 of them. image_width: of the cameras, in pixels.
    traffic: factor on the number of vehicles and pedestrians.
    """

    # Samples of one scene are much alike, so the demo has many short scenes.
    demo: ClassVar[Mapping[str, Any]] = {"items": 120, "samples_per_scene": 4, "cameras": "front"}

    samples_per_scene: int = bounded(20, most=1_000)
    beams: int = bounded(64, most=256)
    columns: int = bounded(1024, most=8_192)
    noise: float = bounded(0.015, most=10)
    drop: Fraction = 0.04
    cameras: Literal["none", "front", "ahead", "around"] = "ahead"
    image_width: int = bounded(320, most=4_096)
    traffic: float = bounded(1.0, most=20)


def write(folder: Path, items: int, seed: int, scenes: SceneOptions) -> None:
    """Write a data set of `items` samples: one in five in the test split, in scenes of their own."""
    problems = Problems()
    for name, limit in LIMITS.items():
        if (given := getattr(scenes, name)) > limit:
            found, expected = f"{name}={given}", f"at most {limit}"
            problems.add(Problem("bad_option", "scene options", found, expected, "give a smaller number"))
    problems.raise_if_any()
    tests = test_share(items)
    _write_split(folder, "train", items - tests, (seed, 0), scenes)
    if tests:
        _write_split(folder, "test", tests, (seed, 1), scenes)


def _write_split(folder: Path, split: str, samples: int, path: tuple[int, int], scenes: SceneOptions) -> None:
    for kind in ("data", "lidar", "images", "maps"):
        (folder / f"{split}_{kind}").mkdir(parents=True, exist_ok=True)
    save = partial(_save, folder, split)
    lidar = Lidar(scenes.beams, scenes.columns, scenes.noise, scenes.drop)
    size = scenes.image_width, -(-scenes.image_width * 9 // 16)
    rig = Rig(lidar, tuple(CHANNELS)[: CAMERAS[scenes.cameras]], size)
    drives, frames = record_drives(path, samples, scenes.samples_per_scene, scenes.traffic, rig, save, split)
    tables = tables_of(path[0], drives, frames)
    for name, rows in tables.rows.items():
        if split == "train" or name not in ANSWERS:
            save(f"data/{name}.json", json.dumps(rows).encode())
    for name, data in maps_of(drives, scenes.samples_per_scene):
        save(name, data)
    ids = tables.tokens("sample")
    answers = "train.csv" if split == "train" else "solution.csv"
    truth = truth_of(ids, list(chain(*frames)))
    TRUTH.write(truth, truth_columns, folder / answers)
    if split == "test":
        write_table(folder / "sample_submission.csv", {"Id": ids, "PredictionString": [""] * samples})


def _save(folder: Path, split: str, name: str, data: bytes) -> None:
    """Write a file of the tables: `lidar/…` lies in train_lidar or test_lidar."""
    write_bytes(folder / f"{split}_{name}", data, sync=False)
