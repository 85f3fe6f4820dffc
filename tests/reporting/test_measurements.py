"""Measurements of predictions, with numbers computed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from tallymark.core.problems import BadInput
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Boxes, Cuboids, Events, Labels, Masks, RotatedBoxes
from tallymark.inference.counting import CountCalibration
from tallymark.reporting.measurements import measure_items, measure_objects, summary

SIZE = np.array([(1000, 500), (1000, 500), (500, 500)])
PARTLY_READABLE = np.array([(1000, 500), (np.nan, np.nan), (500, 500)])


def wheat(group: list[str] | None = None) -> Annotations[Boxes]:
    """Areas of 100, 200, … 1,100 in the first image, none in the second, one of 50 in the third, which is square."""
    items = Items(pl.Series("id", ["a", "b", "c"]), None if group is None else pl.Series("group", group))
    rows = [(10, 20, 10, 10.0 * (k + 1)) for k in range(11)] + [(0, 0, 5, 10)]
    item = np.array([0] * 11 + [2])
    return Annotations.from_rows(items, item, Boxes.of(np.array(rows)), score=np.linspace(0.1, 0.9, 12))


def test_items_in_pixels() -> None:
    table = measure_items(wheat(), SIZE, None)
    assert table.columns == ["item", "count", "count_low", "count_high", "area_10", "area_50", "area_90"]
    assert table.rows() == [
        ("a", 11, None, None, 200, 600, 1000), ("b", 0, None, None, None, None, None), ("c", 1, None, None, 50, 50, 50),
    ]  # fmt: skip


def test_items_with_a_ground_sampling_distance() -> None:
    """Half a millimetre per pixel: an image is 0.5 m by 0.25 m, and 600 pixels are 1.5 square centimetres."""
    table = measure_items(wheat(["x", "x", "y"]), SIZE, 0.0005)
    assert table.columns == [
        "item", "group", "count", "count_low", "count_high", "square_metres", "per_square_metre",
        "area_10", "area_50", "area_90", "area_10_m2", "area_50_m2", "area_90_m2",
        "area_10_cm2", "area_50_cm2", "area_90_cm2",
    ]  # fmt: skip
    assert table["group"].to_list() == ["x", "x", "y"]
    assert table["square_metres"].to_list() == [0.125, 0.125, 0.0625]
    assert table["per_square_metre"].to_list() == [88, 0, 16]
    assert table["area_50_m2"].to_list() == [pytest.approx(1.5e-4), None, pytest.approx(1.25e-5)]
    assert table["area_50_cm2"].to_list() == [pytest.approx(1.5), None, pytest.approx(0.125)]
    assert measure_objects(wheat(), 0.0005)["area_cm2"].max() == pytest.approx(2.75)


def test_small_densities_are_not_rounded_away() -> None:
    """Three ships in an image of 768 pixels of 1.5 m."""
    boxes = RotatedBoxes.of(np.tile([100.0, 100, 40, 10, 0], (3, 1)))
    predictions = Annotations.from_rows(Items.of(["a"]), np.zeros(3, np.int64), boxes)
    table = measure_items(predictions, np.array([(768, 768)]), 1.5)
    assert table["square_metres"].to_list() == [1327100]  # 1,327,104 to six digits
    assert table["per_square_metre"].to_list() == [pytest.approx(3 / 1327104, rel=1e-5)]
    assert table["area_50_m2"].to_list() == [900]
    assert table["square_kilometres"].to_list() == [1.3271]
    assert table["per_square_kilometre"].to_list() == [pytest.approx(3 / 1.327104, rel=1e-5)]
    total = summary(table)
    assert total["square_kilometres"] == 1.3271
    assert total["per_square_kilometre"] == pytest.approx(3 / 1.327104, rel=1e-4)


def test_an_image_without_pixels_has_no_density() -> None:
    table = measure_items(wheat(), np.array([(0, 10), (10, 10), (10, np.nan)]), 1.0)
    assert table["square_metres"].to_list() == [None, 100, None]
    assert table["per_square_metre"].to_list() == [None, 0, None]


def test_events_are_counted_only() -> None:
    predictions = Annotations.from_rows(Items.of(["a"]), np.zeros(2, np.int64), Events(np.array([1.0, 2.0])))
    assert measure_items(predictions, np.array([(60, np.nan)]), None).to_dict(as_series=False) == {
        "item": ["a"],
        "count": [2],
        "count_low": [None],
        "count_high": [None],
    }


def test_a_row_for_each_box() -> None:
    predictions = Annotations.from_rows(
        Items.of(["a", "b"]),
        np.array([0, 1, 1]),
        Boxes.of(np.array([(10, 20, 30, 40), (0, 0, 1 / 3, 3), (5, 5, 2, 2)])),
        score=np.array([0.12345, 0.9, 0.8]),
        number=np.array([4, 1, 3]),
    )
    table = measure_objects(predictions, None)
    assert table.columns == ["item", "number", "score", "x", "y", "width", "height", "area"]
    assert table.rows() == [
        ("a", 4, 0.123, 25, 40, 30, 40, 1200),
        ("b", 1, 0.9, 0.167, 1.5, 0.333, 3, 1),
        ("b", 3, 0.8, 6, 6, 2, 2, 4),
    ]
    metres = measure_objects(predictions, 0.5)
    assert metres.columns == [*table.columns, "width_m", "height_m", "area_m2"]
    assert metres.row(0)[-3:] == (15, 20, 300)


@pytest.mark.parametrize(
    ("length", "width", "degrees", "heading"),
    [
        (20, 5, 0, 90),  # along x: east or west
        (20, 5, 90, 0),  # down: bow and stern are not distinguished
        (20, 5, -90, 0),
        (20, 5, -60, 30),  # y runs down: to the right of up
        (20, 5, 45, 135),
        (20, 5, 405, 135),
        (5, 20, 45, 45),  # the longer side counts
        (20, 5, 89.99999, 0),  # 179.99999, rounded
        (20, 5, 89.99, 179.99),
    ],
)
def test_headings_are_those_of_the_longer_side_clockwise_from_the_top(
    length: float, width: float, degrees: float, heading: float
) -> None:
    boxes = RotatedBoxes.of(np.array([30, 40, length, width, np.radians(degrees)]))
    predictions = Annotations.from_rows(Items.of(["a"]), np.zeros(1, np.int64), boxes)
    table = measure_objects(predictions, 2.0)
    assert table.columns == [
        "item", "number", "score", "x", "y", "length", "width", "heading", "area", "length_m", "width_m", "area_m2",
    ]  # fmt: skip
    assert table.rows() == [("a", 1, None, 30, 40, 20, 5, heading, 100, 40, 10, 400)]


def test_masks_are_measured_by_the_fitted_rectangle() -> None:
    mask = np.zeros((30, 40), bool)
    mask[3:23, 10:16] = True
    mask[4, 11] = False  # the area is that of the pixels
    predictions = Annotations.from_rows(Items.of(["a"]), np.zeros(1, np.int64), Masks.of([mask], (30, 40)))
    row = measure_objects(predictions, None).row(0, named=True)
    assert row["area"] == 119
    measured = [row[name] for name in ("x", "y", "length", "width")]
    assert measured == pytest.approx([13, 13, 20, 6], abs=0.3)
    assert abs((row["heading"] + 90) % 180 - 90) < 2
    assert measure_items(predictions, np.array([(40, 30)]), None)["area_50"].to_list() == [119]


def test_summary_with_a_ground_sampling_distance() -> None:
    """12 objects in 3 items of an eighth, an eighth and a sixteenth of a square metre."""
    assert summary(measure_items(wheat(), SIZE, 0.0005)) == {
        "items": 3, "count": 12, "count_low": None, "count_high": None,
        "mean_per_item": 4, "square_metres": 0.3125, "per_square_metre": 38.4,
    }  # fmt: skip


def test_unreadable_images_are_not_counted() -> None:
    table = measure_items(wheat(), PARTLY_READABLE, 0.0005)
    assert table["count"].to_list() == [11, None, 1]
    assert table["per_square_metre"].to_list() == [88, None, 16]
    assert summary(table) == {
        "items": 3, "count": 12, "count_low": None, "count_high": None,
        "mean_per_item": 6, "square_metres": 0.1875, "per_square_metre": 64,
    }  # fmt: skip


def test_the_sum_of_rounded_areas_is_rounded() -> None:
    three = Annotations.from_rows(Items.of(["a", "b", "c"]), np.empty(0, np.int64), Boxes.of(np.empty((0, 4))))
    assert summary(measure_items(three, np.full((3, 2), [10, 1]), 0.1))["square_metres"] == 0.3


@pytest.mark.parametrize("gsd", [None, 0.001])
def test_summary_without_readable_images(gsd: float | None) -> None:
    none = Annotations.empty(Items.of(["a", "b"]), Boxes.of(np.empty(0)))
    assert summary(measure_items(none, np.full((2, 2), np.nan), gsd)) == {
        "items": 2,
        "count": 0,
        "count_low": None,
        "count_high": None,
        "mean_per_item": None,
        "square_metres": None,
        "per_square_metre": None,
    }


@pytest.mark.parametrize("shapes", [Boxes.of(np.empty(0)), RotatedBoxes.of(np.empty(0)), Masks.of([], (5, 5))])
def test_images_without_objects_have_count_0_and_no_area(shapes: Any) -> None:
    predictions = Annotations.empty(Items.of(["a"]), shapes)
    table = measure_items(predictions, np.array([(10, 10)]), 1.0)
    assert table["per_square_metre"].to_list() == [0]
    assert table["area_50"].to_list() == [None]
    assert table["area_50"].dtype == pl.Float64
    objects = measure_objects(predictions, 1.0)
    assert len(objects) == 0
    assert objects["score"].dtype == pl.Float64
    nothing = Annotations.empty(Items.of([]), shapes)
    assert summary(measure_items(nothing, np.empty((0, 2)), 1.0)) == {
        "items": 0, "count": 0, "count_low": None, "count_high": None,
        "mean_per_item": None, "square_metres": None, "per_square_metre": None,
        "square_kilometres": None, "per_square_kilometre": None,
    }  # fmt: skip


@pytest.mark.parametrize("gsd", [0.0, -1.0, np.nan, np.inf])
def test_an_impossible_ground_sampling_distance_is_refused(gsd: float) -> None:
    with pytest.raises(BadInput, match="metres per pixel"):
        measure_items(wheat(), SIZE, gsd)
    with pytest.raises(BadInput, match="metres per pixel"):
        measure_objects(wheat(), gsd)


def test_wrong_arguments_raise() -> None:
    with pytest.raises(ValueError, match="3 items"):
        measure_items(wheat(), SIZE[:2], None)
    events = Annotations.from_rows(Items.of(["a"]), np.zeros(1, np.int64), Events(np.array([1.0])))
    with pytest.raises(ValueError, match="events have no position"):
        measure_objects(events, None)


def test_labels_are_listed_by_rank() -> None:
    items = Items.of(["a.jpg", "b.jpg"])
    score = np.array([0.7, 0.2, 0.6, 0.1])
    labels = Labels(np.array([2, 0, 1, 2]))
    classes = ("soup", "pie", "tea")
    predictions = Annotations.from_rows(items, np.array([0, 0, 1, 1]), labels, score=score, classes=classes)
    assert measure_objects(predictions, None).rows() == [
        ("a.jpg", 1, 2, "tea", 0.7),
        ("a.jpg", 2, 0, "soup", 0.2),
        ("b.jpg", 1, 1, "pie", 0.6),
        ("b.jpg", 2, 2, "tea", 0.1),
    ]


def test_cuboids_are_listed_with_their_class() -> None:
    cuboids = Cuboids.of([[1.00001, 2, 3, 1.9, 4.5, 1.6, 0.25], [0, 0, 0, 2.5, 12, 3, -3]])
    predictions = Annotations.from_rows(
        Items.of(["a", "b"]), np.array([1, 1]), cuboids, label=np.array([1, 0]), score=np.array([0.75, 0.5]),
        classes=("bus", "car"),
    )  # fmt: skip
    table = measure_objects(predictions, None)
    assert table.columns == ["item", "number", "name", "score", "x", "y", "z", "width", "length", "height", "yaw"]
    assert table.rows()[0] == ("b", 1, "car", 0.75, 1, 2, 3, 1.9, 4.5, 1.6, 0.25)
    assert table["name"].to_list() == ["car", "bus"]
    assert measure_items(predictions, np.full((2, 2), 128.0), None)["count"].to_list() == [0, 2]


def test_counts_have_a_prediction_interval() -> None:
    """1 ± 1.4 and 11 ± sqrt(12 + (1.96 * 1.1)²) detections; in total 12 ± 1.96 * sqrt(0.25 * 14 + 1.2²)."""
    counting = CountCalibration(0.4, "", 100, 4000, quantile=1.0, dispersion=0.25, groups=5, group_error=0.1)
    table = measure_items(wheat(), PARTLY_READABLE, None, counting)
    assert table["count_low"].to_list() == [6, None, 0]
    assert table["count_high"].to_list() == [16, None, 3]
    numbers = summary(table, counting)
    assert (numbers["count_low"], numbers["count"], numbers["count_high"]) == (7, 12, 17)
