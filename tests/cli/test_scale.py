"""Through the command line: photographs of any size are shown at the scale of the training, and well counted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import polars as pl
import pytest

import tallymark
from tallymark.api import data as api_data
from tests.cli.running import run
from tests.sets import copy_of


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three synthetic photographs of 1024 px, and one of 3072 x 2048 px in which each is shown twice."""
    folder = tmp_path_factory.mktemp("photographs")
    api_data.synth("wheat", folder / "set", seed=0, items=4, size=1024)
    chosen = sorted((folder / "set" / "train").glob("*.jpg"))[:3]
    for path in chosen:
        shutil.copy(path, folder)
    row = np.hstack([cv2.imread(str(path)) for path in chosen])
    cv2.imwrite(str(folder / "scene.jpg"), np.vstack([row, row]))
    shutil.rmtree(folder / "set")
    return folder


def predict(*words: object, code: int = 0) -> dict[str, Any]:
    stated: dict[str, Any] = json.loads(run("predict", *words, "--json", "--threads", 1, "tta=1", code=code))
    return stated


def test_a_large_photograph_is_counted_as_the_sum_of_its_parts(photographs: Path, tmp_path: Path) -> None:
    stated = predict("wheat", photographs, "--counts", tmp_path / "counts.csv")
    counts = dict(pl.read_csv(tmp_path / "counts.csv")["item", "count"].iter_rows())
    scene = counts.pop("scene")
    assert sum(counts.values()) > 30
    assert scene == pytest.approx(2 * sum(counts.values()), rel=0.1)
    learned, note, counted = stated["notes"]
    assert learned.startswith("pretrained model, trained on 1,200 images")
    assert counted.endswith("and for tta=2: at tta=1, counts and intervals may be off")
    assert note.startswith("1 image of 3072 x 2048 px: shown to the network at 0.5 of the size, where objects look")
    own = tallymark.open_model("wheat").metadata.counts["score_threshold"]
    assert counted.startswith(f"counted at score threshold {own:.3g}, where the total of 100 held-out images is right")


def test_counts_carry_an_interval_unless_the_threshold_is_given(photographs: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(sorted(photographs.glob("*.jpg"))[0], alone)
    stated = predict("wheat", alone, "--counts", tmp_path / "counts.csv", "--objects", tmp_path / "objects.csv")
    [row] = pl.read_csv(tmp_path / "counts.csv").to_dicts()
    assert 0 <= row["count_low"] < row["count"] < row["count_high"]
    assert len(pl.read_csv(tmp_path / "objects.csv")) == row["count"] == stated["count"]
    assert stated["count_low"] < stated["count"] < stated["count_high"]
    assert len(stated["notes"]) == 2
    given = predict("wheat", alone, "--out", tmp_path / "submission.csv", "score_threshold=0.52")
    assert (given["count_low"], given["count_high"], given["notes"]) == (None, None, stated["notes"][:1])
    predict("wheat", alone, "--out", tmp_path / "default.csv")
    assert (tmp_path / "default.csv").read_text() == (tmp_path / "submission.csv").read_text()
    assert given["count"] <= stated["count"]


def test_a_ground_sampling_distance_must_be_positive(photographs: Path) -> None:
    assert "gsd=-1" in run("predict", "wheat", photographs, "--gsd", "-1", code=2)


def test_counts_keep_the_source_of_each_image_beside_a_damaged_one(sets: Path, tmp_path: Path) -> None:
    data = copy_of(sets, "wheat", tmp_path)
    damaged = sorted((data / "train").glob("*.jpg"))[0]
    damaged.write_bytes(b"not an image")
    predict("wheat", data, "--split", "train", "--counts", tmp_path / "counts.csv", "image_size=64", code=2)
    table = pl.read_csv(tmp_path / "counts.csv")
    assert table.columns[:5] == ["item", "group", "count", "count_low", "count_high"]
    assert damaged.stem not in table.drop_nulls("count")["item"].to_list()
