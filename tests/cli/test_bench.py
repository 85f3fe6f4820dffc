"""`bench` measures a model at several settings, and scores each where there is truth; `predict --speed` uses them."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tallymark
from tallymark.core.outputs import write_bytes
from tallymark.inference.counting import CountCalibration
from tallymark.inference.metadata import KEY
from tallymark.inference.onnx_file import read_model, with_metadata
from tests.cli.running import run
from tests.untrained import untrained

QUICK = ("--items", 4, "--minutes", 0.01, "--threads", 1, "--runtime", "onnxruntime", "--json")


def bench(model: Path, folder: Path, *more: object) -> dict[str, Any]:
    return json.loads(run("bench", model, folder, *QUICK, *more))


@pytest.mark.parametrize("name", ["wheat", "upcalls", "food", "lyft", "ships"])
def test_every_challenge_is_measured_and_scored(name: str, sets: Path, tmp_path: Path) -> None:
    model = untrained(name, tmp_path / "model.onnx")
    fixed = ["resolution=0.5", "tta_scales=1"] if name in ("wheat", "food", "ships") else []
    printed = bench(model, sets / name, "tta=1", *fixed)
    assert printed["challenge"] == name
    assert printed["items"] == printed["scored"] <= 4
    [setting] = printed["settings"]
    assert setting["bare"] > 0
    assert setting["seconds"] > 0
    assert setting["score"] is not None
    assert setting["front"]
    assert set(printed["speeds"]) == {"fast", "balanced", "best"}
    assert set(printed["stages"]["onnxruntime"]) == {"open", "preprocess", "infer", "decode", "postprocess", "write"}
    assert (setting["hours"] > 0) == (name == "upcalls")


def test_a_page_shows_the_front(sets: Path, tmp_path: Path) -> None:
    model = untrained("wheat", tmp_path / "model.onnx")
    bench(model, sets / "wheat", "tta=1", "tta_scales=1", "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count("<circle") == 5
    assert "Speed against score" in page
    assert '"exists": 1' in run("bench", model, sets / "wheat", *QUICK, "--out", tmp_path / "page.html", code=2)


def test_images_without_truth_are_only_timed(sets: Path, tmp_path: Path) -> None:
    photographs = next((sets / "wheat").rglob("*.jpg")).parent
    printed = bench(untrained("wheat", tmp_path / "model.onnx"), photographs, "tta=1")
    assert printed["scored"] == 0
    assert printed["speeds"] == {}
    assert {one["score"] for one in printed["settings"]} == {None}


def test_speeds_are_written_for_prediction(sets: Path, tmp_path: Path) -> None:
    model = untrained("wheat", tmp_path / "model.onnx")
    before = model.read_bytes()
    assert bench(model, sets / "wheat", "tta=1", "tta_scales=1", "resolution=0.5")["speeds"]
    assert model.read_bytes() == before
    speeds = bench(model, sets / "wheat", "tta=1", "tta_scales=1", "resolution=0.5", "--write")["speeds"]
    result = tallymark.predict(model, sets / "wheat", speed="fast")
    assert {name: getattr(result.recipe, name) for name in speeds["fast"]} == speeds["fast"]
    assert tallymark.predict(model, sets / "wheat", speed="fast", resolution=0.3).recipe.resolution == 0.3


def test_the_threshold_of_a_speed_is_not_meant_for_counts(sets: Path, tmp_path: Path) -> None:
    model = untrained("wheat", tmp_path / "model.onnx")
    counting = CountCalibration(0.31, "", items=9, objects=99, quantile=1.0, dispersion=1.0)
    own = replace(tallymark.open_model(model).metadata, counts=counting.as_dict())
    measured = replace(own, speeds={"fast": {"tta": 1, "score_threshold": 0.42}})
    write_bytes(model, with_metadata(read_model(model), KEY, measured.text()))
    result = tallymark.predict(model, sets / "wheat", speed="fast")
    assert result.recipe.score_threshold == 0.42
    assert result.counting == counting
    assert tallymark.predict(model, sets / "wheat", speed="fast", score_threshold=0.5).counting is None


def test_items_of_the_training_are_left_out(sets: Path, tmp_path: Path) -> None:
    model = untrained("wheat", tmp_path / "model.onnx")
    ids = tallymark.read("wheat", sets / "wheat").with_truth().items.ids.to_list()
    (tmp_path / "trained_on.csv").write_text("\n".join(["item", *ids[1:]]))
    printed = bench(model, sets / "wheat", "tta=1")
    assert printed["items"] == 1
    assert f"left out: {len(ids) - 1} images that the model was trained on" in printed["notes"]


def test_damaged_images_are_left_out_and_said(sets: Path, tmp_path: Path) -> None:
    photographs = tmp_path / "photographs"
    photographs.mkdir()
    shutil.copy(next((sets / "wheat").rglob("*.jpg")), photographs / "b.jpg")
    (photographs / "a.jpg").write_bytes(b"not an image")
    model = untrained("wheat", tmp_path / "model.onnx")
    assert "1 of 2 images could not be read: tallymark check" in bench(model, photographs, "tta=1")["notes"]
    (photographs / "b.jpg").unlink()
    assert "none of 1 image that can be read" in run("bench", model, photographs, *QUICK, code=2)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--runtime", "tensorflow"), "'tensorflow'"),
        (("stride=8",), "stride=8"),
        (("tta=3",), "tta=3"),
        (("--write",), "no annotated items"),
        (("--rule", "exclude=list.csv"), "'exclude'"),
        (("--rule", "folder=1"), "'folder'"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    words: tuple[object, ...], expected: str, sets: Path, tmp_path: Path
) -> None:
    photographs = next((sets / "wheat").rglob("*.jpg")).parent
    model = untrained("wheat", tmp_path / "model.onnx")
    before = model.read_bytes()
    assert expected in run("bench", model, photographs, *QUICK, *words, code=2)
    assert model.read_bytes() == before


def test_a_speed_is_chosen_on_the_command_line(sets: Path, tmp_path: Path) -> None:
    model = untrained("wheat", tmp_path / "model.onnx")
    words = ("predict", model, sets / "wheat", "--split", "all", "--json", "--objects")
    for speed in ("fast", "balanced"):
        run(*words, tmp_path / f"{speed}.csv", "--speed", speed, "score_threshold=0.05")
    assert (tmp_path / "fast.csv").read_bytes() != (tmp_path / "balanced.csv").read_bytes()
    assert "'slow'" in run(*words, tmp_path / "slow.csv", "--speed", "slow", code=2)
