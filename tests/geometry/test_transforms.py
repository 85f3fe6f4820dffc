"""Shapes follow the affine matrix, and those that are hardly visible are dropped."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallymark.geometry import Boxes, Labels, Masks, RotatedBoxes
from tallymark.geometry.affine import Region, translation
from tallymark.modalities.image.crop import warp
from tests.modalities.image.painted import generator, iou, painted, rows, seeds, some_masks, some_rotated

MIRROR_5 = np.array([[-1.0, 0, 5], [0, 1, 0]])
QUARTER = np.array([[0.0, -1, 20], [1, 0, 0]])


def similarity(rng: np.random.Generator, mirrored: bool = False) -> np.ndarray:
    angle, scale = rng.uniform(-np.pi, np.pi), np.exp(rng.uniform(-0.5, 0.5))
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.column_stack([turn @ np.diag([-1 if mirrored else 1, 1]), rng.uniform(-20, 20, 2)])


def test_a_mirror_is_exact() -> None:
    image = np.zeros((1, 5, 3), np.uint8)
    image[:, :2] = 255
    moved, kept = Boxes.of(np.array([[0, 0, 2, 1]])).transform(MIRROR_5, 1, 5)
    assert rows(moved).tolist() == [[3, 0, 2, 1]]
    assert kept.tolist() == [0]
    assert warp(image, MIRROR_5, 1, 5)[0, :, 0].tolist() == [0, 0, 0, 255, 255]


def test_a_quarter_turn_is_exact() -> None:
    moved, _ = Boxes.of(np.array([[1, 2, 3, 5]])).transform(QUARTER, 30, 30)
    assert rows(moved).tolist() == [[13, 1, 5, 3]]


def test_a_tilted_box_surrounds_its_corners() -> None:
    matrix = similarity(generator(3)) + np.array([[0, 0, 100], [0, 0, 100]])
    moved, _ = Boxes.of(np.array([[10, 20, 30, 8]])).transform(matrix, 300, 300)
    corners = matrix[:, :2] @ np.array([(10, 20), (40, 20), (40, 28), (10, 28)]).T + matrix[:, 2:]
    low, high = corners.min(1), corners.max(1)
    assert np.allclose(rows(moved), [[*low, *(high - low)]])


@pytest.mark.parametrize(("hidden", "stays"), [(6.0, True), (6.1, False), (10.0, False), (0.0, True)])
def test_a_box_needs_two_fifths_in_the_window(hidden: float, stays: bool) -> None:
    moved, kept = Boxes.of(np.array([[5, 5, 10, 10]])).transform(translation(-5 - hidden, 0), 50, 50)
    assert kept.tolist() == [0] * stays
    if stays:
        assert np.allclose(rows(moved), [[0, 5, 10 - hidden, 10]])


def test_the_index_says_which_are_kept() -> None:
    boxes = Boxes.of(np.array([[0, 0, 4, 4], [90, 90, 4, 4], [2, 2, 4, 4], [3, 3, 0, 4]]))
    moved, kept = boxes.transform(translation(0, 0), 50, 50)
    assert kept.tolist() == [0, 2]
    assert len(moved) == 2


@given(seeds, st.booleans())
def test_corners_of_rotated_boxes_go_through_the_matrix(seed: int, mirrored: bool) -> None:
    rng = generator(seed)
    boxes = some_rotated(rng, [0, 1, 2]).shapes
    matrix = similarity(rng, mirrored) + np.array([[0, 0, 500], [0, 0, 500]])
    moved, kept = boxes.transform(matrix, 1000, 1000)
    assert isinstance(boxes, RotatedBoxes)
    assert isinstance(moved, RotatedBoxes)
    assert kept.tolist() == [0, 1, 2]
    wanted = boxes.corners @ matrix[:, :2].T + matrix[:, 2]
    if mirrored:  # left and right change places
        wanted = wanted[:, [3, 2, 1, 0]]
    assert np.allclose(moved.corners, wanted)


def test_a_mirror_turns_the_angle_round() -> None:
    moved, _ = RotatedBoxes.of(np.array([[2, 2, 2, 1, 0.3]])).transform(np.array([[1.0, 0, 0], [0, -1, 5]]), 5, 5)
    assert isinstance(moved, RotatedBoxes)
    assert np.allclose(np.concatenate(moved.columns), [2, 3, 2, 1, -0.3])


@pytest.mark.parametrize(
    ("x", "y", "angle", "stays"),
    [
        (25, 25, 0, True),
        (1, 25, 0, True),  # 11 of 20 along the heading
        (-1, 25, 0, False),  # its centre is outside
        (1, 1, np.pi / 4, True),  # it points into the crop
        (1, 1, -np.pi / 4, False),  # it lies across the corner
        (0.5, 0.5, 0, False),  # near a corner little more than a quarter is left
    ],
)
def test_rotated_boxes_stay_whole_or_go(x: float, y: float, angle: float, stays: bool) -> None:
    box = RotatedBoxes.of(np.array([[x, y, 20, 10, angle]]))
    moved, kept = box.transform(translation(0, 0), 50, 50)
    assert kept.tolist() == [0] * stays
    if stays:
        assert isinstance(moved, RotatedBoxes)
        assert np.allclose(moved.columns, box.columns)


def test_a_slanting_matrix_is_refused_for_rotated_boxes() -> None:
    with pytest.raises(ValueError, match="right angles"):
        RotatedBoxes.of(np.ones((1, 5))).transform(np.array([[2.0, 0, 0], [0, 1, 0]]), 9, 9)


@given(seeds)
def test_masks_are_transformed_like_their_images(seed: int) -> None:
    rng = generator(seed)
    sample = some_masks(rng, [0, 1])
    matrix = similarity(rng)
    moved, kept = sample.shapes.transform(matrix, 70, 80)
    assert isinstance(moved, Masks)
    assert isinstance(sample.shapes, Masks)
    crop = warp(sample.data, matrix, 70, 80)
    grown = abs(np.linalg.det(matrix[:, :2]))
    for mask, label in enumerate(kept.tolist()):
        seen = moved.bitmap(mask)
        assert seen.shape == (70, 80)
        if seen.sum() > 300:
            assert iou(seen, painted(crop, label, 127)) > 0.75
    for label in set(range(2)) - set(kept.tolist()):
        assert painted(crop, label, 120).sum() < 0.5 * grown * sample.shapes.area[label] + 20


@given(seeds)
def test_moved_masks_are_made_of_proper_runs(seed: int) -> None:
    rng = generator(seed)
    sample = some_masks(rng, [0, 1, 2])
    moved, _ = sample.shapes.transform(similarity(rng), 60, 60)
    assert isinstance(moved, Masks)
    again = Masks.of([moved.bitmap(mask) for mask in range(len(moved))], moved.shape)
    assert again.start.tolist() == moved.start.tolist()
    assert again.length.tolist() == moved.length.tolist()
    assert again.offsets.tolist() == moved.offsets.tolist()


def test_overlapping_and_empty_masks_move_on_their_own() -> None:
    full, part, none = np.ones((4, 6), bool), np.zeros((4, 6), bool), np.zeros((4, 6), bool)
    part[1:3, 2:5] = True
    moved, kept = Masks.of([full, part, none], (4, 6)).transform(np.array([[0.0, -1, 4], [1, 0, 0]]), 6, 4)
    assert isinstance(moved, Masks)
    assert kept.tolist() == [0, 1]
    assert (moved.bitmap(0) == np.rot90(full, -1)).all()
    assert (moved.bitmap(1) == np.rot90(part, -1)).all()


def test_no_shapes_move_nowhere() -> None:
    for none in (Boxes.of(np.empty((0, 4))), RotatedBoxes.of(np.empty((0, 5))), Masks.of([], (5, 5))):
        moved, kept = none.transform(QUARTER, 9, 9)
        assert len(moved) == len(kept) == 0
        assert type(moved) is type(none)
        left, kept = none.erase(Region(0, 0, 3, 3))
        assert len(left) == len(kept) == 0


def test_labels_have_no_place() -> None:
    labels = Labels(np.array([4, 7]))
    for moved, kept in (labels.transform(QUARTER, 9, 9), labels.erase(Region(0, 0, 9, 9))):
        assert moved is labels
        assert kept.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("part", "left"),
    [
        (Region(0, 0, 13, 50), [13, 10, 7, 10]),  # its left side
        (Region(15, 0, 30, 50), [10, 10, 5, 10]),  # its right side
        (Region(0, 0, 50, 13), [10, 13, 10, 7]),  # its top
        (Region(0, 16, 50, 13), [10, 10, 10, 6]),  # its bottom
        (Region(0, 0, 15, 15), [10, 10, 10, 10]),  # a corner
        (Region(12, 0, 5, 50), [10, 10, 10, 10]),  # a stripe through it
        (Region(30, 30, 5, 5), [10, 10, 10, 10]),  # nothing
        (Region(0, 0, 17, 50), None),  # seven tenths
        (Region(11, 11, 8, 8), None),  # the middle, 64 of 100
        (Region(0, 0, 50, 50), None),
    ],
)
def test_what_is_left_of_a_covered_box(part: Region, left: list[int] | None) -> None:
    shapes, kept = Boxes.of(np.array([[10, 10, 10, 10]])).erase(part)
    assert rows(shapes).tolist() == ([] if left is None else [left])
    assert len(kept) == len(shapes)


@given(seeds)
def test_covered_masks_lose_their_pixels(seed: int) -> None:
    rng = generator(seed)
    masks = some_masks(rng, [0, 1]).shapes
    assert isinstance(masks, Masks)
    left, top, width, height = rng.integers(0, 40, 4).tolist()
    shapes, kept = masks.erase(Region(left, top, width, height))
    assert isinstance(shapes, Masks)
    for mask in range(2):
        wanted = masks.bitmap(mask).copy()
        wanted[top : top + height, left : left + width] = False
        stays = wanted.any() and wanted.sum() >= 0.4 * masks.area[mask]
        assert (mask in kept) == stays
        if stays:
            assert (shapes.bitmap(kept.tolist().index(mask)) == wanted).all()


def test_rotated_boxes_covered_by_more_than_three_fifths_go() -> None:
    boxes = RotatedBoxes.of(np.array([[20, 20, 10, 10, 0.0], [20, 20, 10, 10, np.pi / 4]]))
    assert boxes.erase(Region(0, 0, 20, 50))[1].tolist() == [0, 1]
    assert boxes.erase(Region(0, 0, 21, 50))[1].tolist() == [0], "of the other 63 %"
    assert boxes.erase(Region(0, 0, 22, 50))[1].tolist() == []
