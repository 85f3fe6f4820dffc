"""Mosaic, mixup and cutmix: painted pixels match the shapes, and the weights of labels sum to 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallymark.geometry import Boxes, Labels, Masks, RotatedBoxes
from tallymark.modalities.image.crop import random_crop
from tallymark.modalities.image.mixing import cutmix, mixup, mosaic
from tallymark.modalities.sample import ImageSample
from tests.modalities.image.painted import (
    COLORS,
    bounding_box,
    generator,
    iou,
    painted,
    pixel_exact,
    rows,
    seeds,
    some_boxes,
    some_masks,
    some_rotated,
)

RECIPE = pixel_exact().replace(crop_size=64)
sides = st.integers(1, 80)


def plain(label: int, size: int = 70) -> ImageSample:
    """A image of one colour that shows one label."""
    image = np.broadcast_to(COLORS[label], (size, size, 3)).copy()
    return ImageSample.of(image, Labels(np.array([label])), np.array([label]))


def cover_share(image: np.ndarray, label: int) -> float:
    return float(painted(image, label).mean())


@given(seeds)
def test_boxes_of_a_mosaic_fit_their_pixels(seed: int) -> None:
    rng = generator(seed)
    crop = mosaic(rng, [some_boxes(rng, [label]) for label in range(4)], RECIPE)
    assert crop.data.shape == (64, 64, 3)
    assert set(crop.weight.tolist()) <= {1.0}
    for label, row in zip(crop.label.tolist(), rows(crop.shapes).tolist(), strict=True):
        assert row == bounding_box(painted(crop.data, label))


@given(seeds)
def test_masks_of_a_mosaic_are_their_pixels(seed: int) -> None:
    rng = generator(seed)
    crop = mosaic(rng, [some_masks(rng, [label]) for label in range(4)], RECIPE)
    assert isinstance(crop.shapes, Masks)
    assert crop.shapes.shape == (64, 64)
    for mask, label in enumerate(crop.label.tolist()):
        assert (crop.shapes.bitmap(mask) == painted(crop.data, label)).all()


@given(seeds)
def test_every_region_of_a_mosaic_is_filled(seed: int) -> None:
    crop = mosaic(generator(seed), [plain(label) for label in range(4)], RECIPE)
    assert crop.label.tolist() == [0, 1, 2, 3]
    assert sum(cover_share(crop.data, label) for label in range(4)) == 1
    assert np.allclose(crop.weight, [cover_share(crop.data, label) for label in range(4)])
    assert crop.weight.min() >= 1 / 16


@given(seeds, sides)
def test_weights_of_labels_sum_to_one(seed: int, side: int) -> None:
    rng = generator(seed)
    recipe = RECIPE.replace(crop_size=side)
    crop = mosaic(rng, [plain(label) for label in range(4)], recipe)
    other = random_crop(rng, plain(4), recipe, side, side)
    for mixed in (crop, mixup(rng, crop, other), cutmix(rng, crop, other)):
        assert np.isclose(mixed.weight.sum(), 1)
        assert isinstance(mixed.shapes, Labels)
        assert mixed.shapes.label.tolist() == mixed.label.tolist()


@given(seeds)
def test_a_blend_shows_both_by_their_weight(seed: int) -> None:
    mixed = mixup(generator(seed), plain(0), plain(1))
    assert mixed.label.tolist() == [0, 1]
    assert np.abs(mixed.data[0, 0] / 255 - (*mixed.weight, 0)).max() < 0.01


@given(seeds)
def test_a_pasted_label_counts_by_its_area(seed: int) -> None:
    mixed = cutmix(generator(seed), plain(0), plain(1))
    assert mixed.label.tolist() == [0, 1]
    assert np.allclose(mixed.weight, [cover_share(mixed.data, label) for label in (0, 1)])


def test_shares_differ_from_draw_to_draw() -> None:
    rng = generator(0)
    for mix in (mixup, cutmix):
        drawn = np.array([mix(rng, plain(0), plain(1)).weight[0] for _ in range(200)])
        assert drawn.min() < 0.15
        assert drawn.max() > 0.85


@given(seeds)
def test_blended_objects_all_count_in_full(seed: int) -> None:
    rng = generator(seed)
    first, second = (random_crop(rng, some_boxes(rng, labels), RECIPE, 64, 64) for labels in ([0, 1], [2]))
    mixed = mixup(rng, first, second)
    assert rows(mixed.shapes).tolist() == [*rows(first.shapes).tolist(), *rows(second.shapes).tolist()]
    assert mixed.label.tolist() == [*first.label.tolist(), *second.label.tolist()]
    assert (mixed.weight == 1).all()
    middle = (first.data.astype(int) + second.data) / 2
    assert np.abs(mixed.data - middle).max() < 0.45 * 255, "both are seen"


@given(seeds)
def test_pasted_boxes_fit_their_pixels(seed: int) -> None:
    rng = generator(seed)
    first, second = (random_crop(rng, some_boxes(rng, labels), RECIPE, 64, 64) for labels in ([0, 1], [2, 3]))
    mixed = cutmix(rng, first, second)
    for label, row in zip(mixed.label.tolist(), rows(mixed.shapes).tolist(), strict=True):
        assert row == bounding_box(painted(mixed.data, label))
    for crop in (first, second):
        for label in crop.label.tolist():
            before, after = (painted(image, label).sum() for image in (crop.data, mixed.data))
            assert (label in mixed.label) == (after >= 0.4 * before)


@given(seeds)
def test_pasted_masks_are_their_pixels(seed: int) -> None:
    rng = generator(seed)
    first, second = (random_crop(rng, some_masks(rng, labels), RECIPE, 64, 64) for labels in ([0, 1], [2, 3]))
    mixed = cutmix(rng, first, second)
    assert isinstance(mixed.shapes, Masks)
    for mask, label in enumerate(mixed.label.tolist()):
        assert (mixed.shapes.bitmap(mask) == painted(mixed.data, label)).all()


@given(seeds)
def test_pasted_rotated_boxes_are_partly_visible(seed: int) -> None:
    rng = generator(seed)
    recipe = RECIPE.replace(rotate_degrees=90, positive_crops=1)
    first, second = (random_crop(rng, some_rotated(rng, [label]), recipe, 64, 64) for label in (0, 1))
    mixed = cutmix(rng, first, second)
    assert isinstance(mixed.shapes, RotatedBoxes)
    for label, area in zip(mixed.label.tolist(), mixed.shapes.area.tolist(), strict=True):
        assert painted(mixed.data, label, 127).sum() > 0.3 * area


def test_weighing_changes_nothing_but_weights() -> None:
    points = ImageSample(np.zeros((5, 4, 1), np.float32), Boxes.of(np.ones((1, 4))), np.zeros(1), np.ones(1), side=64)
    half = points.scale_weights(0.5)
    assert (half.weight.tolist(), half.extent) == ([0.5], (64, 64))


@pytest.mark.parametrize("mix", [mixup, cutmix])
def test_crops_that_are_mixed_are_not_modified(mix: Callable[..., ImageSample]) -> None:
    first, second = plain(0), plain(1)
    for seed in range(5):
        mix(generator(seed), first, second)
    assert cover_share(first.data, 0) == cover_share(second.data, 1) == 1


def test_empty_crops_are_mixed() -> None:
    none = ImageSample.of(np.zeros((64, 64, 3), np.uint8), Boxes.of(np.empty((0, 4))), np.empty(0, int))
    for crop in (
        mosaic(generator(0), [none] * 4, RECIPE),
        mixup(generator(0), none, none),
        cutmix(generator(0), none, none),
    ):
        assert len(crop.shapes) == len(crop.label) == len(crop.weight) == 0


def test_objects_of_a_mosaic_are_clipped_at_its_seams() -> None:
    """One colour fills each image, so every part is filled by its box."""
    samples = [
        ImageSample.of(plain(label, 200).data, Boxes.of(np.array([[0, 0, 200, 200]])), np.array([label]))
        for label in range(4)
    ]
    crop = mosaic(generator(3), samples, RECIPE.replace(scale_jitter=1))
    assert len(crop.shapes) == 0, "less than two fifths of a box of 200 is in a part of 64"
    small = [
        ImageSample.of(plain(label, 70).data, Boxes.of(np.array([[0, 0, 70, 70]])), np.array([label]))
        for label in range(4)
    ]
    for seed in range(20):
        crop = mosaic(generator(seed), small, RECIPE)
        for label, row in zip(crop.label.tolist(), rows(crop.shapes).tolist(), strict=True):
            assert row[2] * row[3] >= 0.4 * 70 * 70
            assert iou(painted(crop.data, label), _filled(row)) == 1


def _filled(row: list[float]) -> np.ndarray:
    x, y, width, height = (int(value) for value in row)
    filled = np.zeros((64, 64), bool)
    filled[y : y + height, x : x + width] = True
    return filled
