"""Annotations of all formats in zip archives, each folder in one of its own: the same as unpacked."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tallymark
from tallymark.synthetic.packing import pack
from tests.formats.files import coco, put, put_image, put_recording
from tests.formats.test_kitti import CAR, put_frame
from tests.formats.test_voc import head, voc


def _coco(folder: Path) -> None:
    put_image(folder / "train2017" / "a.jpg")
    images = [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 50}]
    boxes = [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 30, 40]}]
    put(folder / "annotations" / "instances_train2017.json", coco(images, boxes, [{"id": 1, "name": "head"}]))


def _yolo(folder: Path) -> None:
    for name in ("a", "b"):
        put_image(folder / "images" / "train" / f"{name}.png")
        put(folder / "labels" / "train" / f"{name}.txt", "0 0.5 0.5 0.1 0.2\n")


def _voc(folder: Path) -> None:
    put_image(folder / "JPEGImages" / "a.png")
    put(folder / "Annotations" / "a.xml", voc(head(), filename="a.png"))


def _kitti(folder: Path) -> None:
    for name in ("000000", "000001"):
        put_frame(folder / "training", name, f"{CAR}\n")


def _audacity(folder: Path) -> None:
    put_recording(folder / "sound" / "a.wav")
    put(folder / "labels" / "a.txt", "0.1\t0.4\tup\n")


CASES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "coco": ("wheat", _coco),
    "yolo": ("wheat", _yolo),
    "voc": ("wheat", _voc),
    "kitti": ("lyft", _kitti),
    "audacity": ("upcalls", _audacity),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("package", ["", "all.zip"])
def test_archives_are_read_like_folders(case: str, package: str, tmp_path: Path) -> None:
    name, make = CASES[case]
    make(tmp_path / "data")
    plain = tallymark.read(name, tmp_path / "data")
    pack(tmp_path / "data", package)
    packed = tallymark.read(name, tmp_path / "data" / package)
    _compare(packed, plain)


def test_labels_and_sweeps_of_kitti_are_published_apart(tmp_path: Path) -> None:
    _kitti(tmp_path / "plain")
    (tmp_path / "data").mkdir()
    for part in ("velodyne", "label_2", "calib"):
        with zipfile.ZipFile(tmp_path / "data" / f"data_object_{part}.zip", "w") as file:
            for path in sorted((tmp_path / "plain" / "training" / part).iterdir()):
                file.write(path, f"training/{part}/{path.name}")
    _compare(tallymark.read("lyft", tmp_path / "data"), tallymark.read("lyft", tmp_path / "plain"))


def test_flat_archives_of_images_and_labels(tmp_path: Path) -> None:
    _yolo(tmp_path / "plain")
    (tmp_path / "data").mkdir()
    for part in ("images", "labels"):
        with zipfile.ZipFile(tmp_path / "data" / f"{part}.zip", "w") as file:
            for path in sorted((tmp_path / "plain" / part / "train").iterdir()):
                file.write(path, path.name)
    _compare(tallymark.read("wheat", tmp_path / "data"), tallymark.read("wheat", tmp_path / "plain"))


def _compare(packed: tallymark.Catalog, plain: tallymark.Catalog) -> None:
    assert packed.items.ids.to_list() == plain.items.ids.to_list()
    assert packed.split.to_list() == plain.split.to_list()
    assert not packed.files.is_null().any()
    assert packed.truth is not None
    assert plain.truth is not None
    assert len(packed.truth) == len(plain.truth) > 0
    assert np.array_equal(packed.truth.item, plain.truth.item)
    assert not packed.notes
