"""augment_image: always a crop, the same for the same seed, and mixed only as the recipe says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallymark.geometry import Boxes, Labels, Masks, RotatedBoxes
from tallymark.modalities.image.augmentation import augment_image
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.sample import ImageSample
from tests.modalities.image.painted import (
    CROP_ONLY,
    bounding_box,
    generator,
    painted,
    pixel_exact,
    rows,
    seeds,
    some_boxes,
    some_masks,
    some_rotated,
)

EMPTY = {"boxes": Boxes.of(np.empty((0, 4))), "rotated": RotatedBoxes.of(np.empty((0, 5)))}
WILD = ImageRecipe().replace(
    **dict.fromkeys(
        ("positive_crops", "color_jitter", "grayscale", "blur", "noise", "jpeg", "mosaic", "mixup", "cutmix"), 0.4
    )
    | {"rotate_degrees": 40}
)


def load_of(kind: str) -> Callable[[int], ImageSample]:
    def load(index: int) -> ImageSample:
        rng = generator(index)
        if kind in EMPTY:
            return ImageSample.of(rng.integers(0, 255, (30, 45, 3), np.uint8), EMPTY[kind], np.empty(0, int))
        if kind == "labels":
            return ImageSample.of(some_boxes(rng, [0]).data, Labels(np.array([index])), np.array([index]))
        if kind == "no masks":
            return ImageSample.of(np.zeros((30, 45, 3), np.uint8), Masks.of([], (30, 45)), np.empty(0, int))
        some = {"some boxes": some_boxes, "some masks": some_masks, "some rotated": some_rotated}[kind]
        return some(rng, [0, 1])

    return load


kinds = st.sampled_from(["boxes", "rotated", "labels", "no masks", "some boxes", "some masks", "some rotated"])


def columns(sample: ImageSample) -> list[np.ndarray]:
    shapes = sample.shapes
    if isinstance(shapes, Masks):
        own = [shapes.start, shapes.length, shapes.offsets]
    else:
        own = [shapes.label] if isinstance(shapes, Labels) else list(shapes.columns)
    return [sample.data, sample.label, sample.weight, *own]


@given(seeds, kinds, st.integers(1, 100), st.integers(1, 5), st.booleans())
def test_every_crop_is_complete(seed: int, kind: str, side: int, count: int, mix: bool) -> None:
    recipe = WILD.replace(crop_size=side)
    crop = augment_image(generator(seed), load_of(kind), 0, count, recipe, mix=mix)
    assert crop.data.shape == (side, side, 3)
    assert crop.data.dtype == np.uint8
    assert crop.data.flags.c_contiguous
    assert len(crop.shapes) == len(crop.label) == len(crop.weight)
    if kind == "labels":
        assert np.isclose(crop.weight.sum(), 1)
    else:
        assert (crop.weight == 1).all()
    if isinstance(crop.shapes, Masks):
        assert crop.shapes.shape == (side, side)


@given(seeds, kinds)
def test_the_same_seed_gives_the_same_crop(seed: int, kind: str) -> None:
    recipe = WILD.replace(crop_size=48)
    first, second = (augment_image(generator(seed), load_of(kind), 1, 4, recipe) for _ in range(2))
    for one, other in zip(columns(first), columns(second), strict=True):
        assert np.array_equal(one, other)


def test_other_seeds_give_other_crops() -> None:
    recipe = WILD.replace(crop_size=48)
    made = {augment_image(generator(seed), load_of("some boxes"), 1, 4, recipe).data.tobytes() for seed in range(20)}
    assert len(made) == 20


def loaded(recipe: ImageRecipe, *, mix: bool = True, crops: int = 200) -> list[int]:
    """How many images were loaded for each of many crops."""
    rng, counts = generator(0), []
    for _ in range(crops):
        asked: list[int] = []

        def load(index: int, asked: list[int] = asked) -> ImageSample:
            asked.append(index)
            return load_of("boxes")(index)

        augment_image(rng, load, 2, 5, recipe, mix=mix)
        assert asked[0] == 2
        assert 2 not in asked[1:]
        assert set(asked) <= set(range(5))
        counts.append(len(asked))
    return counts


def test_a_share_of_zero_mixes_nothing() -> None:
    assert set(loaded(CROP_ONLY.replace(crop_size=8))) == {1}


def test_without_mix_nothing_is_mixed() -> None:
    wild = CROP_ONLY.replace(crop_size=8, mosaic=1, mixup=1)
    assert set(loaded(wild, mix=False)) == {1}
    assert set(loaded(wild)) == {5}


@pytest.mark.parametrize(("name", "others"), [("mosaic", 3), ("mixup", 1), ("cutmix", 1)])
def test_shares_are_kept(name: str, others: int) -> None:
    counts = loaded(CROP_ONLY.replace(**{"crop_size": 8, name: 0.3}))
    assert set(counts) == {1, 1 + others}
    assert 0.2 < np.mean(np.array(counts) > 1) < 0.4


def test_mixup_and_cutmix_exclude_each_other() -> None:
    assert set(loaded(CROP_ONLY.replace(crop_size=8, mixup=0.5, cutmix=0.5))) == {2}


def test_a_single_image_is_mixed_with_itself() -> None:
    recipe = CROP_ONLY.replace(crop_size=8, mosaic=1, mixup=1)
    assert augment_image(generator(0), load_of("labels"), 0, 1, recipe).label.tolist() == [0] * 5


@given(seeds)
def test_painted_objects_are_where_their_boxes_are(seed: int) -> None:
    recipe = pixel_exact().replace(crop_size=80, positive_crops=0.5)
    sample = some_boxes(generator(seed), [0, 1, 2])
    crop = augment_image(generator(seed), lambda index: sample, 0, 1, recipe)
    for label, row in zip(crop.label.tolist(), rows(crop.shapes).tolist(), strict=True):
        assert row == bounding_box(painted(crop.data, label))


def test_the_loaded_image_is_not_modified() -> None:
    sample = load_of("some boxes")(0)
    before = sample.data.copy()
    for seed in range(20):
        augment_image(generator(seed), lambda index: sample, 0, 1, WILD.replace(crop_size=40))
    assert (sample.data == before).all()


def test_a_sample_must_be_whole() -> None:
    image = np.zeros((4, 4, 3), np.uint8)
    with pytest.raises(ValueError, match="1 shapes, 2 labels"):
        ImageSample(image, Boxes.of(np.ones((1, 4))), np.zeros(2, int), np.ones(1))
    with pytest.raises(ValueError, match="bytes"):
        ImageSample.of(image.astype(float), EMPTY["boxes"], np.empty(0, int))
    assert ImageSample.of(image, Labels(np.array([1, 2])), np.array([1, 2])).weight.tolist() == [0.5, 0.5]
