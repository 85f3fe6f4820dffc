"""Pascal VOC files: where they may be, splits, classes, and a problem for every fault."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tallymark
from tallymark.core.problems import BadInput
from tests.formats.files import put, put_image

OBJECT = (
    "<object><name>{name}</name><part><bndbox><xmin>1</xmin></bndbox></part>\n"
    "<bndbox><xmin>{xmin}</xmin><ymin>5</ymin><xmax>30</xmax><ymax>25</ymax></bndbox></object>"
)


def voc(*objects: str, filename: str = "", size: str = "<width>100</width><height>50</height>") -> str:
    return (
        f"<annotation>\n<filename>{filename}</filename><size>{size}</size>\n" + "\n".join(objects) + "\n</annotation>"
    )


def head(name: str = "head", xmin: object = 10) -> str:
    return OBJECT.format(name=name, xmin=xmin)


@pytest.mark.parametrize(
    ("image", "table", "filename"),
    [
        ("a.jpg", "a.xml", ""),
        ("JPEGImages/a.jpg", "Annotations/a.xml", "other.jpg"),
        ("images/photo 1.JPG", "labels/0001.xml", "photo 1.jpg"),
        ("train/a.jpg", "train/xml/a.xml", "a.jpg"),
    ],
)
def test_files_are_matched_to_images(tmp_path: Path, image: str, table: str, filename: str) -> None:
    put_image(tmp_path / image)
    put(tmp_path / table, voc(head(), filename=filename))
    catalog = tallymark.read("wheat", tmp_path)
    assert catalog.truth is not None
    assert np.column_stack(catalog.truth.shapes.columns).tolist() == [[10, 5, 20, 20]]
    assert catalog.items.ids.to_list() == [Path(image).name]
    assert catalog.tables.to_list() == [str(tmp_path / table)]
    assert catalog.size is not None
    assert catalog.size.tolist() == [[100, 50]]
    assert not catalog.notes


def test_splits_classes_and_images_without_a_file(tmp_path: Path) -> None:
    for name in "abcd":
        put_image(tmp_path / "JPEGImages" / f"{name}.jpg")
    put(tmp_path / "Annotations" / "a.xml", voc(head("wheat"), head("barley")))
    put(tmp_path / "Annotations" / "b.xml", voc(size="<width>0</width>"))
    put(tmp_path / "Annotations" / "e.xml", voc(head("wheat"), filename="e.jpg"))
    put(tmp_path / "ImageSets" / "Main" / "train.txt", "a\nb\n")
    put(tmp_path / "ImageSets" / "Main" / "test.txt", "c  1\n")
    catalog = tallymark.read("wheat", tmp_path)
    assert catalog.truth is not None
    assert catalog.truth.classes == ("barley", "wheat")
    assert catalog.truth.counts.tolist() == [2, 0, 0, 0, 1]
    assert catalog.labelled.tolist() == [True, True, False, False, True]
    assert catalog.split.to_list() == ["train", "train", "test", "train", "train"]
    assert catalog.path(4) is None
    assert catalog.truth.line is not None
    assert catalog.truth.line.tolist() == [3, 5, 3]


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        (voc(head(xmin="left")), "bad_box", 3),
        (voc(head(), head(xmin=30)), "bad_box", 5),
        (voc("<object><name>a</name></object>"), "bad_box", 3),
        ("<annotation>\n<object>\n</annotation>", "bad_xml", 3),
        ("<!DOCTYPE a [\n<!ENTITY a 'aaaa'>]>\n<annotation>&a;</annotation>", "bad_xml", 2),
    ],
)
def test_faults_are_problems_with_their_line(tmp_path: Path, text: str, kind: str, line: int) -> None:
    put_image(tmp_path / "a.jpg")
    put(tmp_path / "a.xml", text)
    with pytest.raises(BadInput) as bad:
        tallymark.read("wheat", tmp_path)
    assert [(problem.kind, problem.line) for problem in bad.value.problems] == [(kind, line)]
