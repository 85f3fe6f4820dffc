"""Through the command line: a run remembers the scale of its training and how to count, and predicts other sizes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import polars as pl
import pytest

from tallymark.inference.session import Session
from tests.cli.running import run
from tests.sets import copy_of

QUICK = ["--preset=tiny", "width=4", "neck=8", "crop_size=64", "epochs=1", "batch_size=4", "evaluations=1", "tta=1"]
SIZES = {"wheat": 96, "ships": 256}


@pytest.fixture(scope="module", params=SIZES)
def trained(request: pytest.FixtureRequest, sets: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A run on images whose pixels are 2 m, shown at `SIZES`."""
    name = request.param
    out = tmp_path_factory.mktemp("scale") / name
    options = [f"image_size={SIZES[name]}", "--gsd", "2", "--out", out, "--threads", 1]
    run("train", name, sets / name, *QUICK, *options)
    return name, out


def images_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.jpg") if "train" in path.parent.name)


def test_a_run_predicts_images_of_several_sizes(trained: tuple[str, Path], sets: Path, tmp_path: Path) -> None:
    name, out = trained
    metadata = Session(out / "model.onnx", threads=1).metadata
    first = images_of(copy_of(sets, name, tmp_path))[0]
    image = cv2.imread(str(first))
    side = len(image)
    scale: dict[str, Any] = dict(metadata.scale)
    assert scale["longer_sides"] == [side]
    assert scale["pixel_scale"] == pytest.approx(SIZES[name] / side, abs=1e-4)
    assert scale["gsd"] == pytest.approx(2 * side / SIZES[name])
    folder = tmp_path / "folder"
    folder.mkdir()
    shutil.copy(first, folder / "a.jpg")
    cv2.imwrite(str(folder / "b.jpg"), np.hstack([image, image]))
    tables = ["--counts", tmp_path / "counts.csv", "--objects", tmp_path / "objects.csv"]
    words = ["predict", out, folder, *tables, "--threads", 1, "--json"]
    stated = json.loads(run(*words, "--gsd", 2))
    sizes, shown = stated["notes"]
    assert sizes.startswith("one ground sampling distance for images of 2 sizes")
    assert shown.endswith("by the ground sampling distance of the images and of the training")
    counts = pl.read_csv(tmp_path / "counts.csv")
    assert len(pl.read_csv(tmp_path / "objects.csv")) == counts["count"].sum()
    assert (stated["count_low"] is None) == (not metadata.counts)
    again = [*words, "--force", f"image_size={SIZES[name]}", "score_threshold=0.9"]
    assert json.loads(run(*again))["notes"] == []


def test_only_a_submission_of_masks_needs_images_of_one_size(
    trained: tuple[str, Path], sets: Path, tmp_path: Path
) -> None:
    name, out = trained
    first = images_of(copy_of(sets, name, tmp_path))[0]
    folder = tmp_path / "folder"
    folder.mkdir()
    for number, scale in enumerate((1, 1, 2)):
        cv2.imwrite(str(folder / f"{number}.jpg"), cv2.resize(cv2.imread(str(first)), None, fx=scale, fy=scale))
    words = ["predict", out, folder, "--threads", 1, "--gsd", 2, "--out", tmp_path / "submission.csv"]
    if name == "ships":
        text = run(*words, code=2)
        assert "other_size" in text
        assert "2.jpg" in text
    else:
        run(*words)
        assert len(pl.read_csv(tmp_path / "submission.csv")) == 3
