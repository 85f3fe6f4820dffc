"""Windows: the painted pixels lie where the shapes say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallymark.geometry import Boxes, Labels, Masks, RotatedBoxes
from tallymark.modalities.image.crop import GREY, cut, place, spread
from tallymark.modalities.sample import ImageSample
from tests.modalities.image.painted import (
    STILL,
    around,
    exact,
    generator,
    painted,
    polygon,
    rows,
    seeds,
    share,
    some_boxes,
    some_masks,
    some_rotated,
)

sizes = st.integers(16, 160)


@given(seeds, sizes, sizes)
def test_boxes_fit_their_pixels_exactly(seed: int, height: int, width: int) -> None:
    rng = generator(seed)
    sample = some_boxes(rng, [0, 1, 2])
    window = cut(rng, sample, exact(), height, width)
    assert window.picture.shape == (height, width, 3)
    for label, row in zip(window.label.tolist(), rows(window.shapes).tolist(), strict=True):
        assert row == around(painted(window.picture, label))
    for label in set(range(3)) - set(window.label.tolist()):
        assert painted(window.picture, label).sum() < 0.4 * painted(sample.picture, label).sum()


@given(seeds, sizes, sizes)
def test_masks_are_their_pixels_exactly(seed: int, height: int, width: int) -> None:
    rng = generator(seed)
    sample = some_masks(rng, [0, 1, 2])
    window = cut(rng, sample, exact(), height, width)
    assert isinstance(window.shapes, Masks)
    for mask, label in enumerate(window.label.tolist()):
        assert (window.shapes.picture(mask) == painted(window.picture, label)).all()
    for label in set(range(3)) - set(window.label.tolist()):
        whole = painted(sample.picture, label).sum()
        assert painted(window.picture, label).sum() < max(0.4 * whole, 1)


@given(seeds)
def test_zoomed_boxes_fit_their_pixels(seed: int) -> None:
    rng = generator(seed)
    window = cut(rng, some_boxes(rng, [0, 1]), exact().replace(scale_jitter=1.6, rotate_degrees=30), 96, 96)
    for label, row in zip(window.label.tolist(), rows(window.shapes), strict=True):
        if row[2:].min() >= 12:
            pixels = Boxes.of(np.array([around(painted(window.picture, label, 127))]))
            shared, union = pixels.overlap(Boxes.of(row), np.array([0]), np.array([0]))
            assert shared / union > 0.8


@given(seeds)
def test_tilted_rotated_boxes_fit_their_pixels(seed: int) -> None:
    rng = generator(seed)
    sample = some_rotated(rng, [0, 1])
    window = cut(rng, sample, exact().replace(scale_jitter=1.5, rotate_degrees=180, positive_crops=0.5), 96, 96)
    assert isinstance(window.shapes, RotatedBoxes)
    for label, corners in zip(window.label.tolist(), window.shapes.corners, strict=True):
        assert share(polygon(corners, (96, 96)), painted(window.picture, label, 127)) > 0.8
    for label in set(range(2)) - set(window.label.tolist()):
        scale = 1.5**2
        assert painted(window.picture, label, 127).sum() < 0.55 * scale * painted(sample.picture, label).sum()


@given(seeds, st.booleans())
def test_an_aimed_window_shows_an_object_whole(seed: int, tilted: bool) -> None:
    rng = generator(seed)
    picture = np.zeros((200, 300, 3), np.uint8)
    places = rng.uniform(12, (288, 188), (3, 2))
    boxes = RotatedBoxes.of(np.column_stack([places, np.full((3, 2), 10.0), rng.uniform(-3, 3, 3)]))
    recipe = exact().replace(positive_crops=1, scale_jitter=1.5, rotate_degrees=180 * tilted)
    window = cut(rng, ImageSample.of(picture, boxes, np.arange(3)), recipe, 64, 64)
    assert isinstance(window.shapes, RotatedBoxes)
    corners = window.shapes.corners
    assert ((corners >= -0.01) & (corners <= 64.01)).all((1, 2)).any()
    if not tilted:  # the window stays in the picture
        assert not (window.picture == GREY).any()


def test_without_aim_most_windows_miss_a_small_object() -> None:
    sample = ImageSample.of(np.zeros((500, 500, 3), np.uint8), Boxes.of(np.array([[7, 7, 9, 9]])), np.zeros(1, int))
    rng = generator(0)
    found = [len(cut(rng, sample, STILL, 64, 64).shapes) for _ in range(60)]
    aimed = [len(cut(rng, sample, STILL.replace(positive_crops=0.5), 64, 64).shapes) for _ in range(60)]
    assert sum(found) < 6
    assert 18 < sum(aimed) < 42


def test_places_vary_and_reach_the_corners() -> None:
    sample = ImageSample.of(np.zeros((20, 20, 3), np.uint8), Boxes.of(np.empty((0, 4))), np.empty(0, int))
    rng = generator(0)
    for side, wanted in ((18, {0, -1, -2}), (22, {0, 1, 2}), (20, {0})):
        found = np.array([place(rng, sample, STILL, side, side)[:, 2] for _ in range(60)])
        assert {round(offset) for offset in found[:, 0]} == {round(offset) for offset in found[:, 1]} == wanted


def test_a_large_object_fills_an_aimed_window() -> None:
    sample = ImageSample.of(np.full((90, 90, 3), 255, np.uint8), Boxes.of(np.array([[5, 5, 80, 80]])), np.zeros(1, int))
    for seed in range(20):
        assert -place(generator(seed), sample, STILL.replace(positive_crops=1), 32, 32)[:, 2].min() >= 5


def test_outside_is_grey_and_the_picture_is_whole() -> None:
    sample = ImageSample.of(np.full((10, 30, 3), 255, np.uint8), Boxes.of(np.empty((0, 4))), np.empty(0, int))
    window = cut(generator(1), sample, exact(), 50, 50)
    white = (window.picture == 255).all(2)
    assert white.sum() == 300
    assert (window.picture[~white] == GREY).all()


@pytest.mark.parametrize("name", ["hflip", "vflip"])
def test_mirror_and_flip_at_a_share_of_one(name: str) -> None:
    picture = generator(0).integers(0, 255, (24, 24, 3), np.uint8)
    sample = ImageSample.of(picture, Labels(np.array([0])), np.array([0]))
    window = cut(generator(5), sample, STILL.replace(**{name: 1}), 24, 24)
    assert (window.picture == (picture[:, ::-1] if name == "hflip" else picture[::-1])).all()
    assert (cut(generator(5), sample, STILL, 24, 24).picture == picture).all()


def test_quarter_turns_at_a_share_of_one() -> None:
    picture = generator(0).integers(0, 255, (24, 24, 3), np.uint8)
    sample = ImageSample.of(picture, Boxes.of(np.empty((0, 4))), np.empty(0, int))
    turned = [np.rot90(picture, k).tobytes() for k in range(4)]
    rng = generator(0)
    found = {turned.index(cut(rng, sample, STILL.replace(rot90=1), 24, 24).picture.tobytes()) for _ in range(40)}
    assert found == {1, 2, 3}


def test_boxes_are_not_tilted() -> None:
    sample = some_boxes(generator(0), [0])
    for seed in range(10):
        matrix = place(generator(seed), sample, exact().replace(rotate_degrees=90), 64, 64)
        assert set(np.abs(matrix[:, :2]).ravel()) <= {0.0, 1.0}


@settings(max_examples=200)
@given(seeds, st.floats(1, 3), sizes, sizes)
def test_windows_of_whole_pictures_are_rectangles_of_them(seed: int, zoom: float, height: int, width: int) -> None:
    rng = generator(seed)
    rows, columns = rng.integers(20, 200, 2).tolist()
    sample = ImageSample.of(np.zeros((rows, columns, 3), np.uint8), Labels(np.array([1])), np.array([1]))
    matrix = spread(rng, sample, exact().replace(scale_jitter=zoom), height, width)
    corners = np.array([(0, 0), (width, 0), (0, height), (width, height)]) - matrix[:, 2]
    back = corners @ np.linalg.inv(matrix[:, :2]).T
    assert (back > -1e-6).all()
    assert (back < np.array([columns, rows]) + 1e-6).all()
    assert 1 / zoom**2 - 1e-6 < np.ptp(back, axis=0).prod() / (rows * columns) < 1 + 1e-6


def test_without_zoom_the_whole_picture_is_squashed() -> None:
    sample = ImageSample.of(np.zeros((50, 100, 3), np.uint8), Labels(np.array([1])), np.array([1]))
    for seed in range(10):
        assert np.allclose(spread(generator(seed), sample, STILL, 25, 25), [[0.25, 0, 0], [0, 0.5, 0]])


def test_tilted_labels_turn_about_the_middle() -> None:
    sample = ImageSample.of(np.zeros((50, 50, 3), np.uint8), Labels(np.array([1])), np.array([1]))
    matrix = spread(generator(0), sample, STILL.replace(rotate_degrees=45), 50, 50)
    assert np.allclose(matrix @ (25, 25, 1), (25, 25))
    assert abs(matrix[0, 1]) > 0.01
