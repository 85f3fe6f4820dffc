"""One damaged annotation file among good ones: a problem for every command; its item is never one without objects."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tallymark
from tallymark.core.problems import BadInput, Problems
from tallymark.data.catalog import Catalog
from tests.cli.running import run
from tests.formats.files import coco, put, put_image, put_recording, put_sweep
from tests.formats.test_kitti import CALIBRATION
from tests.formats.test_voc import head, voc

RAVEN = "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\n1\tSpectrogram 1\t1\t0.1\t0.4\n"
KITTI = "Car 0 0 0 0 0 0 0 1.5 1.8 4.5 1 2 10 0\n"


def _images(folder: Path, name: str) -> None:
    put_image(folder / "images" / f"{name}.jpg", 100 + 10 * "abc".index(name))


def _yolo(folder: Path, name: str) -> Path:
    _images(folder, name)
    return put(folder / "labels" / f"{name}.txt", "0 0.5 0.5 0.2 0.2\n")


def _voc(folder: Path, name: str) -> Path:
    _images(folder, name)
    return put(folder / "xml" / f"{name}.xml", voc(head()))


def _coco(folder: Path, name: str) -> Path:
    _images(folder, name)
    image = {"id": 1, "file_name": f"{name}.jpg"}
    return put(folder / f"part_{name}.json", coco([image], [{"id": 1, "image_id": 1, "bbox": [1, 2, 30, 20]}], []))


def _raven(folder: Path, name: str) -> Path:
    put_recording(folder / f"{name}.wav")
    return put(folder / f"{name}.Table.1.selections.txt", RAVEN)


def _audacity(folder: Path, name: str) -> Path:
    put_recording(folder / f"{name}.wav")
    return put(folder / f"{name}.txt", "0.1\t0.4\tcall\n")


def _events(folder: Path, name: str) -> Path:
    put_recording(folder / f"{name}.wav")
    return put(folder / f"{name}.csv", f"filename,start,end\n{name}.wav,0.1,0.4\n")


def _kitti(folder: Path, name: str) -> Path:
    put_sweep(folder / "velodyne" / f"{name}.bin", np.ones((4, 4)))
    put(folder / "calib" / f"{name}.txt", CALIBRATION)
    return put(folder / "label_2" / f"{name}.txt", KITTI)


FORMATS: dict[str, tuple[str, Callable[[Path, str], Path]]] = {
    "yolo": ("wheat", _yolo),
    "voc": ("wheat", _voc),
    "coco": ("wheat", _coco),
    "raven": ("upcalls", _raven),
    "audacity": ("upcalls", _audacity),
    "events": ("upcalls", _events),
    "kitti": ("lyft", _kitti),
}
"""For each format its challenge, and what writes an item with one object; returns the annotation file."""
DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "binary": lambda data: bytes(range(256)) * 4,
    "few bytes": lambda data: b"\x89PNG\r\n\x1a\n",
    "UTF-16 without a mark": lambda data: data.decode().encode("utf-16-le"),
    "half of UTF-16": lambda data: data.decode().encode("utf-16")[:-1],
    "semicolons": lambda data: b"filename;start;end\nc.wav;0.1;0.4\n",
    "words": lambda data: b"this is no table at all\n",
    "zeros": lambda data: bytes(len(data)),
}


def data_set(folder: Path, name: str) -> tuple[str, Path]:
    """A data set of three items with one object each; returns its challenge, and the annotation file of the last."""
    challenge, write = FORMATS[name]
    return challenge, [write(folder, item) for item in "abc"][-1]


def read(challenge: str, folder: Path) -> tuple[Catalog | None, Problems]:
    """What is read of a folder, and all that is said about it."""
    from tallymark.api.data import read_folder
    from tallymark.core.options import parse_options
    from tallymark.core.registry import challenge as find

    what, problems = find(challenge), Problems()
    catalog = read_folder(what, folder, parse_options(what.rule_options, {}), None, problems)
    return catalog, problems


@pytest.mark.parametrize("name", FORMATS)
def test_good_files_are_read(name: str, tmp_path: Path) -> None:
    challenge, _ = data_set(tmp_path, name)
    catalog = tallymark.read(challenge, tmp_path)
    assert catalog.truth is not None
    assert catalog.truth.counts.tolist() == [1, 1, 1]
    assert not catalog.notes


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_file_is_a_problem_and_its_item_not_empty(name: str, damage: str, tmp_path: Path) -> None:
    challenge, file = data_set(tmp_path, name)
    file.write_bytes(DAMAGE[damage](file.read_bytes()))
    if (name, damage) == ("voc", "UTF-16 without a mark"):
        return  # XML says how it is recognised: it is read
    catalog, problems = read(challenge, tmp_path)
    assert {problem.file for problem in problems} == {str(file)}
    with pytest.raises(BadInput):  # so train, folds and score refuse it too
        tallymark.read(challenge, tmp_path)
    assert catalog is not None
    if damage in ("binary", "zeros") and name != "events":
        known = catalog.in_split("train").labelled
        assert known.sum() == 2
        assert catalog.truth is not None
        assert len(catalog.truth) == 2


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_cannot_be_opened_is_a_problem(name: str, tmp_path: Path) -> None:
    challenge, file = data_set(tmp_path, name)
    file.unlink()
    file.symlink_to(tmp_path / "nowhere")
    catalog, problems = read(challenge, tmp_path)
    notes = Problems() if catalog is None else catalog.notes
    assert str(file) in {problem.file for problem in (*problems, *notes)}


@pytest.mark.parametrize("name", FORMATS)
def test_utf16_of_windows_is_read_or_named(name: str, tmp_path: Path) -> None:
    challenge, file = data_set(tmp_path, name)
    file.write_bytes(file.read_text().encode("utf-16"))
    catalog, problems = read(challenge, tmp_path)
    if name == "events":  # CSV is read as UTF-8 only
        assert problems.counts == {"encoding": 1}
        return
    assert not problems
    assert catalog is not None
    assert catalog.truth is not None
    assert catalog.truth.counts.tolist() == [1, 1, 1]


@pytest.mark.parametrize("empty", ["", " \n"])
def test_an_empty_selection_table_is_not_one_without_calls(empty: str, tmp_path: Path) -> None:
    challenge, file = data_set(tmp_path, "raven")
    put(file, empty)
    _, problems = read(challenge, tmp_path)
    assert [(problem.kind, problem.item, problem.found) for problem in problems] == [
        ("bad_table", "c.wav", "an empty file")
    ]


def test_a_note_on_a_recording_is_no_table(tmp_path: Path) -> None:
    put_recording(tmp_path / "a.wav")
    put(tmp_path / "a.txt", "windy day\n")
    put(tmp_path / "my_selection_notes.txt", "the best calls\n")
    catalog, problems = read("upcalls", tmp_path)
    assert not problems
    assert catalog is not None
    assert catalog.truth is None


@pytest.mark.parametrize("data", [b"", b"\0\0", b"hello", bytes(range(128, 256))])
def test_a_data_set_whose_only_annotations_are_damaged_is_not_valid(data: bytes, tmp_path: Path) -> None:
    put_image(tmp_path / "a.jpg")
    (tmp_path / "annotations.json").write_bytes(data)
    assert "annotations.json" in run("check", "wheat", tmp_path, code=2)


def test_the_item_of_a_damaged_file_can_be_excluded(tmp_path: Path) -> None:
    challenge, file = data_set(tmp_path / "data", "yolo")
    file.write_bytes(bytes(100))
    run("check", challenge, tmp_path / "data", "--out", tmp_path / "problems.csv", code=2)
    catalog = tallymark.read(challenge, tmp_path / "data", exclude=tmp_path / "problems.csv")
    assert catalog.items.ids.to_list() == ["a.jpg", "b.jpg"]


def test_annotations_without_images_are_no_coco_file(tmp_path: Path) -> None:
    challenge, file = data_set(tmp_path, "coco")
    put(file, '{"images": null, "annotations": [{"image_id": 1, "bbox": [1, 2, 3, 4]}], "categories": []}')
    _, problems = read(challenge, tmp_path)
    assert [problem.found for problem in problems] == ["annotations without images"]


@pytest.mark.parametrize("name", ["yolo", "raven"])
def test_every_command_names_it(name: str, tmp_path: Path) -> None:
    challenge, file = data_set(tmp_path / "data", name)
    file.write_bytes(bytes(100))
    page = tmp_path / "page.html"
    assert file.name in run("check", challenge, tmp_path / "data", code=2)
    assert file.name in run("folds", challenge, tmp_path / "data", code=2)
    assert file.name in run("train", challenge, tmp_path / "data", "--out", tmp_path / "run", code=2)
    assert file.name in run("explore", challenge, tmp_path / "data", "--out", page) + page.read_text()


def test_all_of_it_in_archives(tmp_path: Path) -> None:
    challenge, file = data_set(tmp_path / "data", "raven")
    file.write_bytes(bytes(100))
    shutil.make_archive(str(tmp_path / "all"), "zip", tmp_path / "data")
    _, problems = read(challenge, tmp_path / "all.zip")
    assert [problem.item for problem in problems] == ["c.wav"]
