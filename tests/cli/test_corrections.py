"""Corrections through the command line: of predictions before they are written, and of truth before training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tallymark
from tallymark.cli.main import app
from tests.data.test_corrections import FREE
from tests.reviews import write_review
from tests.sets import copy_of
from tests.untrained import untrained


def run(*words: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result.stdout


@pytest.mark.parametrize("name", ["wheat", "upcalls", "lyft", "ships"])
def test_missed_objects_are_in_the_submission(name: str, sets: Path, tmp_path: Path) -> None:
    model = untrained(name, tmp_path / "model.onnx")
    catalog = tallymark.read(name, sets / name).in_split("test")
    item = catalog.items.ids[0]
    label = "car" if name == "lyft" else None
    shape = [20, 20, 30, 30] if name == "wheat" else [1.0] if name == "upcalls" else FREE[name]
    entries = {item: {"missed": [{"shape": shape, "label": label}]}, "nothing here": {}}
    review = write_review(tmp_path / "corrections.json", name, entries)
    out = tmp_path / "submission.csv"
    words = ["predict", model, sets / name, "score_threshold=1", "--out", out, "--corrections", review, "--json"]
    printed = json.loads(run(*words))
    assert any("0 removed and 1 added in 1" in note for note in printed["notes"])
    assert printed["counts"] == {"unused_correction": 1}
    found = tallymark.read_submission(name, out)
    assert found.items.ids.gather(found.item).to_list() == [item]
    marked = {**entries, item: {"predictions": [{"verdict": "wrong", "shape": shape, "label": label}]}}
    wrong = write_review(tmp_path / "wrong.json", name, marked)
    run(*words, "--corrections", wrong, "--force")  # a second file corrects what the first one left
    assert len(tallymark.read_submission(name, out)) == 0


def test_the_report_has_the_corrected_predictions(sets: Path, tmp_path: Path) -> None:
    model = untrained("wheat", tmp_path / "model.onnx")
    item = tallymark.read("wheat", sets / "wheat").in_split("test").items.ids[0]
    missed = [{"shape": [20, 20, 30, 30]}, {"shape": [60, 20, 30, 30]}]
    review = write_review(tmp_path / "corrections.json", "wheat", {item: {"missed": missed}})
    out, page = tmp_path / "submission.csv", tmp_path / "report.html"
    run("predict", model, sets / "wheat", "--out", out, "--corrections", review, "--report", page)
    found = tallymark.read_submission("wheat", out)
    assert f"<b>{len(found)}</b><span>predicted boxes" in page.read_text()


def test_the_right_dish_comes_first(sets: Path, tmp_path: Path) -> None:
    model = untrained("food", tmp_path / "model.onnx")
    before, after = tmp_path / "before.csv", tmp_path / "after.csv"
    run("predict", model, sets / "food", "--out", before)
    predicted = tallymark.read_submission("food", before, num_classes=4)
    last = str(predicted.shapes.label[2])
    entries = {predicted.items.ids[0]: {"label": {"verdict": "wrong", "label": last}}}
    review = write_review(tmp_path / "corrections.json", "food", entries)
    run("predict", model, sets / "food", "--out", after, "--corrections", review)
    corrected = tallymark.read_submission("food", after, num_classes=4)
    assert corrected.shapes.label[:3].tolist() == [predicted.shapes.label[2], *predicted.shapes.label[:2]]
    assert corrected.shapes.label[3:].tolist() == predicted.shapes.label[3:].tolist()


@pytest.mark.parametrize("command", ["train", "predict"])
def test_bad_files_are_refused_before_any_work(command: str, sets: Path, tmp_path: Path) -> None:
    review = write_review(tmp_path / "corrections.json", "ships", {"a": {"complete": 1}})
    words = ["train", "wheat", sets / "wheat", "--out", tmp_path / "run"]
    words = words if command == "train" else ["predict", "wheat", sets / "wheat"]
    printed = json.loads(run(*words, "--corrections", review, "--json", code=2))
    assert printed["counts"] == {"other_challenge": 1, "bad_correction": 1}
    assert not (tmp_path / "run").exists()


QUICK = ["width=4", "neck=8", "epochs=1", "evaluations=1", "batch_size=4", "tta=1", "--preset", "tiny", "--json"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wheat", "upcalls", "food", "lyft", "ships"])
def test_training_uses_and_records_corrections(name: str, sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, name, tmp_path)
    catalog = tallymark.read(name, folder)
    item, test = (catalog.in_split(split).items.ids[0] for split in ("train", "test"))
    label = {"lyft": "car"}.get(name)
    entries: dict[str, Any] = {
        item: {"missed": [{"shape": FREE.get(name), "label": label}]},
        test: {"complete": True},
        "nothing here": {},
    }
    if name == "wheat":
        entries[item]["missed"][0]["shape"] = [5, 5, 9, 9]
    if name == "food":
        classes = catalog.truth.classes if catalog.truth is not None else ()
        entries = {test: {"label": {"verdict": "right", "label": classes[0] if classes else "0"}}, "nothing here": {}}
    review = write_review(tmp_path / "corrections.json", name, entries)
    out = tmp_path / "run"
    small = {"wheat": ["image_size=64", "crop_size=64"], "food": ["image_size=64"], "ships": ["image_size=64"],
             "lyft": ["bev_range=16", "voxel_size=0.5"]}  # fmt: skip
    printed = json.loads(
        run("train", name, folder, *QUICK, *small.get(name, []), "--corrections", review, "--out", out)
    )
    assert any("labelled for the first time" in remark for remark in printed["remarks"])
    assert printed["skipped"]["counts"]["unused_correction"] == 1
    assert (printed["skipped"]["counts"].get("against_rules", 0) == 1) == (name == "food")
    [recorded] = json.loads((out / "environment.json").read_text())["corrections"]
    assert recorded["file"] == str(review)
    assert len(recorded["sha256"]) == 64
