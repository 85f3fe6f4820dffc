"""`predict --export` and `convert --to` through the command line, for every challenge that a format fits."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import tallymark
from tests.cli.test_cli import run
from tests.sets import copy_of
from tests.untrained import untrained

FITTING = {
    "wheat": {"coco": "a.json", "yolo": "yolo", "voc": "voc", "csv": "a.csv"},
    "ships": {"coco": "a.json", "yolo": "yolo", "csv": "a.csv"},
    "lyft": {"kitti": "kitti", "nuscenes": "r.json", "csv": "a.csv"},
    "upcalls": {"raven": "raven", "audacity": "audacity", "csv": "a.csv"},
    "food": {"csv": "a.csv"},
}
LOW = {"wheat": 0.05, "ships": 0.05, "lyft": 0.05, "upcalls": 0.05}
"""Score thresholds that an untrained model reaches at times."""


@pytest.mark.parametrize("name", FITTING)
def test_predictions_in_all_formats_that_fit(name: str, sets: Path, tmp_path: Path) -> None:
    model = untrained(name, tmp_path / "model.onnx")
    words: list[object] = ["predict", model, sets / name, "--split", "test"]
    words += [f"score_threshold={LOW[name]}"] if name in LOW else []
    for to, path in FITTING[name].items():
        words += ["--export", f"{to}={tmp_path / path}"]
    printed = run(*words)
    items = len(tallymark.read(name, sets / name).in_split("test"))
    for to, path in FITTING[name].items():
        assert f"written to {tmp_path / path}" in printed
        folder = {"yolo": "labels", "voc": "Annotations", "kitti": "label_2"}.get(to, "")
        if (tmp_path / path).is_dir():
            assert len([one for one in (tmp_path / path / folder).rglob("*") if one.is_file()]) == items
    if "coco" in FITTING[name]:
        assert len(json.loads((tmp_path / "a.json").read_text())["images"]) == items
    printed = run(*words, code=2)
    assert "--force" in printed


@pytest.mark.parametrize("name", FITTING)
def test_the_truth_of_a_folder_in_all_formats_that_fit(name: str, sets: Path, tmp_path: Path) -> None:
    catalog = tallymark.read(name, sets / name).with_truth()
    for to, path in FITTING[name].items():
        run("convert", name, sets / name, "--to", to, "--out", tmp_path / path)
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert len(lines) == 1 + len(catalog.truth)


def test_a_format_that_does_not_fit_is_refused_before_any_work(sets: Path, tmp_path: Path) -> None:
    model = untrained("wheat", tmp_path / "model.onnx")
    for given, found in (
        (f"kitti={tmp_path / 'x'}", "choose from: coco, yolo, voc, geojson, photos, csv"),
        (f"cocoo={tmp_path / 'x'}", "did you mean 'coco'"),
        ("coco", "FORMAT=PATH"),
        (f"coco={tmp_path / 'none' / 'x.json'}", "mkdir"),
    ):
        assert found in run("predict", model, sets / "wheat", "--export", given, code=2)
    assert "another output" in run(
        "predict",
        model,
        sets / "wheat",
        "--export",
        f"coco={tmp_path / 'a'}",
        "--export",
        f"csv={tmp_path / 'a'}",
        code=2,
    )
    assert not (tmp_path / "x").exists()


def test_an_image_that_cannot_be_read_is_in_no_export(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "wheat", tmp_path) / "test"
    damaged, *others = sorted(folder.iterdir())
    damaged.write_bytes(b"nothing")
    model = untrained("wheat", tmp_path / "model.onnx")
    printed = run(
        "predict", model, folder, "--export", f"coco={tmp_path / 'a.json'}", "--export", f"yolo={tmp_path / 'y'}"
    )
    assert damaged.stem in printed
    written = json.loads((tmp_path / "a.json").read_text())["images"]
    assert [image["file_name"] for image in written] == [path.name for path in others]
    assert sorted(path.stem for path in (tmp_path / "y" / "labels").iterdir()) == [path.stem for path in others]


def test_a_zipped_data_set_gives_a_folder_of_its_own(sets: Path, tmp_path: Path) -> None:
    shutil.make_archive(str(tmp_path / "wheat"), "zip", sets / "wheat")
    run("convert", "wheat", tmp_path / "wheat.zip", "--to", "yolo", "--out", tmp_path / "yolo")
    images = [path for path in (tmp_path / "yolo" / "images").rglob("*") if path.is_file()]
    assert images
    assert not any(path.is_symlink() for path in images)
    before = tallymark.read("wheat", sets / "wheat").with_truth()
    after = tallymark.read("wheat", tmp_path / "yolo").with_truth()
    assert len(after.truth) == len(before.truth)
