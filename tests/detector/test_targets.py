"""Heat has a peak of 1 at every middle, and each shape can be told from its cells."""

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

SHAPE = (24, 32)


def draw(*rows: tuple[float, ...], label: list[int] | None = None, shape: tuple[int, int] = SHAPE) -> Targets:
    """Targets of rectangles x, y, length, width, angle in cells."""
    ground = RotatedBoxes.of(np.array(rows))
    kinds = np.array(label if label is not None else [0] * len(rows), int)
    return draw_targets(ground, kinds, int(kinds.max(initial=0)) + 1, shape)


def random_ground(seed: int, least: float) -> RotatedBoxes:
    """Rectangles with sides from `least` on; some have their middle outside of the grid."""
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
def test_the_peaks_are_the_cells_of_the_middles(seed: int) -> None:
    ground = random_ground(seed, 0.1)
    label = np.arange(len(ground)) % 2
    heat = draw_targets(ground, label, 2, SHAPE).heat
    inside = (ground.x >= 0) & (ground.y >= 0) & (ground.x < SHAPE[1]) & (ground.y < SHAPE[0])
    middles = zip(label[inside], ground.y[inside].astype(int), ground.x[inside].astype(int), strict=True)
    assert {tuple(map(int, place)) for place in np.argwhere(heat == 1)} == {tuple(map(int, m)) for m in middles}
    assert heat.min() >= 0
    assert heat.max() <= 1


def test_heat_falls_off_faster_across_than_along() -> None:
    heat = draw((16.5, 12.5, 18, 6, 0)).heat[0]
    along, across = heat[12, 16:22], heat[12:16, 16]
    assert (np.diff(along) < 0).all()
    assert (np.diff(across) < 0).all()
    assert along[2] > across[2] > 0
    assert heat[0].max() == heat[:, 0].max() == 0
    # A spread of 0.54 / 3 of half the length, two cells off the middle.
    assert along[2] == pytest.approx(np.exp(-((2 / (0.18 * 9)) ** 2) / 2), rel=1e-6)


def test_blunt_heat_is_higher_and_cut_off_at_1() -> None:
    ground, label = RotatedBoxes.of(np.array([[16.5, 12.5, 18, 6, 0.2]])), np.zeros(1, int)
    sharp, blunt = (draw_targets(ground, label, 1, SHAPE, times).heat for times in (1.0, 1.6))
    np.testing.assert_allclose(blunt, np.minimum(1.6 * sharp, 1), rtol=1e-6)
    assert np.count_nonzero(blunt == 1) > np.count_nonzero(sharp == 1) == 1


def test_heat_lies_along_the_heading() -> None:
    heat = draw((16.5, 12.5, 16, 4, np.pi / 4)).heat[0]
    assert heat[14, 18] > 10 * heat[10, 18]  # y runs down, and the angle from x towards y
    assert heat[14, 18] == pytest.approx(heat[10, 14])


@given(st.integers(0, 2**31))
@settings(max_examples=60)
def test_weights_sum_to_1_over_the_cells_of_a_shape(seed: int) -> None:
    targets = draw_targets(random_ground(seed, 0.1), np.zeros(12, int), 1, SHAPE)
    assert (targets.weight > 0).all()
    for number in np.unique(targets.object):
        assert targets.weight[targets.object == number].sum() == pytest.approx(1, abs=1e-5)
    cells = targets.y * SHAPE[1] + targets.x
    assert len(np.unique(cells)) == len(cells)


def test_a_cell_nearer_to_the_middle_weighs_more() -> None:
    targets = draw((16.5, 12.5, 10, 10, 0))
    weight = {(y, x): w for y, x, w in zip(targets.y, targets.x, targets.weight, strict=True)}
    assert weight[12, 16] > weight[12, 17] > weight[12, 18]
    assert len(weight) == 25  # half the sides times 0.54 is 2.7 cells


def test_a_line_of_time_is_a_grid_of_height_1() -> None:
    targets = draw((3.2, 0.5, 4, 1, 0), (20.9, 0.5, 0.1, 1, 0), shape=(1, 32))
    assert targets.heat.shape == (1, 1, 32)
    assert np.flatnonzero(targets.heat[0, 0] == 1).tolist() == [3, 20]
    assert owned(targets, 0) == {(0, 2), (0, 3)}
    assert (0, 20) in owned(targets, 1)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_where_cores_meet_the_smaller_owns(order: tuple[int, int]) -> None:
    rows = [(16.5, 12.5, 20.0, 20.0, 0.0), (18.5, 12.5, 6.0, 6.0, 0.0)]
    targets = draw(*(rows[k] for k in order))
    large, small = owned(targets, order.index(0)), owned(targets, order.index(1))
    assert small == {(y, x) for y in (11, 12, 13) for x in (17, 18, 19)}
    assert len(large) == 11 * 11 - len(small)


@pytest.mark.parametrize("image_size", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("place", [(5.01, 7.99), (5.5, 7.5), (0.0, 0.0), (31.99, 23.99)])
def test_a_tiny_shape_has_its_own_cell(side: float, place: tuple[float, float]) -> None:
    targets = draw((*place, side, side, 0.3))
    assert (int(place[1]), int(place[0])) in owned(targets, 0)
    assert targets.heat.max() == 1


@pytest.mark.parametrize("place", [(-0.01, 5), (32, 5), (5, -0.01), (5, 24), (np.nan, 5), (100, 100)])
def test_a_middle_outside_is_ignored(place: tuple[float, float]) -> None:
    targets = draw((*place, 8, 8, 0), (10, 10, 4, 4, 0))
    alone = draw((10, 10, 4, 4, 0))
    np.testing.assert_array_equal(targets.heat, alone.heat)
    assert set(targets.object.tolist()) == {1}


def test_nothing_at_all() -> None:
    targets = draw_targets(RotatedBoxes.of(np.empty((0, 5))), np.empty(0, int), 3, SHAPE)
    assert targets.heat.shape == (3, *SHAPE)
    assert targets.heat.max() == 0
    assert len(targets.x) == len(targets.weight) == 0


def test_classes_have_heat_of_their_own() -> None:
    heat = draw((5.5, 5.5, 4, 4, 0), (20.5, 15.5, 4, 4, 0), label=[2, 0]).heat
    assert heat.shape == (3, *SHAPE)
    assert (heat[2, 5, 5], heat[0, 15, 20]) == (1, 1)
    assert heat[1].max() == heat[0, 5, 5] == heat[2, 15, 20] == 0


@given(st.integers(0, 2**31))
@settings(max_examples=60)
def test_boxes_are_told_from_each_of_their_cells(seed: int) -> None:
    ground, code = random_ground(seed, 1.2), BoxCoder()
    sides = ground.length, ground.width
    boxes = Boxes(ground.x - sides[0] / 2, ground.y - sides[1] / 2, *sides)
    targets = draw_targets(code.footprint(boxes), np.zeros(len(boxes), int), 1, SHAPE)
    x, y, told = targets.x + 0.5, targets.y + 0.5, boxes.take(targets.object)
    values = code.encode(told, x, y)
    assert values.shape == (len(x), code.values)
    for found, true in zip(code.decode(x, y, values).columns, told.columns, strict=True):
        np.testing.assert_allclose(found, true, atol=1e-9)


@given(st.integers(0, 2**31))
@settings(max_examples=60)
def test_rectangles_are_told_from_each_of_their_cells(seed: int) -> None:
    ground, code = random_ground(seed, 0.1), MaskCoder()
    targets = draw_targets(code.footprint(ground), np.zeros(len(ground), int), 1, SHAPE)
    x, y, told = targets.x + 0.5, targets.y + 0.5, ground.take(targets.object)
    values = code.encode(told, x, y)
    assert values.shape == (len(x), code.values)
    found = code.decode(x, y, values)
    for name in ("x", "y", "length", "width"):
        np.testing.assert_allclose(getattr(found, name), getattr(told, name), atol=1e-9)
    np.testing.assert_allclose(np.sin(found.angle - told.angle), 0, atol=1e-9)


@given(st.lists(st.floats(0, 63.99), max_size=4))
@settings(max_examples=60)
def test_moments_are_told_from_each_of_their_cells(time: list[float]) -> None:
    calls, code = Events(np.array(time)), EventCoder()
    targets = draw_targets(code.footprint(calls), np.zeros(len(calls), int), 1, (1, 64))
    x, y, told = targets.x + 0.5, targets.y + 0.5, calls.take(targets.object)
    np.testing.assert_allclose(code.decode(x, y, code.encode(told, x, y)).time, told.time, atol=1e-9)
    assert {int(moment) for moment in time} <= set(targets.x.tolist())


def test_moments_are_handed_in_by_recording_and_time() -> None:
    item, sure = np.array([0, 0, 1]), np.array([0.9, 0.5, 0.7])
    found = Annotations.from_rows(Items.of(["a", "b"]), item, Events(np.array([7.00049, 2.5, 1])), score=sure)
    told = EventCoder().to_truth_geometry(found, None)
    assert told.shapes.time.tolist() == [2.5, 7, 1]
    assert told.scores.tolist() == [0.5, 0.9, 0.7]
    assert told.item.tolist() == [0, 0, 1]


def test_absurd_values_stay_finite() -> None:
    x = np.array([3.0])
    for code in (BoxCoder(), MaskCoder()):
        for value in (-1e30, 1e30):
            shapes = code.decode(x, x, np.full((1, code.values), value))
            sides = (shapes.width, shapes.height) if isinstance(shapes, Boxes) else (shapes.length, shapes.width)
            assert np.isfinite(sides).all()
