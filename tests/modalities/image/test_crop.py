"""Crops: the painted pixels are where the shapes are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallymark.geometry import Boxes, Labels, Masks, RotatedBoxes
from tallymark.modalities.image.crop import PADDING_COLOR, crop_matrix, random_crop, resized_crop_matrix
from tallymark.modalities.sample import ImageSample
from tests.modalities.image.painted import (
    CROP_ONLY,
    bounding_box,
    generator,
    iou,
    painted,
    pixel_exact,
    polygon,
    rows,
    seeds,
    some_boxes,
    some_masks,
    some_rotated,
)

sizes = st.integers(16, 160)


@given(seeds, sizes, sizes)
def test_boxes_fit_their_pixels_exactly(seed: int, height: int, width: int) -> None:
    rng = generator(seed)
    sample = some_boxes(rng, [0, 1, 2])
    crop = random_crop(rng, sample, pixel_exact(), height, width)
    assert crop.data.shape == (height, width, 3)
    for label, row in zip(crop.label.tolist(), rows(crop.shapes).tolist(), strict=True):
        assert row == bounding_box(painted(crop.data, label))
    for label in set(range(3)) - set(crop.label.tolist()):
        assert painted(crop.data, label).sum() < 0.4 * painted(sample.data, label).sum()


@given(seeds, sizes, sizes)
def test_masks_are_their_pixels_exactly(seed: int, height: int, width: int) -> None:
    rng = generator(seed)
    sample = some_masks(rng, [0, 1, 2])
    crop = random_crop(rng, sample, pixel_exact(), height, width)
    assert isinstance(crop.shapes, Masks)
    for mask, label in enumerate(crop.label.tolist()):
        assert (crop.shapes.bitmap(mask) == painted(crop.data, label)).all()
    for label in set(range(3)) - set(crop.label.tolist()):
        whole = painted(sample.data, label).sum()
        assert painted(crop.data, label).sum() < max(0.4 * whole, 1)


@given(seeds)
def test_zoomed_boxes_fit_their_pixels(seed: int) -> None:
    rng = generator(seed)
    crop = random_crop(rng, some_boxes(rng, [0, 1]), pixel_exact().replace(scale_jitter=1.6, rotate_degrees=30), 96, 96)
    for label, row in zip(crop.label.tolist(), rows(crop.shapes), strict=True):
        if row[2:].min() >= 12:
            pixels = Boxes.of(np.array([bounding_box(painted(crop.data, label, 127))]))
            shared, union = pixels.overlap(Boxes.of(row), np.array([0]), np.array([0]))
            assert shared / union > 0.8


@given(seeds)
def test_tilted_rotated_boxes_fit_their_pixels(seed: int) -> None:
    rng = generator(seed)
    sample = some_rotated(rng, [0, 1])
    crop = random_crop(
        rng, sample, pixel_exact().replace(scale_jitter=1.5, rotate_degrees=180, positive_crops=0.5), 96, 96
    )
    assert isinstance(crop.shapes, RotatedBoxes)
    for label, corners in zip(crop.label.tolist(), crop.shapes.corners, strict=True):
        assert iou(polygon(corners, (96, 96)), painted(crop.data, label, 127)) > 0.8
    for label in set(range(2)) - set(crop.label.tolist()):
        scale = 1.5**2
        assert painted(crop.data, label, 127).sum() < 0.55 * scale * painted(sample.data, label).sum()


@given(seeds, st.booleans())
def test_a_positive_crop_shows_a_whole_object(seed: int, tilted: bool) -> None:
    rng = generator(seed)
    image = np.zeros((200, 300, 3), np.uint8)
    places = rng.uniform(12, (288, 188), (3, 2))
    boxes = RotatedBoxes.of(np.column_stack([places, np.full((3, 2), 10.0), rng.uniform(-3, 3, 3)]))
    recipe = pixel_exact().replace(positive_crops=1, scale_jitter=1.5, rotate_degrees=180 * tilted)
    crop = random_crop(rng, ImageSample.of(image, boxes, np.arange(3)), recipe, 64, 64)
    assert isinstance(crop.shapes, RotatedBoxes)
    corners = crop.shapes.corners
    assert ((corners >= -0.01) & (corners <= 64.01)).all((1, 2)).any()
    if not tilted:  # the crop stays in the image
        assert not (crop.data == PADDING_COLOR).any()


def test_without_positive_crops_most_miss_a_small_object() -> None:
    sample = ImageSample.of(np.zeros((500, 500, 3), np.uint8), Boxes.of(np.array([[7, 7, 9, 9]])), np.zeros(1, int))
    rng = generator(0)
    found = [len(random_crop(rng, sample, CROP_ONLY, 64, 64).shapes) for _ in range(60)]
    aimed = [len(random_crop(rng, sample, CROP_ONLY.replace(positive_crops=0.5), 64, 64).shapes) for _ in range(60)]
    assert sum(found) < 6
    assert 18 < sum(aimed) < 42


def test_places_vary_and_reach_the_corners() -> None:
    sample = ImageSample.of(np.zeros((20, 20, 3), np.uint8), Boxes.of(np.empty((0, 4))), np.empty(0, int))
    rng = generator(0)
    for side, wanted in ((18, {0, -1, -2}), (22, {0, 1, 2}), (20, {0})):
        found = np.array([crop_matrix(rng, sample, CROP_ONLY, side, side)[:, 2] for _ in range(60)])
        assert {round(offset) for offset in found[:, 0]} == {round(offset) for offset in found[:, 1]} == wanted


def test_a_large_object_fills_a_positive_crop() -> None:
    sample = ImageSample.of(np.full((90, 90, 3), 255, np.uint8), Boxes.of(np.array([[5, 5, 80, 80]])), np.zeros(1, int))
    for seed in range(20):
        assert -crop_matrix(generator(seed), sample, CROP_ONLY.replace(positive_crops=1), 32, 32)[:, 2].min() >= 5


def test_padding_is_grey_and_the_image_is_complete() -> None:
    sample = ImageSample.of(np.full((10, 30, 3), 255, np.uint8), Boxes.of(np.empty((0, 4))), np.empty(0, int))
    crop = random_crop(generator(1), sample, pixel_exact(), 50, 50)
    white = (crop.data == 255).all(2)
    assert white.sum() == 300
    assert (crop.data[~white] == PADDING_COLOR).all()


@pytest.mark.parametrize("name", ["hflip", "vflip"])
def test_flips_at_a_probability_of_one(name: str) -> None:
    image = generator(0).integers(0, 255, (24, 24, 3), np.uint8)
    sample = ImageSample.of(image, Labels(np.array([0])), np.array([0]))
    crop = random_crop(generator(5), sample, CROP_ONLY.replace(**{name: 1}), 24, 24)
    assert (crop.data == (image[:, ::-1] if name == "hflip" else image[::-1])).all()
    assert (random_crop(generator(5), sample, CROP_ONLY, 24, 24).data == image).all()


def test_rot90_at_a_probability_of_one() -> None:
    image = generator(0).integers(0, 255, (24, 24, 3), np.uint8)
    sample = ImageSample.of(image, Boxes.of(np.empty((0, 4))), np.empty(0, int))
    turned = [np.rot90(image, k).tobytes() for k in range(4)]
    rng = generator(0)
    found = {
        turned.index(random_crop(rng, sample, CROP_ONLY.replace(rot90=1), 24, 24).data.tobytes()) for _ in range(40)
    }
    assert found == {1, 2, 3}


def test_boxes_are_not_tilted() -> None:
    sample = some_boxes(generator(0), [0])
    for seed in range(10):
        matrix = crop_matrix(generator(seed), sample, pixel_exact().replace(rotate_degrees=90), 64, 64)
        assert set(np.abs(matrix[:, :2]).ravel()) <= {0.0, 1.0}


@settings(max_examples=200)
@given(seeds, st.floats(1, 3), sizes, sizes)
def test_resized_crops_are_rectangles_of_the_image(seed: int, zoom: float, height: int, width: int) -> None:
    rng = generator(seed)
    rows, columns = rng.integers(20, 200, 2).tolist()
    sample = ImageSample.of(np.zeros((rows, columns, 3), np.uint8), Labels(np.array([1])), np.array([1]))
    matrix = resized_crop_matrix(rng, sample, pixel_exact().replace(scale_jitter=zoom), height, width)
    corners = np.array([(0, 0), (width, 0), (0, height), (width, height)]) - matrix[:, 2]
    back = corners @ np.linalg.inv(matrix[:, :2]).T
    assert (back > -1e-6).all()
    assert (back < np.array([columns, rows]) + 1e-6).all()
    assert 1 / zoom**2 - 1e-6 < np.ptp(back, axis=0).prod() / (rows * columns) < 1 + 1e-6


def test_without_scale_jitter_the_whole_image_is_resized() -> None:
    sample = ImageSample.of(np.zeros((50, 100, 3), np.uint8), Labels(np.array([1])), np.array([1]))
    for seed in range(10):
        assert np.allclose(resized_crop_matrix(generator(seed), sample, CROP_ONLY, 25, 25), [[0.25, 0, 0], [0, 0.5, 0]])


def test_tilted_labels_turn_about_the_middle() -> None:
    sample = ImageSample.of(np.zeros((50, 50, 3), np.uint8), Labels(np.array([1])), np.array([1]))
    matrix = resized_crop_matrix(generator(0), sample, CROP_ONLY.replace(rotate_degrees=45), 50, 50)
    assert np.allclose(matrix @ (25, 25, 1), (25, 25))
    assert abs(matrix[0, 1]) > 0.01
