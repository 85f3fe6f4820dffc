"""Drives with damaged JSON tables, as nuScenes and the lyft challenge have them."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from tallymark.api.data import synth
from tests.fuzz.case import Case, Oracle, Result, link_tree, no_oracle, replace_file
from tests.fuzz.mutations import JSON, mutate, texts

OPTIONS = {"items": 4, "samples_per_scene": 2, "beams": 8, "columns": 90, "cameras": "front"}


def counted(data: Path, damaged: Path, objects: int) -> Oracle:
    """Where no problem names a table, all samples and annotations of the tables are there."""

    def oracle(result: Result) -> str | None:
        if not result.accepted:
            return None if result.problems else "refused without a problem"
        samples = sum(len(json.loads(path.read_bytes())) for path in data.rglob("sample.json"))
        if damaged.name == "sample_annotation.json":
            expected = samples, len(json.loads(damaged.read_bytes()))
        else:
            expected = samples, objects
        found = result.printed["items"], result.printed["objects"]
        return None if found == expected else f"{found} items and objects instead of {expected}"

    return oracle


class Drives:
    """The data set of a drive, one of whose tables is damaged."""

    def make_base(self, base: Path) -> None:
        synth("lyft", base / "drive", seed=0, **OPTIONS)

    def make(self, rng: Random, base: Path, folder: Path) -> Case:
        data = folder / "data"
        link_tree(base / "drive", data)
        objects = len(json.loads((data / "train_data" / "sample_annotation.json").read_bytes()))
        with_table = rng.random() < 0.2
        damaged = data / "train.csv" if with_table else rng.choice(sorted(data.rglob("*.json")))
        if not with_table:
            (data / "train.csv").unlink()
        replace_file(damaged, mutate(damaged.read_bytes(), rng, texts(", ") if with_table else JSON))
        oracle = no_oracle if with_table else counted(data, damaged, objects)
        commands = [(["check", "lyft", str(data), "--json"], oracle)]
        if rng.random() < 0.2:
            folds = ["folds", "lyft", str(data), "--json", "--folds", "2", "--out", str(folder / "folds.csv")]
            commands.append((folds, no_oracle))
        return Case(str(damaged.relative_to(data)), commands)
