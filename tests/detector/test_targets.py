"""Heatmap targets have a peak of 1 at every centre, and each shape is regressed from its cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.detector.coders import BoxCoder, EventCoder, MaskCoder
from tallymark.detector.targets import Targets, draw_targets
from tallymark.geometry import Boxes, Events, RotatedBoxes
from tallymark.modalities.audio.recipe import AudioRecipe

SHAPE = (24, 32)


def draw(*rows: tuple[float, ...], label: list[int] | None = None, shape: tuple[int, int] = SHAPE) -> Targets:
    """Targets of rectangles x, y, length, width, angle in cells."""
    footprint = RotatedBoxes.of(np.array(rows))
    kinds = np.array(label if label is not None else [0] * len(rows), int)
    return draw_targets(footprint, kinds, int(kinds.max(initial=0)) + 1, shape)


def random_footprint(seed: int, least: float) -> RotatedBoxes:
    """Rectangles with sides from `least` on; some have their center outside of the grid."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, 12))
    place = rng.uniform(-3, 1, (count, 2)) + rng.uniform(0, 1, (count, 2)) * (SHAPE[1], SHAPE[0])
    return RotatedBoxes.of(
        np.concatenate([place, rng.uniform(least, 12, (count, 2)), rng.uniform(-4, 4, (count, 1))], 1)
    )


def owned(targets: Targets, number: int) -> set[tuple[int, int]]:
    at = targets.object == number
    return set(zip(targets.y[at].tolist(), targets.x[at].tolist(), strict=True))


@given(st.integers(0, 2**31))
@settings(max_examples=60)
def test_the_peaks_are_the_cells_of_the_centers(seed: int) -> None:
    footprint = random_footprint(seed, 0.1)
    label = np.arange(len(footprint)) % 2
    heatmap = draw_targets(footprint, label, 2, SHAPE).heatmap
    inside = (footprint.x >= 0) & (footprint.y >= 0) & (footprint.x < SHAPE[1]) & (footprint.y < SHAPE[0])
    centers = zip(label[inside], footprint.y[inside].astype(int), footprint.x[inside].astype(int), strict=True)
    assert {tuple(map(int, place)) for place in np.argwhere(heatmap == 1)} == {tuple(map(int, m)) for m in centers}
    assert heatmap.min() >= 0
    assert heatmap.max() <= 1


def test_the_heatmap_falls_off_faster_across_than_along() -> None:
    heatmap = draw((16.5, 12.5, 18, 6, 0)).heatmap[0]
    along, across = heatmap[12, 16:22], heatmap[12:16, 16]
    assert (np.diff(along) < 0).all()
    assert (np.diff(across) < 0).all()
    assert along[2] > across[2] > 0
    assert heatmap[0].max() == heatmap[:, 0].max() == 0
    # A spread of 0.54 / 3 of half the length, two cells off the center.
    assert along[2] == pytest.approx(np.exp(-((2 / (0.18 * 9)) ** 2) / 2), rel=1e-6)


def test_gain_raises_the_heatmap_up_to_1() -> None:
    footprint, label = RotatedBoxes.of(np.array([[16.5, 12.5, 18, 6, 0.2]])), np.zeros(1, int)
    sharp, blunt = (draw_targets(footprint, label, 1, SHAPE, times).heatmap for times in (1.0, 1.6))
    np.testing.assert_allclose(blunt, np.minimum(1.6 * sharp, 1), rtol=1e-6)
    assert np.count_nonzero(blunt == 1) > np.count_nonzero(sharp == 1) == 1


def test_the_heatmap_lies_along_the_angle() -> None:
    heatmap = draw((16.5, 12.5, 16, 4, np.pi / 4)).heatmap[0]
    assert heatmap[14, 18] > 10 * heatmap[10, 18]  # y runs down, and the angle from x towards y
    assert heatmap[14, 18] == pytest.approx(heatmap[10, 14])


@given(st.integers(0, 2**31))
@settings(max_examples=60)
def test_weights_sum_to_1_over_the_cells_of_a_shape(seed: int) -> None:
    targets = draw_targets(random_footprint(seed, 0.1), np.zeros(12, int), 1, SHAPE)
    assert (targets.weight > 0).all()
    for number in np.unique(targets.object):
        assert targets.weight[targets.object == number].sum() == pytest.approx(1, abs=1e-5)
    cells = targets.y * SHAPE[1] + targets.x
    assert len(np.unique(cells)) == len(cells)


def test_a_cell_nearer_to_the_center_has_more_weight() -> None:
    targets = draw((16.5, 12.5, 10, 10, 0))
    weight = {(y, x): w for y, x, w in zip(targets.y, targets.x, targets.weight, strict=True)}
    assert weight[12, 16] > weight[12, 17] > weight[12, 18]
    assert len(weight) == 25  # half the sides times 0.54 is 2.7 cells


def test_a_time_axis_is_a_grid_of_height_1() -> None:
    targets = draw((3.2, 0.5, 4, 1, 0), (20.9, 0.5, 0.1, 1, 0), shape=(1, 32))
    assert targets.heatmap.shape == (1, 1, 32)
    assert np.flatnonzero(targets.heatmap[0, 0] == 1).tolist() == [3, 20]
    assert owned(targets, 0) == {(0, 2), (0, 3)}
    assert (0, 20) in owned(targets, 1)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_where_cores_overlap_the_smaller_shape_owns(order: tuple[int, int]) -> None:
    rows = [(16.5, 12.5, 20.0, 20.0, 0.0), (18.5, 12.5, 6.0, 6.0, 0.0)]
    targets = draw(*(rows[k] for k in order))
    large, small = owned(targets, order.index(0)), owned(targets, order.index(1))
    assert small == {(y, x) for y in (11, 12, 13) for x in (17, 18, 19)}
    assert len(large) == 11 * 11 - len(small)


@pytest.mark.parametrize("side", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("place", [(5.01, 7.99), (5.5, 7.5), (0.0, 0.0), (31.99, 23.99)])
def test_a_tiny_shape_has_its_own_cell(side: float, place: tuple[float, float]) -> None:
    targets = draw((*place, side, side, 0.3))
    assert (int(place[1]), int(place[0])) in owned(targets, 0)
    assert targets.heatmap.max() == 1


@pytest.mark.parametrize("place", [(-0.01, 5), (32, 5), (5, -0.01), (5, 24), (np.nan, 5), (100, 100)])
def test_a_center_outside_is_ignored(place: tuple[float, float]) -> None:
    targets = draw((*place, 8, 8, 0), (10, 10, 4, 4, 0))
    alone = draw((10, 10, 4, 4, 0))
    np.testing.assert_array_equal(targets.heatmap, alone.heatmap)
    assert set(targets.object.tolist()) == {1}


def test_no_shapes_at_all() -> None:
    targets = draw_targets(RotatedBoxes.of(np.empty((0, 5))), np.empty(0, int), 3, SHAPE)
    assert targets.heatmap.shape == (3, *SHAPE)
    assert targets.heatmap.max() == 0
    assert len(targets.x) == len(targets.weight) == 0


def test_classes_have_heatmaps_of_their_own() -> None:
    heatmap = draw((5.5, 5.5, 4, 4, 0), (20.5, 15.5, 4, 4, 0), label=[2, 0]).heatmap
    assert heatmap.shape == (3, *SHAPE)
    assert (heatmap[2, 5, 5], heatmap[0, 15, 20]) == (1, 1)
    assert heatmap[1].max() == heatmap[0, 5, 5] == heatmap[2, 15, 20] == 0


@given(st.integers(0, 2**31))
@settings(max_examples=60)
def test_boxes_are_decoded_from_each_of_their_cells(seed: int) -> None:
    footprint, coder = random_footprint(seed, 1.2), BoxCoder()
    sides = footprint.length, footprint.width
    boxes = Boxes(footprint.x - sides[0] / 2, footprint.y - sides[1] / 2, *sides)
    targets = draw_targets(coder.footprint(boxes), np.zeros(len(boxes), int), 1, SHAPE)
    x, y, shapes = targets.x + 0.5, targets.y + 0.5, boxes.take(targets.object)
    values = coder.encode(shapes, x, y)
    assert values.shape == (len(x), coder.values)
    for found, true in zip(coder.decode(x, y, values).columns, shapes.columns, strict=True):
        np.testing.assert_allclose(found, true, atol=1e-9)


@given(st.integers(0, 2**31))
@settings(max_examples=60)
def test_rectangles_are_decoded_from_each_of_their_cells(seed: int) -> None:
    footprint, coder = random_footprint(seed, 0.1), MaskCoder()
    targets = draw_targets(coder.footprint(footprint), np.zeros(len(footprint), int), 1, SHAPE)
    x, y, shapes = targets.x + 0.5, targets.y + 0.5, footprint.take(targets.object)
    values = coder.encode(shapes, x, y)
    assert values.shape == (len(x), coder.values)
    found = coder.decode(x, y, values)
    for name in ("x", "y", "length", "width"):
        np.testing.assert_allclose(getattr(found, name), getattr(shapes, name), atol=1e-9)
    np.testing.assert_allclose(np.sin(found.angle - shapes.angle), 0, atol=1e-9)


@given(st.lists(st.floats(0, 63.99), max_size=4))
@settings(max_examples=60)
def test_events_are_decoded_from_each_of_their_cells(times: list[float]) -> None:
    calls, coder = Events(np.array(times)), EventCoder()
    targets = draw_targets(coder.footprint(calls), np.zeros(len(calls), int), 1, (1, 64))
    x, y, shapes = targets.x + 0.5, targets.y + 0.5, calls.take(targets.object)
    np.testing.assert_allclose(coder.decode(x, y, coder.encode(shapes, x, y)).time, shapes.time, atol=1e-9)
    assert {int(time) for time in times} <= set(targets.x.tolist())


def test_predicted_events_are_sorted_by_recording_and_time() -> None:
    item, score = np.array([0, 0, 1]), np.array([0.9, 0.5, 0.7])
    candidates = Annotations.from_rows(Items.of(["a", "b"]), item, Events(np.array([7.00049, 2.5, 1])), score=score)
    events = EventCoder().to_truth_geometry(candidates, np.full((2, 2), np.nan), AudioRecipe())
    assert events.shapes.time.tolist() == [2.5, 7, 1]
    assert events.scores.tolist() == [0.5, 0.9, 0.7]
    assert events.item.tolist() == [0, 0, 1]


def test_extreme_values_are_decoded_to_finite_shapes() -> None:
    x = np.array([3.0])
    for coder in (BoxCoder(), MaskCoder()):
        for value in (-1e30, 1e30):
            shapes = coder.decode(x, x, np.full((1, coder.values), value))
            sides = (shapes.width, shapes.height) if isinstance(shapes, Boxes) else (shapes.length, shapes.width)
            assert np.isfinite(sides).all()
