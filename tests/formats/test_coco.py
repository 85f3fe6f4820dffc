"""COCO files: matched to their images, written and read back, and a problem for every fault."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tallymark
from tallymark.core.problems import Problems
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.formats import read_boxes, read_masks, write_coco_boxes, write_coco_masks
from tallymark.geometry import Boxes, Masks
from tests.formats.files import coco, listing, only, put, put_image
from tests.made import annotations, columns_of

IMAGES = [
    {"id": 7, "file_name": "a.jpg", "width": 100, "height": 50},
    {"id": 9, "file_name": "b.jpg", "width": 100, "height": 50},
]
HEAD = [{"id": 1, "name": "head"}]


def box(number: int, image: Any = 7, kind: Any = 1, bbox: Any = (1, 2, 3, 4), **more: Any) -> dict[str, Any]:
    return {"id": number, "image_id": image, "category_id": kind, "bbox": bbox, **more}


def test_boxes_are_matched_to_images(tmp_path: Path) -> None:
    put_image(tmp_path / "photos" / "a.jpg")
    put_image(tmp_path / "photos" / "c.jpg")
    rows = [box(1), box(2, bbox=[0.5, 1, 2, 2]), box(3, 9, iscrowd=1)]
    put(tmp_path / "instances.json", coco(IMAGES, rows, HEAD))
    catalog = tallymark.read("wheat", tmp_path)
    assert catalog.items.ids.to_list() == ["a.jpg", "b.jpg", "c.jpg"]
    assert catalog.files.to_list() == ["photos/a.jpg", None, "photos/c.jpg"]
    assert catalog.labelled.tolist() == [True, True, False]
    assert catalog.truth is not None
    assert catalog.truth.counts.tolist() == [2, 0, 0]
    assert catalog.truth.shapes.x.tolist() == [1, 0.5]
    assert catalog.truth.label is None
    assert catalog.truth.line is not None
    assert catalog.truth.line.tolist() == [6, 7]
    assert catalog.size is not None
    assert catalog.size[:2].tolist() == [[100, 50], [100, 50]]
    assert only(catalog.notes, "crowd").line == 8


def test_files_are_splits_with_common_classes(tmp_path: Path) -> None:
    for split in ("train", "val"):
        put_image(tmp_path / f"{split}2017" / "a.jpg")
    categories = [{"id": 4, "name": "leaf"}, {"id": 5, "name": "head"}]
    put(tmp_path / "annotations" / "instances_train2017.json", coco(IMAGES[:1], [box(1)], HEAD))
    put(tmp_path / "annotations" / "instances_val2017.json", coco(IMAGES[:1], [box(1, kind=4)], categories))
    put(tmp_path / "annotations" / "captions_val2017.json", coco(IMAGES[:1], [], []))
    catalog = tallymark.read("wheat", tmp_path)
    assert catalog.items.ids.to_list() == ["train2017/a.jpg", "val2017/a.jpg"]
    assert catalog.split.to_list() == ["train", "val"]
    assert catalog.truth is not None
    assert catalog.truth.classes == ("head", "leaf")
    assert catalog.truth.labels.tolist() == [0, 1]
    assert only(catalog.notes, "unused_table").file.endswith("captions_val2017.json")


def test_a_path_takes_precedence_over_a_base_name(tmp_path: Path) -> None:
    for folder in ("x", "y"):
        put_image(tmp_path / folder / "a.jpg")
    put(tmp_path / "labels.json", coco([{"id": 1, "file_name": "y/a.jpg"}, {"id": 2, "file_name": "a.jpg"}], [], HEAD))
    catalog = tallymark.read("wheat", tmp_path)
    assert catalog.files.to_list()[:2] == ["y/a.jpg", None]
    assert only(catalog.notes, "ambiguous_file").item == "a.jpg"


def test_a_name_is_not_matched_to_another_image(tmp_path: Path) -> None:
    put_image(tmp_path / "val" / "a.jpg")
    put_image(tmp_path / "val" / "y" / "b.jpg")
    three = [{"id": at, "file_name": name} for at, name in enumerate(("a.jpg", "x/b.jpg", "y\\b.jpg"))]
    put(tmp_path / "train.json", coco(IMAGES[:1], [], HEAD))
    put(tmp_path / "val.json", coco(three, [], HEAD))
    catalog = tallymark.read("wheat", tmp_path)
    assert catalog.split.to_list() == ["train", "val", "val", "val"]
    assert catalog.files.to_list() == [None, "val/a.jpg", None, "val/y/b.jpg"]


def test_an_image_in_two_files_is_a_problem(tmp_path: Path) -> None:
    put_image(tmp_path / "images" / "a.jpg")
    put(tmp_path / "train.json", coco(IMAGES[:1], [box(1)], HEAD))
    put(tmp_path / "val.json", coco(IMAGES[:1], [], HEAD))
    problems = Problems()
    catalog = read_boxes(listing(tmp_path), problems)
    assert only(problems, "duplicate_item").line == 2
    assert catalog is not None
    assert catalog.split.to_list() == ["train"]


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (box(1, 8), "unknown_image"),
        (box(1, 7.5), "unknown_image"),
        (box(1, [7]), "unknown_image"),
        (box(1, kind=2), "unknown_class"),
        (box(1, bbox=[1, 2, 3]), "bad_box"),
        (box(1, bbox=[1, 2, 3, float("nan")]), "bad_box"),
        (box(1, bbox=[1, 2, 3, "4"]), "bad_box"),
        (box(1, bbox=[1, 2, 3, 10**400]), "bad_box"),
        (box(1, bbox=[1, 2, -3, 4]), "bad_box"),
        (box(1, bbox=None), "bad_box"),
        (box(2), "duplicate_id"),
        ("text", "bad_annotation"),
    ],
)
def test_a_bad_annotation_is_a_problem_with_its_line(tmp_path: Path, row: Any, kind: str) -> None:
    path = put(tmp_path / "coco.json", coco(IMAGES, [box(2), row, box(3)], HEAD))
    problems = Problems()
    catalog = read_boxes(listing(tmp_path), problems)
    problem = only(problems, kind)
    assert (problem.file, problem.line) == (str(path), 7)
    assert catalog is not None
    assert catalog.truth is not None
    assert len(catalog.truth) == 2


@pytest.mark.parametrize(
    ("image", "kind"),
    [
        ({"id": 7, "file_name": "c.jpg"}, "duplicate_id"),
        ({"id": 8, "file_name": "a.jpg"}, "duplicate_item"),
        ({"id": 8}, "bad_image"),
        ({"file_name": "c.jpg"}, "bad_image"),
        (9, "bad_image"),
        ({"id": 8, "file_name": "c.jpg", "width": 0, "height": 3}, "bad_size"),
    ],
)
def test_a_bad_image_is_a_problem_with_its_line(tmp_path: Path, image: Any, kind: str) -> None:
    put(tmp_path / "coco.json", coco([*IMAGES, image], [box(1)], HEAD))
    problems = Problems()
    catalog = read_boxes(listing(tmp_path), problems)
    assert only(problems, kind).line == 4
    assert catalog is not None
    assert catalog.items.ids.to_list()[:2] == ["a.jpg", "b.jpg"]


def test_objects_before_a_syntax_error_are_read(tmp_path: Path) -> None:
    whole = coco(IMAGES, [box(1), box(2)], HEAD)
    put(tmp_path / "coco.json", whole[: whole.index('"id": 2')])
    problems = Problems()
    catalog = read_boxes(listing(tmp_path), problems)
    assert only(problems, "bad_json").line == 7
    assert catalog is not None
    assert catalog.truth is not None
    assert len(catalog.truth) == 1


@pytest.mark.parametrize("text", ["", "{", "[1]", "[" * 100_000, '{"images": [' + "[" * 100_000, "{'images': []}"])
def test_broken_files_are_problems(tmp_path: Path, text: str) -> None:
    put(tmp_path / "instances.json", text)
    problems = Problems()
    read_boxes(listing(tmp_path), problems)
    only(problems, "bad_json")


@pytest.mark.parametrize("name", ["annotations", "categories"])
def test_a_value_that_should_be_a_list_is_a_problem(tmp_path: Path, name: str) -> None:
    lists = {"images": IMAGES, "annotations": [box(1)], "categories": HEAD, name: {"1": box(1)}}
    put(tmp_path / "coco.json", json.dumps(lists, indent=0))
    problems = Problems()
    read_boxes(listing(tmp_path), problems)
    problem = only(problems, "bad_json")
    assert (problem.line, problem.expected) == (
        json.dumps(lists, indent=0).split("\n").index(f'"{name}": {{') + 1,
        f"a list of {name}",
    )


def test_other_json_files_are_ignored(tmp_path: Path) -> None:
    put(tmp_path / "a.json", '{"type": "FeatureCollection", "features": []}')
    put(tmp_path / "b.json", '[{"images": 1}]')
    put(tmp_path / "c.json", '{"categories": {"1": "head"}, "annotations": "none"}')
    problems = Problems()
    assert read_boxes(listing(tmp_path), problems) is None
    assert not problems


@pytest.mark.parametrize("seed", range(8))
def test_boxes_round_trip(tmp_path: Path, seed: int) -> None:
    truth = annotations("wheat", seed)
    write_coco_boxes(truth, tmp_path / "coco.json")
    back = read_boxes(listing(tmp_path), problems := Problems())
    assert not problems
    assert back is not None
    assert back.items.ids.to_list() == truth.items.ids.to_list()
    assert back.truth is not None
    assert (back.truth.offsets == truth.offsets).all()
    for ours, theirs in zip(columns_of(truth.shapes), columns_of(back.truth.shapes), strict=True):
        assert (ours == theirs).all()


def test_a_catalog_round_trips_with_sizes_and_classes(tmp_path: Path) -> None:
    categories = [{"id": 3, "name": "head"}, {"id": 1, "name": "leaf"}]
    put(tmp_path / "in" / "coco.json", coco(IMAGES, [box(1, 9, 1), box(2, 7, 3)], categories))
    first = tallymark.read("wheat", tmp_path / "in")
    (tmp_path / "out").mkdir()
    write_coco_boxes(first, tmp_path / "out" / "coco.json")
    second = tallymark.read("wheat", tmp_path / "out")
    assert first.truth is not None
    assert second.truth is not None
    assert second.truth.classes == first.truth.classes == ("head", "leaf")
    assert second.truth.labels.tolist() == first.truth.labels.tolist() == [0, 1]
    assert np.array_equal(np.asarray(first.size), np.asarray(second.size))
    with pytest.raises(ValueError, match="no truth"):
        write_coco_boxes(replace(first, truth=None), tmp_path / "out" / "none.json")


def test_missing_sizes_are_those_of_the_image_files(tmp_path: Path) -> None:
    put_image(tmp_path / "in" / "images" / "a.jpg", 80, 60)
    put(tmp_path / "in" / "images" / "b.jpg", "not an image")
    put(tmp_path / "in" / "labels" / "a.txt", "0 0.5 0.5 0.2 0.4\n")
    write_coco_boxes(tallymark.read("wheat", tmp_path / "in"), tmp_path / "coco.json")
    assert json.loads((tmp_path / "coco.json").read_text())["images"] == [
        {"id": 1, "file_name": "a.jpg", "width": 80, "height": 60},
        {"id": 2, "file_name": "b.jpg"},
    ]


def test_official_files_round_trip_through_coco(tmp_path: Path) -> None:
    put_image(tmp_path / "train" / "abc.jpg")
    put(tmp_path / "train.csv", 'image_id,width,height,bbox,source\nabc,100,50,"[1, 2, 3, 4]",x\n')
    first = tallymark.read("wheat", tmp_path)
    (tmp_path / "train.csv").unlink()
    write_coco_boxes(first, tmp_path / "coco.json")
    second = tallymark.read("wheat", tmp_path)
    assert second.files.to_list() == first.files.to_list() == ["train/abc.jpg"]
    assert second.truth is not None
    assert np.column_stack(second.truth.shapes.columns).tolist() == [[1, 2, 3, 4]]
    assert second.size is not None
    assert second.size.tolist() == [[100, 50]]


@pytest.mark.parametrize("seed", range(8))
def test_masks_round_trip(tmp_path: Path, seed: int) -> None:
    truth: Annotations[Masks] = annotations("ships", seed)
    write_coco_masks(truth, tmp_path / "coco.json")
    back = read_masks(listing(tmp_path), truth.shapes.shape, problems := Problems())
    assert not problems
    assert back is not None
    assert back.truth is not None
    assert (back.truth.offsets == truth.offsets).all()
    for at in range(len(truth)):
        assert (truth.shapes.bitmap(at) == back.truth.shapes.bitmap(at)).all()


def test_masks_of_every_encoding_are_read_beside_faults(tmp_path: Path) -> None:
    square = [1, 1, 3, 1, 3, 3, 1, 3]
    segmentations: list[Any] = [
        [square],
        {"size": [4, 5], "counts": [5, 2, 2, 2, 9]},
        {"size": [4, 5], "counts": "52207"},
        [],
        [[1, 2, 3]],
        {"size": [5, 4], "counts": [20]},
        {"size": [4, 5], "counts": [5]},
        {"size": [4, 5], "counts": "p"},
    ]
    small = {"id": 7, "file_name": "a.jpg", "width": 5, "height": 4}
    large = {"id": 8, "file_name": "b.jpg", "width": 50, "height": 40}
    rows = [box(at, segmentation=value) for at, value in enumerate(segmentations)] + [box(99, 8, segmentation=[square])]
    put(tmp_path / "coco.json", coco([small, large], rows, HEAD))
    problems = Problems()
    catalog = read_masks(listing(tmp_path), (4, 5), problems)
    found = [(problem.line, problem.kind) for problem in problems]
    assert found == [
        (9, "no_mask"), (10, "bad_polygon"), (11, "wrong_size"), (12, "bad_rle"), (13, "bad_rle"), (14, "wrong_size"),
    ]  # fmt: skip
    assert catalog is not None
    assert catalog.truth is not None
    masks = [catalog.truth.shapes.bitmap(at) for at in range(len(catalog.truth))]
    assert len(masks) == 3
    for mask in masks:
        assert np.argwhere(mask).tolist() == [[1, 1], [1, 2], [2, 1], [2, 2]]


def test_scores_are_written(tmp_path: Path) -> None:
    predictions = Annotations.from_rows(
        Items.of(["a.jpg"]), np.array([0]), Boxes.of(np.ones((1, 4))), score=np.array([0.25])
    )
    write_coco_boxes(predictions, tmp_path / "coco.json")
    assert '"score": 0.25' in (tmp_path / "coco.json").read_text()


def test_lines_of_many_faulty_rows_are_not_counted_from_the_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []
    monkeypatch.setattr("tallymark.io.json_text.line_at", lambda text, position: counted.append(position))
    text = coco(IMAGES, [box(number) for number in range(1, 51)], HEAD)
    put(tmp_path / "instances.json", text.replace('"image_id": 7', '"image_id": 7, "image_id": 9'))
    problems = Problems()
    read_boxes(listing(tmp_path), problems)
    assert [problem.line for problem in problems] == list(range(6, 56))
    assert not counted
