"""YOLO label files: where they may be, conversion to pixels, class names, and a problem for every fault."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tallymark
from tallymark.core.problems import Problems
from tallymark.data.catalog import Catalog
from tallymark.formats import read_boxes
from tests.formats.files import listing, only, put, put_image


def boxes(catalog: Catalog | None) -> list[list[float]]:
    assert catalog is not None
    assert catalog.truth is not None
    return np.column_stack(catalog.truth.shapes.columns).round(9).tolist()


@pytest.mark.parametrize(
    ("image", "label"),
    [
        ("images/a.jpg", "labels/a.txt"),
        ("images/train/a.jpg", "labels/train/a.txt"),
        ("train/images/a.jpg", "train/labels/a.txt"),
        ("train/a.jpg", "train/labels/a.txt"),
        ("train/a.jpg", "train/a.txt"),
        ("a.jpg", "a.txt"),
        ("images/a.JPG", "labels/a.TXT"),
    ],
)
def test_label_files_are_matched_to_images(tmp_path: Path, image: str, label: str) -> None:
    put_image(tmp_path / image)
    put(tmp_path / label, "0 0.5 0.5 0.2 0.4\n")
    catalog = tallymark.read("wheat", tmp_path)
    assert boxes(catalog) == [[40, 15, 20, 20]]
    assert catalog.items.ids.to_list() == [Path(image).name]
    assert catalog.tables.to_list() == [str(tmp_path / label)]


def test_images_with_empty_or_missing_label_files_have_no_objects(tmp_path: Path) -> None:
    for name in ("train/images/a.jpg", "train/images/b.jpg", "train/images/c.jpg", "test/images/d.jpg"):
        put_image(tmp_path / name)
    put(tmp_path / "train" / "labels" / "a.txt", "0 0.5 0.5 0.2 0.4\r\n\r\n0 0.2 0.2 0.4 0.1 0.3 0.5\r\n")
    put(tmp_path / "train" / "labels" / "b.txt", "")
    catalog = tallymark.read("wheat", tmp_path)
    assert catalog.truth is not None
    assert catalog.truth.counts.tolist() == [0, 2, 0, 0]
    assert catalog.items.ids.to_list() == ["d.jpg", "a.jpg", "b.jpg", "c.jpg"]
    assert catalog.labelled.tolist() == [False, True, True, True]
    assert boxes(catalog)[1] == [20, 5, 20, 20]  # around the polygon
    assert catalog.truth.line is not None
    assert catalog.truth.line.tolist() == [1, 3]


@pytest.mark.parametrize("before", ["./images/", "images/", "/home/someone/set/images/", "C:\\\\set\\\\images\\\\"])
def test_lists_name_the_split_of_images(tmp_path: Path, before: str) -> None:
    for name in "abcd":
        put_image(tmp_path / "images" / f"{name}.jpg")
        put(tmp_path / "labels" / f"{name}.txt", "0 0.5 0.5 0.2 0.4\n")
    put(tmp_path / "train.txt", f"{before}a.jpg\n{before}b.jpg\n")
    put(tmp_path / "valid.txt", f"{before}b.jpg\n\n{before}gone.jpg\n")
    put(tmp_path / "test.txt", "labels of a test, in words\n")
    catalog = tallymark.read("wheat", tmp_path)
    assert dict(zip(catalog.items.ids, catalog.split, strict=True)) == {
        "a.jpg": "train", "b.jpg": "val", "c.jpg": "train", "d.jpg": "train"
    }  # fmt: skip


def test_exported_splits_are_read_back(tmp_path: Path) -> None:
    for split, name in (("train", "a"), ("val", "b"), ("test", "c")):
        put_image(tmp_path / "set" / split / "images" / f"{name}.jpg")
        put(tmp_path / "set" / split / "labels" / f"{name}.txt", "0 0.5 0.5 0.2 0.4\n")
    tallymark.convert("wheat", tmp_path / "set", tmp_path / "yolo", to="yolo")
    assert tallymark.read("wheat", tmp_path / "yolo").split.sort().to_list() == ["test", "train", "val"]


def test_other_text_files_are_not_label_files(tmp_path: Path) -> None:
    put_image(tmp_path / "a.jpg")
    put(tmp_path / "a.txt", "a photograph of wheat, taken in 2019\n")
    put(tmp_path / "class_list.txt", "0 head\n1 leaf\n")
    problems = Problems()
    assert read_boxes(listing(tmp_path), problems) is None
    put_image(tmp_path / "b.jpg")
    put(tmp_path / "b.txt", "0 0.5 0.5 0.2 0.4\n")
    assert read_boxes(listing(tmp_path), problems) is not None
    assert only(problems, "not_a_number").file == str(tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("0 0.5 0.5 0.2", "field_count"),
        ("0 0.5 0.5 0.2 0.4 0.9", "field_count"),
        ("0 0.5 x 0.2 0.4", "not_a_number"),
        ("0 0.5 nan 0.2 0.4", "not_a_number"),
        ("0 0.5 1_0 0.2 0.4", "not_a_number"),
        ("2 0.5 0.5 0.2 0.4", "unknown_class"),
        ("-1 0.5 0.5 0.2 0.4", "unknown_class"),
        ("0.5 0.5 0.5 0.2 0.4", "unknown_class"),
        ("0 512 300 20 40", "out_of_bounds"),
        ("0 0.5 0.5 0 0.4", "bad_box"),
    ],
)
def test_a_bad_row_is_a_problem_with_its_line(tmp_path: Path, text: str, kind: str) -> None:
    put_image(tmp_path / "images" / "a.jpg")
    label = put(tmp_path / "labels" / "a.txt", f"1 0.5 0.5 0.2 0.4\n{text}\n0 0.5 0.5 0.2 0.4\n")
    put(tmp_path / "classes.txt", "head\nleaf\n")
    problems = Problems()
    catalog = read_boxes(listing(tmp_path), problems)
    problem = only(problems, kind)
    assert (problem.file, problem.line, problem.item) == (str(label), 2, "a.jpg")
    assert ("confidence" in problem.remedy) == (len(text.split()) == 6)
    assert len(boxes(catalog)) == 2


def test_a_box_at_the_border_is_inside_whatever_its_decimals(tmp_path: Path) -> None:
    put_image(tmp_path / "a.png")
    put(tmp_path / "a.txt", "0 0.833334 0.5 0.333333 0.2\n")
    [[x, _, width, _]] = boxes(tallymark.read("wheat", tmp_path))
    assert x + width > 100
    assert not tallymark.check("wheat", tmp_path).problems
    put(tmp_path / "a.txt", "0 0.9 0.5 0.2005 0.2\n")
    assert tallymark.check("wheat", tmp_path).problems.counts == {"out_of_bounds": 1}


def test_labels_without_a_readable_image_are_problems(tmp_path: Path) -> None:
    row = "0 0.5 0.5 0.2 0.4\n"
    put_image(tmp_path / "images" / "a.jpg")
    put(tmp_path / "images" / "b.jpg", "not an image")
    for name in "abc":
        put(tmp_path / "labels" / f"{name}.txt", row)
    problems = Problems()
    catalog = read_boxes(listing(tmp_path), problems)
    assert {Path(problem.file).name: problem.kind for problem in problems} == {
        "b.jpg": "corrupt_media", "c.txt": "unknown_image",
    }  # fmt: skip
    assert len(boxes(catalog)) == 1
