"""The baseline of every geometry: regular grids, most frequent classes, or nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tallymark
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.detector.label_coder import TOP_K
from tallymark.geometry import Boxes, Cuboids, Events, Labels, Masks, RotatedBoxes
from tallymark.inference.baseline import SECONDS, baseline, baseline_for

ITEMS = Items.of(["a", "b"])
SIZE = np.full((2, 2), 128.0)


def known_truth(shapes: Any, item: list[int], **columns: Any) -> Annotations[Any]:
    items = Items.of([f"known{k}" for k in range(max(item, default=0) + 1)])
    return Annotations.from_rows(items, np.array(item, int), shapes, **columns)


def test_no_cuboids_are_predicted_and_classes_are_kept() -> None:
    known = known_truth(Cuboids.of(np.ones((1, 7))), [0], label=np.ones(1, int), classes=("car", "bus"))
    predictions = baseline(known, ITEMS, SIZE)
    assert predictions.counts.tolist() == [0, 0]
    assert predictions.classes == ("car", "bus")
    assert isinstance(predictions.shapes, Cuboids)


def test_no_masks_are_predicted() -> None:
    known = known_truth(Masks(np.array([0]), np.array([9]), np.array([0, 1]), (8, 8)), [0])
    predictions = baseline(known, ITEMS, SIZE)
    assert predictions.counts.tolist() == [0, 0]
    assert isinstance(predictions.shapes, Masks)


def test_boxes_are_a_regular_grid_of_median_count_and_size() -> None:
    known = known_truth(Boxes.of(np.array([[0, 0, 8, 18], [5, 5, 10, 20], [9, 9, 12, 22]])), [0, 0, 0])
    predictions = baseline(known, ITEMS, np.array([[110.0, 70.0], [60.0, 120.0]]))
    assert predictions.counts.tolist() == [3, 3]
    grid = [[0, 0, 10, 20], [100, 0, 10, 20], [0, 50, 10, 20], [0, 0, 10, 20], [50, 0, 10, 20], [0, 100, 10, 20]]
    assert np.stack(predictions.shapes.columns, 1).tolist() == grid


def test_no_boxes_are_predicted_where_the_median_count_is_zero() -> None:
    known = Annotations.from_rows(Items.of(["x", "y", "z"]), np.zeros(1, int), Boxes.of(np.ones((1, 4))))
    assert baseline(known, ITEMS, SIZE).counts.tolist() == [0, 0]


def test_events_are_predicted_at_regular_times_of_each_recording() -> None:
    known = known_truth(Events(np.array([1.0])), [0])
    predictions = baseline(known, Items.of(["a", "b", "c"]), np.array([[10.0, np.nan], [np.nan, np.nan], [1, np.nan]]))
    assert predictions.counts.tolist() == [3, 0, 0]
    assert predictions.shapes.time.tolist() == [SECONDS / 2, 1.5 * SECONDS, 2.5 * SECONDS]


def test_labels_are_the_most_frequent_classes_and_the_lower_first_of_equals() -> None:
    known = known_truth(Labels(np.array([4, 4, 1, 3, 1, 0])), [0, 1, 2, 3, 4, 5])
    predictions = baseline(known, ITEMS, SIZE)
    assert predictions.counts.tolist() == [TOP_K, TOP_K]
    assert predictions.shapes.label.tolist() == [1, 4, 0] * 2


def test_a_geometry_without_a_baseline_is_an_error() -> None:
    known = Annotations.empty(ITEMS, RotatedBoxes.of(np.empty((0, 5))))
    with pytest.raises(ValueError, match="RotatedBoxes"):
        baseline(known, ITEMS, SIZE)


def test_only_the_training_split_is_used(sets: Path) -> None:
    catalog = tallymark.read("food", sets / "food")
    train = catalog.in_split("train")
    assert train.truth is not None
    expected = baseline(train.truth, ITEMS, SIZE)
    assert baseline_for(catalog, ITEMS, SIZE).shapes.label.tolist() == expected.shapes.label.tolist()
    with pytest.raises(ValueError, match="no truth"):
        baseline_for(replace(catalog, truth=None), ITEMS, SIZE)
