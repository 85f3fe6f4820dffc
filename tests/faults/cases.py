"""The commands that faults are tried on: each with small files, most with an earlier output to lose."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from tallymark.api import data as api_data
from tests.faults.harness import Case
from tests.submission.test_fuzzing import GOOD

Make = Callable[[Path], None]
SETS = {
    "wheat": {"items": 5, "size": 64},
    "upcalls": {"items": 4, "seconds": 12, "calls": 2000},
    "food": {"items": 10, "size": 32, "classes": 2},
    "lyft": {"items": 2, "samples_per_scene": 1, "beams": 8, "columns": 90, "cameras": "front"},
    "ships": {"items": 4, "empty": 0.3},
}
IMAGES = (".jpg", ".png")
SOUNDS = (".wav", ".flac")
EARLIER = "earlier\n"


def tables(name: str, *earlier: str) -> Make:
    """The truth and a submission, and outputs of an earlier command."""

    def make(folder: Path) -> None:
        for file, text in zip(("truth.csv", "submission.csv"), GOOD[name], strict=True):
            (folder / file).write_text(text)
        for file in earlier:
            (folder / file).write_text(EARLIER)

    return make


def data_set(name: str, *earlier: str, zipped: bool = False, model: bool = False) -> Make:
    """A synthetic data set in `data`, outputs of an earlier command, and an untrained `model.onnx`."""

    def make(folder: Path) -> None:
        api_data.synth(name, folder / "data", seed=1, zipped=zipped, **SETS[name])
        for file in earlier:
            (folder / file).write_text(EARLIER)
        if model:
            from tests.untrained import untrained

            untrained(name, folder / "model.onnx")

    return make


def nothing(folder: Path) -> None:
    """A neighbour that no command may touch."""
    (folder / "mine.txt").write_text(EARLIER)


def without_times(name: str, data: bytes) -> object:
    """The content of an output without the time that it took."""
    if name.endswith(".jsonl"):
        return [
            {key: value for key, value in json.loads(line).items() if "second" not in key}
            for line in data.decode().splitlines()
        ]
    if name.endswith("checkpoint.pt"):
        import torch

        stored = torch.load(BytesIO(data), weights_only=True)
        return _plain({**stored, "state": {**stored["state"], "seconds": 0}})
    if name.endswith(("environment.json", ".html", ".md")):
        return re.sub(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?|\d+(\.\d+)? (s|seconds|minutes)", b"", data)
    return data


def _plain(value: Any) -> object:
    """Tensors in mappings and sequences as lists, which can be compared."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value.tolist() if hasattr(value, "tolist") else value


def unordered(name: str, data: bytes) -> object:
    """The tables and the ledger of `watch`, in any order: what could not be read at first comes later."""
    if name.endswith(".jsonl"):
        lines = [json.loads(line) for line in data.decode().splitlines(keepends=True) if line.endswith("\n")]
        return sorted(json.dumps({key: value for key, value in line.items() if key != "ends"}) for line in lines)
    if name.endswith((".parquet", ".lock")):
        return None
    return b"" if name.endswith(".html") else sorted(data.splitlines())


TABLES = {
    "check": Case("check wheat submission.csv --out out.csv --force", tables("wheat", "out.csv"), lists=("out.csv",)),
    "repair": Case("repair ships submission.csv --out out.csv --force", tables("ships", "out.csv")),
    "convert": Case("convert food submission.csv --form kaggle --out out.csv --force", tables("food", "out.csv")),
    "convert-lyft": Case("convert lyft submission.csv --form nuscenes --out out.json", tables("lyft")),
    "score": Case(
        "score lyft truth.csv submission.csv --per-item a.csv --pairs b.csv --force", tables("lyft", "a.csv", "b.csv")
    ),
    "compare": Case("compare food truth.csv submission.csv submission.csv", tables("food")),
    "new": Case("new bees --out bees", nothing),
    "metrics": Case("export-metrics upcalls --out out.py --force", tables("upcalls", "out.py")),
    "kit": Case("kit wheat --out kit", nothing, without=("tallymark.api.kit.download",)),
}
DATA = {
    "check-wheat": Case("check wheat data --out out.csv --force", data_set("wheat", "out.csv"), lists=("out.csv",)),
    "check-upcalls": Case("check upcalls data", data_set("upcalls")),
    "check-lyft": Case("check lyft data", data_set("lyft")),
    "check-zip": Case("check food data --rule num_classes=2", data_set("food", zipped=True)),
    "folds": Case("folds wheat data --out out.csv --force --folds 2", data_set("wheat", "out.csv")),
    "explore": Case(
        "explore wheat data --out out.html --force",
        data_set("wheat", "out.html"),
        lists=("out.html",),
        media=IMAGES,
    ),
    "explore-upcalls": Case(
        "explore upcalls data --out out.html --force",
        data_set("upcalls", "out.html"),
        lists=("out.html",),
        media=SOUNDS,
        tries=2,
    ),
    "synth-wheat": Case("synth wheat data --items 3 size=64", nothing),
    "synth-upcalls": Case("synth upcalls data --items 3 seconds=4 calls=2000", nothing),
    "synth-zip": Case("synth food data --items 10 --zip size=32 classes=2", nothing),
    "synth-lyft": Case("synth lyft data --items 2 samples_per_scene=1 beams=8 columns=90 cameras=front", nothing),
}
PREDICTED = "--out out.csv --objects objects.csv --counts counts.csv --draw drawn --journal journal --split all --force"
CALLS = (
    "--out out.csv --raven raven --audacity audacity --clips clips --clips-each 1 --days days.csv --plot plot.html "
    "--journal journal --split all --force"
)
TRAIN = (
    "train wheat data --out run --preset tiny epochs=1 width=4 neck=8 image_size=64 crop_size=64 batch_size=2 tta=1 "
    "weights=none folds=2"
)
MODELS = {
    "predict-wheat": Case(
        f"predict model.onnx data {PREDICTED}",
        data_set("wheat", "out.csv", model=True),
        media=IMAGES,
        rows=("out.csv", "objects.csv", "counts.csv", "drawn/"),
        journal="journal/",
        tries=2,
    ),
    "predict-upcalls": Case(
        f"predict model.onnx data {CALLS}",
        data_set("upcalls", "out.csv", model=True),
        media=SOUNDS,
        rows=("out.csv", "raven/", "audacity/"),
        journal="journal/",
        tries=2,
    ),
    "watch": Case(
        "watch model.onnx data --out out --once --settle 0 score_threshold=0.1",
        data_set("wheat", model=True),
        media=IMAGES,
        grows="out/",
        journal="out/.journal/",
        steady=unordered,
        tries=6,
    ),
    "train": Case(TRAIN, data_set("wheat"), grows="run/", again=f"{TRAIN} --resume", steady=without_times, tries=2),
}
