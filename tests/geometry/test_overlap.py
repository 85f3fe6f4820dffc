"""Overlap of shapes: compared with shapely and with bitmaps, and the properties that it must have."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tallymark.geometry import Boxes, Cuboids, Masks, RotatedBoxes
from tests.geometry.test_pairs import random_masks

ZERO = np.zeros(1, np.int64)
angles = st.one_of(
    st.floats(-10, 10), st.sampled_from([0.0, math.pi / 2, -math.pi / 2, math.pi, math.pi / 4, 1e-9, 1e-17, 1e-300])
)
sides = st.one_of(st.floats(0.05, 50), st.sampled_from([1.0, 2.0, 4.0]))
centres = st.one_of(st.floats(-20, 20), st.sampled_from([0.0, 0.5, 1.0, 2.0]))
rectangles = st.tuples(centres, centres, sides, sides, angles)


def shared(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    first, second = RotatedBoxes.of(np.array([a])), RotatedBoxes.of(np.array([b]))
    return float(first.overlap(second, ZERO, ZERO)[0][0])


@pytest.mark.slow
@settings(max_examples=500)
@given(rectangles, rectangles)
def test_rotated_overlap_equals_shapely(a: tuple[float, ...], b: tuple[float, ...]) -> None:
    corners = RotatedBoxes.of(np.array([a, b])).corners
    # Shapely may find nothing where edges coincide; the middle of three tiny shifts is right.
    areas = [
        shapely.intersection(*shapely.polygons(corners + np.array([[[0]], [[shift]]]))).area
        for shift in (-1e-11, 0, 1e-11)
    ]
    expected = sorted(areas)[1]
    assert shared(a, b) == pytest.approx(expected, abs=1e-9 * max(1.0, a[2] * a[3], b[2] * b[3]))


@given(rectangles, rectangles)
def test_rotated_overlap_is_symmetric(a: tuple[float, ...], b: tuple[float, ...]) -> None:
    assert shared(a, b) == pytest.approx(shared(b, a), abs=1e-9 * max(1.0, a[2] * a[3]))


@given(rectangles, rectangles, st.floats(-4, 4), st.floats(-1000, 1000), st.floats(-1000, 1000))
def test_rotated_overlap_is_invariant(
    a: tuple[float, ...], b: tuple[float, ...], turn: float, dx: float, dy: float
) -> None:
    """Turning and shifting both changes nothing."""

    def moved(r: tuple[float, ...]) -> tuple[float, ...]:
        x, y = r[0] * math.cos(turn) - r[1] * math.sin(turn), r[0] * math.sin(turn) + r[1] * math.cos(turn)
        return x + dx, y + dy, r[2], r[3], r[4] + turn

    assert shared(moved(a), moved(b)) == pytest.approx(shared(a, b), abs=1e-9 * max(1.0, a[2] * a[3], b[2] * b[3]))


@given(rectangles)
def test_a_rectangle_covers_itself_exactly(a: tuple[float, ...]) -> None:
    assert shared(a, a) == pytest.approx(a[2] * a[3], rel=1e-14)


@pytest.mark.parametrize("quarters", [0, 1, 2, 3, -1])
def test_quarter_turns_swap_the_sides(quarters: int) -> None:
    turned = (0.0, 0.0, 4.0, 2.0, quarters * math.pi / 2)
    assert shared((0, 0, 4, 2, 0), turned) == pytest.approx(8 if quarters % 2 == 0 else 4, abs=1e-12)


@given(st.tuples(rectangles, centres, sides), st.tuples(rectangles, centres, sides))
def test_cuboid_overlap_is_ground_times_height(a: tuple, b: tuple) -> None:
    def row(solid: tuple) -> list[float]:
        (x, y, length, width, yaw), z, height = solid
        return [x, y, z, width, length, height, yaw]

    first, second = Cuboids.of(np.array([row(a)])), Cuboids.of(np.array([row(b)]))
    intersection, union = first.overlap(second, ZERO, ZERO)
    height = max(0.0, min(a[1] + a[2] / 2, b[1] + b[2] / 2) - max(a[1] - a[2] / 2, b[1] - b[2] / 2))
    assert intersection[0] == pytest.approx(shared(a[0], b[0]) * height, rel=1e-12)
    assert union[0] == pytest.approx(first.volume[0] + second.volume[0] - intersection[0], rel=1e-12)


whole_boxes = st.tuples(*[st.integers(0, 12)] * 2, *[st.integers(0, 8)] * 2)


@given(whole_boxes, whole_boxes)
def test_boxes_count_pixels(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    def pixels(box: tuple[int, ...]) -> set[tuple[int, int]]:
        return {(x, y) for x in range(box[0], box[0] + box[2]) for y in range(box[1], box[1] + box[3])}

    intersection, union = Boxes.of(np.array([a])).overlap(Boxes.of(np.array([b])), ZERO, ZERO)
    assert intersection[0] == len(pixels(a) & pixels(b))
    assert union[0] == len(pixels(a) | pixels(b))


def test_clipping_keeps_what_is_inside() -> None:
    boxes = Boxes.of(np.array([[-5, -5, 10, 20], [95, 95, 10, 10], [200, 0, 5, 5], [1, 2, 3, 4]]))
    clipped = boxes.clip_to(100, 100)
    assert np.stack([clipped.x, clipped.y, clipped.width, clipped.height], 1).tolist() == [
        [0, 0, 5, 15],
        [95, 95, 5, 5],
        [100, 0, 0, 5],
        [1, 2, 3, 4],
    ]


@pytest.mark.parametrize("seed", range(30))
def test_run_overlap_equals_dense_masks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = random_masks(12, rng), random_masks(12, rng)
    i, j = (grid.ravel() for grid in np.meshgrid(np.arange(12), np.arange(12)))
    intersection, union = a.overlap(b, i, j)
    dense_a, dense_b = ([masks.bitmap(k) for k in range(12)] for masks in (a, b))
    assert intersection.tolist() == [int((dense_a[m] & dense_b[n]).sum()) for m, n in zip(i, j, strict=True)]
    assert union.tolist() == [int((dense_a[m] | dense_b[n]).sum()) for m, n in zip(i, j, strict=True)]
    assert a.area.tolist() == [int(bitmap.sum()) for bitmap in dense_a]


def test_both_ways_of_comparing_masks_are_used() -> None:
    masks = random_masks(40, np.random.default_rng(3))
    assert masks.bounds.plain.any()
    assert not masks.bounds.plain.all()


@given(st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=4))
def test_masks_survive_conversion_to_bitmaps_and_back(seeds: list[int]) -> None:
    bitmaps = [np.random.default_rng(seed).random((7, 5)) < 0.5 for seed in seeds]
    masks = Masks.of(bitmaps, (7, 5))
    assert all(np.array_equal(masks.bitmap(k), bitmap) for k, bitmap in enumerate(bitmaps))
    order = np.arange(len(masks))[::-1]
    assert all(np.array_equal(masks.take(order).bitmap(k), bitmaps[n]) for k, n in enumerate(order))


def test_collisions_name_each_pair_once() -> None:
    bitmaps = np.zeros((3, 6, 6), bool)
    bitmaps[0, :3, :3] = bitmaps[1, 2:5, 2:5] = bitmaps[2, 4:, 4:] = True
    masks = Masks.of(list(bitmaps), (6, 6))
    found = masks.collisions(np.zeros(3, np.int64))
    assert list(zip(found.first.tolist(), found.second.tolist(), found.intersection.tolist(), strict=True)) == [
        (0, 1, 1),
        (1, 2, 1),
    ]
    assert not len(masks.collisions(np.arange(3)))


nudges = st.floats(-0.4, 0.4)


@given(rectangles, st.tuples(nudges, nudges, nudges, nudges, nudges))
def test_half_overlap_means_centres_inside(a: tuple[float, ...], nudge: tuple[float, ...]) -> None:
    """What the search relies on: from IoU 1/2 on, each centre lies in the other rectangle's extent."""
    x, y, length, width, angle = a
    side = min(length, width)
    b = (x + nudge[0] * side, y + nudge[1] * side, length * (1 + nudge[2]), width * (1 + nudge[3]), angle + nudge[4])
    boxes = RotatedBoxes.of(np.array([a, b]))
    intersection, union = boxes.overlap(boxes, ZERO, ZERO + 1)
    assume(intersection[0] >= 0.5 * union[0])
    for axis in boxes.extents:
        assert abs(axis.centre[0] - axis.centre[1]) <= min(axis.half) * (1 + 1e-9) + 1e-9
