"""Corrections: files are read strictly, and change truth and predictions of every geometry as the reviewer said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import polars as pl
import pytest

import tallymark
from tallymark.core.problems import EVERY, Problems
from tallymark.data.annotations import Annotations
from tallymark.data.apply_corrections import Changes, apply_to_predictions, apply_to_truth
from tallymark.data.catalog import Catalog
from tallymark.data.corrections import Corrections, read_corrections
from tallymark.data.items import Items
from tallymark.geometry import Boxes, Cuboids, Events, Labels, Masks
from tallymark.io.images import IMAGE
from tests.made import annotations
from tests.reviews import shape_of, write_review

ITEMS = Items.of(["a", "b", "new"])
FREE: dict[str, Any] = {
    "wheat": [2000, 2000, 50, 40],
    "upcalls": [5000.0],
    "lyft": [9000.0, 9000.0, 0.0, 2.0, 4.0, 1.5, 0.3],
    "ships": [700, 740, 20, 10],
}
"""A shape of each geometry where nothing else is."""


def catalog_of(truth: Annotations[Any], labelled: list[bool] | None = None, size: np.ndarray | None = None) -> Catalog:
    count = len(truth.items)
    nothing = pl.repeat(None, count, dtype=pl.String, eager=True)
    split = pl.Series(["train"] * (count - 1) + ["test"])
    known = np.array([True] * (count - 1) + [False] if labelled is None else labelled)
    return Catalog(Path(), IMAGE, truth.items, nothing, split, known, nothing, truth, size)


def two_boxes() -> Annotations[Boxes]:
    boxes = Boxes.of(np.array([[10, 10, 40, 40], [100, 100, 40, 40], [10, 10, 40, 40]]))
    return Annotations.from_rows(ITEMS, np.array([0, 0, 1]), boxes)


def review(tmp_path: Path, name: str, items: dict[str, Any], **changes: object) -> Corrections:
    problems = Problems()
    read = read_corrections(write_review(tmp_path / "corrections.json", name, items, **changes), name, problems)
    return problems.checked(read)


def unknown(annotations: Annotations[Any]) -> np.ndarray:
    """Sizes of items that nobody knows."""
    return np.full((len(annotations.items), 2), np.nan)


def applied(corrections: Corrections, catalog: Catalog) -> tuple[Catalog, Changes, dict[str, int]]:
    notes = Problems(EVERY)
    corrected, changes = apply_to_truth(corrections, catalog, notes)
    return corrected, changes, notes.counts


def test_wrong_truths_go_and_right_and_missed_objects_come(tmp_path: Path) -> None:
    corrections = review(tmp_path, "wheat", {"a": {
        "truths": [{"number": 1, "verdict": "wrong", "shape": [12, 10, 40, 40], "label": None}],
        "predictions": [{"number": 1, "verdict": "right", "shape": [101, 100, 40, 40], "score": 0.3},  # is there
                        {"number": 2, "verdict": "right", "shape": [300, 300, 30, 30], "score": 0.2},
                        {"number": 3, "verdict": "unsure", "shape": [100, 100, 40, 40]},
                        {"number": 4, "verdict": "wrong", "shape": [600, 600, 40, 40]}],
        "missed": [{"shape": [500, 500, 20, 20], "label": None}]}})  # fmt: skip
    corrected, changes, notes = applied(corrections, catalog_of(two_boxes()))
    assert corrected.truth is not None
    assert corrected.truth.shapes.x.tolist() == [100, 300, 500, 10]
    assert corrected.truth.counts.tolist() == [3, 1, 0]
    assert (changes.items, changes.removed, changes.added, changes.labelled) == (1, 1, 2, 0)
    assert notes == {}


@pytest.mark.parametrize("complete", [True, False])
def test_an_unlabelled_item_is_labelled_only_by_a_complete_review(complete: bool, tmp_path: Path) -> None:
    entry = {"complete": complete, "missed": [{"shape": [50, 50, 20, 20]}], "windows": [[0, 10]]}
    corrected, changes, notes = applied(review(tmp_path, "wheat", {"new": entry}), catalog_of(two_boxes()))
    assert corrected.labelled.tolist() == [True, True, complete]
    assert corrected.truth is not None
    assert corrected.truth.counts[2] == int(complete)
    assert corrected.split.to_list() == ["train", "train", "train" if complete else "test"]
    assert changes.labelled == int(complete)
    assert notes == ({} if complete else {"partly_reviewed": 1})


def test_a_complete_review_without_objects_is_an_empty_item(tmp_path: Path) -> None:
    corrected, changes, _ = applied(review(tmp_path, "wheat", {"new": {"complete": True}}), catalog_of(two_boxes()))
    assert corrected.labelled.all()
    assert (changes.items, changes.labelled, changes.added) == (1, 1, 0)


def test_what_does_not_fit_is_noted_and_changes_nothing(tmp_path: Path) -> None:
    items = {
        "elsewhere": {"missed": [{"shape": [1, 1, 5, 5]}]},
        "a": {"missed": [{"shape": [900, 1, 5, 5]}, {"shape": [1, 1, 5]}, {"shape": [1, 1, 5, 0]}]},
    }
    size = np.array([[200.0, 200.0], [np.nan, np.nan], [np.nan, np.nan]])
    corrected, changes, notes = applied(review(tmp_path, "wheat", items), catalog_of(two_boxes(), size=size))
    assert corrected.truth is not None
    assert len(corrected.truth) == 3
    assert changes.added == 0
    assert notes == {"unused_correction": 1, "bad_shape": 2, "outside": 1}


def test_shapes_are_clipped_to_their_items_or_noted(tmp_path: Path) -> None:
    boxes = review(tmp_path, "wheat", {"a": {"missed": [{"shape": [190, 10, 12, 20]}, {"shape": [195, 50, 40, 20]}]}})
    size = np.tile([200.0, 200.0], (3, 1))
    notes = Problems(EVERY)
    corrected, changes = apply_to_predictions(boxes, two_boxes(), size, notes)
    assert corrected.shapes.width.tolist() == [40, 40, 10, 40]
    assert (changes.added, notes.counts) == (1, {"outside": 1})
    calls = review(tmp_path, "upcalls", {"a": {"missed": [{"shape": [30.5]}, {"shape": [70]}]}})
    predicted = Annotations.from_rows(ITEMS, np.empty(0, np.int64), Events(np.empty(0)))
    notes = Problems(EVERY)
    corrected, _ = apply_to_predictions(calls, predicted, np.tile([30.0, np.nan], (3, 1)), notes)
    assert corrected.shapes.time.tolist() == [30]
    assert notes.counts == {"outside": 1}


def test_a_mark_of_a_class_does_not_remove_an_object_of_another(tmp_path: Path) -> None:
    cuboids = Cuboids.of(np.array([[0, 0, 0, 2, 4, 1.5, 0]]))
    truth = Annotations.from_rows(ITEMS, np.array([0]), cuboids, label=np.array([1]), classes=("car", "bus"))
    wrong = {"verdict": "wrong", "shape": [0, 0, 0, 2, 4, 1.5, 0]}
    for label, left in (("car", 1), ("bus", 0), (None, 0)):
        corrections = review(tmp_path, "lyft", {"a": {"predictions": [{**wrong, "label": label}]}})
        corrected, _, _ = applied(corrections, catalog_of(truth))
        assert corrected.truth is not None
        assert len(corrected.truth) == left
    _, _, notes = applied(review(tmp_path, "lyft", {"a": {"missed": [{**wrong, "label": "tram"}]}}), catalog_of(truth))
    assert notes == {"bad_class": 1}


def test_a_wrong_event_removes_the_nearest_call_only(tmp_path: Path) -> None:
    truth = Annotations.from_rows(ITEMS, np.array([0, 0]), Events(np.array([41.2, 42.6])))
    corrections = review(tmp_path, "upcalls", {"a": {"predictions": [{"verdict": "wrong", "shape": 42.5}]}})
    corrected, _, _ = applied(corrections, catalog_of(truth))
    assert corrected.truth is not None
    assert corrected.truth.shapes.time.tolist() == [41.2]


def test_masks_are_rectangles_or_runs_and_share_no_pixel_in_predictions(tmp_path: Path) -> None:
    square = Masks.of([np.pad(np.ones((10, 10), bool), ((5, 25), (5, 25)))], (40, 40))
    predicted = Annotations.from_rows(ITEMS, np.array([0]), square, score=np.array([0.5]))
    corrections = review(tmp_path, "ships", {"a": {"missed": [{"shape": [10, 5, 20, 10]}, {"shape": "1 3 41 3"}]}})
    corrected, changes = apply_to_predictions(corrections, predicted, unknown(predicted), Problems())
    assert changes.added == 2
    assert corrected.shapes.area.tolist() == [100, 150, 6]
    assert len(corrected.shapes.collisions(corrected.item)) == 0
    assert corrected.scores.tolist() == [0.5, 1, 1]


@pytest.mark.parametrize("name", ["wheat", "upcalls", "lyft", "ships"])
@pytest.mark.parametrize("seed", range(3))
def test_predictions_of_every_geometry(name: str, seed: int, tmp_path: Path) -> None:
    predicted = annotations(name, seed)
    row = len(predicted) // 2
    item, other = predicted.items.ids[int(predicted.item[row])], predicted.items.ids[0]
    label = predicted.classes[0] if predicted.classes else None
    entries: dict[str, Any] = {one: {} for one in {item, other}}
    own = predicted.classes[int(predicted.labels[row])] if predicted.classes else None
    entries[item]["predictions"] = [{"verdict": "wrong", "shape": shape_of(predicted, row), "label": own}]
    entries[other]["missed"] = [{"shape": FREE[name], "label": label}]
    corrections = review(tmp_path, name, entries)
    corrected, changes = apply_to_predictions(corrections, predicted, unknown(predicted), Problems())
    assert (changes.removed, changes.added) == (1, 1)
    again, more = apply_to_predictions(corrections, corrected, unknown(corrected), Problems())
    assert (more.removed, more.added) == (0, 0) or name == "upcalls"  # another call may be near
    assert len(again.items) == len(predicted.items)


def test_labels_are_replaced_and_rankings_put_the_right_class_first(tmp_path: Path) -> None:
    classes = ("soup", "cake", "rice")
    truth = Annotations.from_rows(ITEMS, np.array([0, 1]), Labels(np.array([0, 1])), classes=classes)
    items = {
        "a": {"label": {"verdict": "wrong", "label": "rice"}},
        "b": {"label": {"verdict": "wrong", "label": None}},
        "new": {"label": {"verdict": "right", "label": "cake"}},
    }
    corrected, changes, notes = applied(review(tmp_path, "food", items), catalog_of(truth))
    assert corrected.truth is not None
    assert corrected.labelled.tolist() == [True, False, True]
    assert corrected.truth.shapes.label.tolist() == [2, 1]
    assert (changes.items, changes.labelled, notes) == (3, 1, {})
    ranking = Labels(np.array([0, 1, 2] * 3))
    predicted = Annotations.from_rows(ITEMS, np.repeat(np.arange(3), 3), ranking, classes=classes)
    ranked, _ = apply_to_predictions(review(tmp_path, "food", items), predicted, unknown(predicted), Problems())
    assert ranked.shapes.label.tolist() == [2, 0, 1, 1, 2, 0, 1, 0, 2]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"tallymark": "report"}, "not_corrections"),
        ({"version": 2}, "not_corrections"),
        ({"challenge": "ships"}, "other_challenge"),
        ({"items": []}, "bad_correction"),
        ({"items": {"a": 3}}, "bad_correction"),
        ({"items": {"a": {"complete": "yes"}}}, "bad_correction"),
        ({"items": {"a": {"predictions": {}}}}, "bad_correction"),
        ({"items": {"a": {"predictions": [None]}}}, "bad_correction"),
        ({"items": {"a": {"predictions": [{"verdict": "perhaps"}]}}}, "bad_correction"),
        ({"items": {"a": {"truths": [{"verdict": "wrong", "label": 3}]}}}, "bad_correction"),
        ({"items": {"a": {"predictions": [{"verdict": "right", "score": "high"}]}}}, "bad_correction"),
        ({"items": {"a": {"windows": [[3, 1]]}}}, "bad_correction"),
        ({"items": {"a": {"windows": [[1, 2, 3]]}}}, "bad_correction"),
        ({"items": {"a": {"windows": 7}}}, "bad_correction"),
        ({"items": {"a": {"label": {"verdict": "right"}}}}, "bad_correction"),
    ],
)
def test_other_files_are_refused(change: dict[str, Any], kind: str, tmp_path: Path) -> None:
    path = write_review(tmp_path / "corrections.json", "wheat", **{"items": {}, **change})
    problems = Problems()
    assert read_corrections(path, "wheat", problems) is None
    assert problems.counts == {kind: 1}


def test_a_file_in_an_archive_is_read_in_place(tmp_path: Path) -> None:
    path = write_review(tmp_path / "corrections.json", "wheat", {"a": {"complete": True}})
    with ZipFile(tmp_path / "reviews.zip", "w") as archive:
        archive.write(path, "first/corrections.json")
        archive.writestr("notes.txt", "the first of two")
    problems = Problems()
    packed = read_corrections(tmp_path / "reviews.zip" / "first" / "corrections.json", "wheat", problems)
    unpacked = read_corrections(path, "wheat", problems)
    assert packed is not None
    assert unpacked is not None
    assert (packed.complete, packed.fingerprint) == (unpacked.complete, unpacked.fingerprint)


@pytest.mark.parametrize("text", ["", "{", "null", "[]", '{"tallymark": "corrections", "tallymark": 1}', "[" * 9999])
def test_odd_json_is_a_problem(text: str, tmp_path: Path) -> None:
    (tmp_path / "corrections.json").write_text(text)
    problems = Problems()
    assert read_corrections(tmp_path / "corrections.json", "wheat", problems) is None
    assert problems.total == 1


def test_every_problem_of_a_file_is_named_with_item_and_position(tmp_path: Path) -> None:
    items = {"a": {"predictions": [{"verdict": "right"}, {"verdict": 1}]}, "b": {"truths": [{"verdict": "?"}]}}
    problems = Problems()
    read_corrections(write_review(tmp_path / "c.json", "wheat", items), "wheat", problems)
    assert [(one.item, one.column) for one in problems] == [("a", "predictions[1].verdict"), ("b", "truths[0].verdict")]


@pytest.mark.parametrize("value", [True, "1", None, [1], float("nan"), float("inf"), 10**400, {}])
@pytest.mark.parametrize("shapes", [Boxes.of(np.empty((0, 4))), Cuboids.of(np.empty((0, 7))), Masks.of([], (9, 9)),
                                    Events(np.empty(0))])  # fmt: skip
def test_odd_shapes_are_refused(shapes: Any, value: object) -> None:
    count = {Boxes: 4, Cuboids: 7, Masks: 4, Events: 1}[type(shapes)]
    with pytest.raises(ValueError, match=r"numbers|pairs|above"):
        shapes.from_json([value] * count)


@pytest.mark.parametrize("text", ["", "1", "1 0", "0 3", "5 3 6 2", "80 3", "a b", "1 -3", "١ ٢", "1 " + "9" * 30])
def test_odd_runs_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="RLE"):
        Masks.of([], (9, 9)).from_json(text)


def test_the_file_is_json_that_pages_write(tmp_path: Path) -> None:
    content = json.loads(write_review(tmp_path / "c.json", "wheat", {}).read_text())
    assert set(content) == {"tallymark", "version", "challenge", "geometry", "items"}
    with pytest.raises(tallymark.BadInput):
        tallymark.predict("wheat", tmp_path, corrections=[tmp_path / "missing.json"])
