"""Pascal VOC files: where they may be, splits, classes, and a problem for every fault."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tallymark
from tallymark.core.problems import BadInput
from tallymark.formats.export_source import ExportSource
from tallymark.formats.voc_writer import export_voc
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


def test_lists_name_images_with_their_folders(tmp_path: Path) -> None:
    """As our own export and CVAT write them: the same name may be in several folders, and of another split in each."""
    for name in ("north/1", "south/1", "south/my field"):
        put_image(tmp_path / "images" / f"{name}.jpg")
        put(tmp_path / "Annotations" / f"{name}.xml", voc(head(), filename=f"{name}.jpg"))
    put_image(tmp_path / "images" / "1.jpg")
    put(tmp_path / "ImageSets" / "Main" / "train.txt", "1\n")
    put(tmp_path / "ImageSets" / "Main" / "val.txt", 'north/1\n"south/my field"\n')
    put(tmp_path / "ImageSets" / "Main" / "test.txt", "images/south/1\n")
    catalog = tallymark.read("wheat", tmp_path)
    assert dict(zip(catalog.files, catalog.split, strict=True)) == {
        "images/1.jpg": "train",
        "images/north/1.jpg": "val",
        "images/south/1.jpg": "test",
        "images/south/my field.jpg": "val",
    }


@pytest.mark.parametrize("folders", [True, False])
def test_an_export_keeps_its_splits(tmp_path: Path, folders: bool) -> None:
    """With the images that it links in their folders, and beside the images in one."""
    for name in ("north/1", "south/2"):
        put_image(tmp_path / "data" / f"{name}.jpg")
        put(tmp_path / "data" / f"{name}.xml", voc(head(), filename=f"{name}.jpg"))
    source = tallymark.read("wheat", tmp_path / "data")
    assert source.truth is not None
    source = replace(source, split=pl.Series(["val", "test"]))
    (tmp_path / "out").mkdir()
    export_voc(ExportSource(source.truth, source, np.full((2, 2), (100.0, 50.0))), tmp_path / "out")
    if not folders:
        shutil.rmtree(tmp_path / "out" / "JPEGImages")
        for name in ("1.jpg", "2.jpg"):
            put_image(tmp_path / "out" / "JPEGImages" / name)
    assert tallymark.read("wheat", tmp_path / "out").split.to_list() == ["val", "test"]


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
