"""Files of kinds that are not read are named by every command, and HEIC, MP3 and Pascal VOC are read."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from PIL import Image

from tallymark.io.suffixes import HEIC_SUFFIXES, IMAGE_SUFFIXES
from tests.cli.running import run
from tests.formats.files import put, put_image, put_recording
from tests.formats.test_voc import head, voc

LABELME = '{"version": "5.0", "shapes": [{"label": "head", "points": [[1, 2], [3, 4]]}], "imagePath": "a.jpg"}'
CVAT = "<?xml version='1.0'?><annotations><image name='a.jpg'><box label='head'/></image></annotations>"
FORMATS = {
    "LabelMe": ("a.json", LABELME),
    "CVAT": ("annotations.xml", CVAT),
    "VGG Image Annotator": ("via.json", '{"a.jpg": {"regions": [{"shape_attributes": {"name": "rect"}}]}}'),
    "Label Studio": ("project.json", '[{"annotations": [{"result": [{"from_name": "label"}]}]}]'),
    "xmin": ("boxes.csv", "filename,xmin,ymin,xmax,ymax\na.jpg,1,2,3,4\n"),
}


def problems_of(*words: object) -> list[dict[str, Any]]:
    return json.loads(run("check", *words, "--json", code=2))["problems"]


@pytest.mark.parametrize("name", FORMATS)
def test_annotations_of_other_formats_are_never_valid_without_truth(tmp_path: Path, name: str) -> None:
    put_image(tmp_path / "a.jpg")
    put(tmp_path / FORMATS[name][0], FORMATS[name][1])
    [problem] = problems_of("wheat", tmp_path)
    assert problem["kind"] == "unread_annotations"
    assert name in problem["found"]
    assert problem["remedy"] == "convert them to COCO, YOLO or Pascal VOC"


def test_unfinished_downloads_are_named(tmp_path: Path) -> None:
    put_image(tmp_path / "a.jpg")
    put(tmp_path / "b.jpg.crdownload", "half")
    [problem] = problems_of("wheat", tmp_path)
    assert problem["kind"] == "unread_files"
    assert problem["found"] == "1 unfinished download (.crdownload), not read: b.jpg.crdownload"


def test_other_tables_and_own_results_are_not_named(tmp_path: Path) -> None:
    put_image(tmp_path / "a.jpg")
    put(tmp_path / "weather.csv", "date,rain\n2020-01-01,3\n")
    put(tmp_path / "sample_submission.csv", "image_id,PredictionString\na,\n")
    put(tmp_path / "settings.json", '{"editor": true}')
    put(tmp_path / "README.txt", "photographs of wheat")
    assert "valid: 1 item, no truth" in run("check", "wheat", tmp_path)


def test_pascal_voc_is_read_where_boxes_are_and_named_elsewhere(tmp_path: Path) -> None:
    put_image(tmp_path / "a.jpg")
    put(tmp_path / "a.xml", voc(head()))
    assert "valid: 1 item, 1 object" in run("check", "wheat", tmp_path)
    kinds = {problem["kind"]: problem for problem in problems_of("ships", tmp_path)}
    assert "Pascal VOC: a.xml" in kinds["unread_annotations"]["found"]
    assert kinds["unread_annotations"]["remedy"] == "convert them to COCO or YOLO"


def test_media_of_other_kinds_are_counted_in_one_row_each(tmp_path: Path) -> None:
    put_image(tmp_path / "a.jpg")
    for name in ("a.MOV", "b.mp4", "c.dng", "more.tar.gz", "sound.m4a"):
        put(tmp_path / name, "bytes")
    found = [problem["found"] for problem in problems_of("wheat", tmp_path)]
    assert found == [
        "1 archive (.gz), not read: more.tar.gz",
        "1 raw photograph (.dng), not read: c.dng",
        "2 videos (.mov, .mp4), not read: a.MOV, b.mp4",
    ]
    run("explore", "wheat", tmp_path, "--out", tmp_path / "page.html")
    assert "2 videos (.mov, .mp4), not read" in (tmp_path / "page.html").read_text()


def test_a_folder_of_nothing_else_says_what_is_there(tmp_path: Path) -> None:
    for name in ("a.pcd", "b.pcd"):
        put(tmp_path / name, "# .PCD v0.7")
    kinds = {problem["kind"]: problem for problem in problems_of("lyft", tmp_path)}
    assert "2 point clouds (.pcd)" in kinds["unread_files"]["found"]
    assert ".bin" in kinds["unread_files"]["remedy"]
    assert "empty_folder" in kinds


def test_predict_names_them_too(sets: Path, tmp_path: Path) -> None:
    shutil.copytree(sets / "wheat" / "test", tmp_path / "photographs")
    put(tmp_path / "photographs" / "flight.mp4", "bytes")
    out = run("predict", "wheat", tmp_path / "photographs", "image_size=128")
    assert "1 video (.mp4), not read" in out
    assert "ffmpeg" in out


def test_heic_is_read_with_the_extra_and_named_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heif = pytest.importorskip("pillow_heif")
    pixels = np.zeros((64, 96, 3), np.uint8)
    pixels[:, 48:] = 255
    put_image(tmp_path / "b.jpg")
    heif.from_pillow(Image.fromarray(pixels)).save(tmp_path / "a.heic", quality=90)
    shutil.copy(tmp_path / "a.heic", tmp_path / "c.jpg")  # as some phones name it
    assert json.loads(run("check", "wheat", tmp_path, "--json", code=2))["counts"] == {"duplicate_media": 1}
    from tallymark.io.images import image_size, read_image

    assert image_size(tmp_path / "a.heic") == (96, 64)
    assert read_image(tmp_path / "a.heic")[32, [10, 80], 0].tolist() == pytest.approx([0, 255], abs=6)
    without = IMAGE_SUFFIXES - HEIC_SUFFIXES
    from tallymark.challenges.wheat import read as wheat

    monkeypatch.setattr(wheat, "IMAGE", replace(wheat.IMAGE, suffixes=frozenset(without)))
    found = {problem["kind"]: problem for problem in problems_of("wheat", tmp_path)}
    assert found["unread_files"]["found"] == "1 HEIC photograph (.heic), not read: a.heic"
    assert "tallymark[heic]" in found["unread_files"]["remedy"]


def test_mp3_is_a_recording(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.mp3", np.sin(np.arange(16000) / 20) * 0.5, 8000)
    put_recording(tmp_path / "b.wav")
    put(tmp_path / "c.m4a", "bytes")
    kinds = {problem["kind"]: problem for problem in problems_of("upcalls", tmp_path)}
    assert set(kinds) == {"silent_recording", "unread_files"}
    assert kinds["unread_files"]["found"] == "1 recording (.m4a), not read: c.m4a"
    assert json.loads(run("check", "upcalls", tmp_path, "--json", code=2))["items"] == 2


def test_train_names_them(sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Any] = []
    monkeypatch.setattr("tallymark.training.train.train", plans.append)
    shutil.copytree(sets / "wheat", tmp_path / "wheat")
    put(tmp_path / "wheat" / "more.rar", "bytes")
    run("train", "wheat", tmp_path / "wheat", "--out", tmp_path / "run", "--preset", "tiny")
    assert "1 archive (.rar), not read" in str(plans[0].problems.as_dict())
