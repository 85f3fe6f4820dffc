"""Copy-paste: pasted objects are where their shapes are, apart from others, and on what they come from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from tallymark.geometry import Boxes, Labels, RotatedBoxes
from tallymark.modalities.image.augmentation import augment_image
from tallymark.modalities.image.copy_paste import cut_patch, find_place, paste_objects
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.sample import ImageSample
from tests.modalities.image.painted import CROP_ONLY, generator, iou, pixel_exact, polygon, seeds

SEA = (20, 40, 60)
HULL = (220, 60, 30)
RECIPE = pixel_exact().replace(task="masks", crop_size=96, rotate_degrees=45, copy_paste=3)
BOXES = RECIPE.replace(task="boxes", rotate_degrees=0)


def sea(color: tuple[int, int, int] = SEA, side: int = 96) -> np.ndarray:
    return np.broadcast_to(np.array(color, np.uint8), (side, side, 3)).copy()


def ships(rows: list[list[float]], color: tuple[int, int, int] = SEA, side: int = 96) -> ImageSample:
    """Rotated rectangles of one colour on water of one colour."""
    boxes = RotatedBoxes.of(np.array(rows, float).reshape(-1, 5))
    image = sea(color, side)
    for corners in boxes.corners:
        image[polygon(corners, image.shape)] = HULL
    return ImageSample.of(image, boxes, np.arange(len(boxes)))


def empty(color: tuple[int, int, int] = SEA, side: int = 96) -> ImageSample:
    return ships([], color, side)


ONE = ships([[48, 40, 30, 9, 0.4]])


def hulls(image: np.ndarray) -> np.ndarray:
    """The pixels that are nearer to the colour of a hull than to that of water."""
    red = image[..., 0].astype(int)
    return red > (SEA[0] + HULL[0]) / 2


def filled(shapes: RotatedBoxes, shape: tuple[int, ...]) -> np.ndarray:
    covered = np.zeros(shape[:2], bool)
    for corners in shapes.corners:
        covered |= polygon(corners, shape)
    return covered


@given(seeds)
def test_pasted_objects_are_where_their_shapes_are(seed: int) -> None:
    pasted = paste_objects(generator(seed), empty(), lambda: ONE, RECIPE)
    assert isinstance(pasted.shapes, RotatedBoxes)
    assert pasted.label.tolist() == [0] * len(pasted.shapes)
    assert (pasted.weight == 1).all()
    if len(pasted.shapes):
        assert iou(hulls(pasted.data), filled(pasted.shapes, pasted.data.shape)) > 0.75


@given(seeds)
def test_boxes_are_pasted_upright(seed: int) -> None:
    image = sea()
    image[30:50, 20:60] = HULL
    donor = ImageSample.of(image, Boxes.of(np.array([[20, 30, 40, 20]])), np.array([2]))
    target = ImageSample.of(sea(), Boxes.of(np.empty((0, 4))), np.empty(0, int))
    pasted = paste_objects(generator(seed), target, lambda: donor, BOXES)
    covered = np.zeros((96, 96), bool)
    for x, y, width, height in np.stack(pasted.shapes.columns, 1).astype(int).tolist():
        assert {width, height} == {20, 40}
        covered[y : y + height, x : x + width] = True
    assert (hulls(pasted.data) == covered).all()


@given(seeds)
def test_no_object_is_covered(seed: int) -> None:
    target = ships([[30, 30, 40, 10, 0.8], [70, 60, 20, 8, 0.1]])
    pasted = paste_objects(generator(seed), target, lambda: ONE, RECIPE)
    old = hulls(target.data)
    assert (pasted.data[old] == target.data[old]).all()
    assert pasted.shapes.take(np.arange(2)).x.tolist() == [30, 70]
    pairs = pasted.shapes.pairs(pasted.shapes, np.zeros(len(pasted.shapes), int), np.zeros(len(pasted.shapes), int))
    assert len(pairs.first) == len(pasted.shapes), "each overlaps itself only"


def test_as_many_as_the_recipe_says() -> None:
    recipe = CROP_ONLY.replace(task="masks", copy_paste=0.5)
    small = ships([[48, 40, 6, 3, 0.4]], side=256)
    counts = [len(paste_objects(generator(k), empty(side=256), lambda: small, recipe).shapes) for k in range(400)]
    assert 0.4 < np.mean(counts) < 0.62


@pytest.mark.parametrize(
    "rows", [[[5, 40, 30, 9, 0.4]], [[48, 2, 20, 9, 0]], [[40, 40, 30, 9, 0.4], [40, 52, 30, 9, 0.4]]]
)
def test_objects_at_an_edge_or_side_by_side_are_not_cut_out(rows: list[list[float]]) -> None:
    assert all(cut_patch(generator(seed), ships(rows), RECIPE) is None for seed in range(10))


def test_a_patch_fades_out_around_its_object() -> None:
    patch = cut_patch(generator(1), ONE, RECIPE)
    assert patch is not None
    covered = filled(patch.shape, patch.alpha.shape)  # type: ignore[arg-type]  # rectangles stay rectangles
    assert patch.alpha[covered].min() > 0.9
    assert patch.alpha[[0, -1]].max() < 0.3
    assert patch.alpha[:, [0, -1]].max() < 0.3
    assert np.abs(patch.surroundings(patch.pixels)[0] - SEA).max() < 25, "its surroundings are water"


def test_objects_stay_on_what_they_come_from() -> None:
    land = generator(0).integers(60, 200, (96, 96, 3), np.uint8)
    half = np.concatenate([land[:, :40], sea()[:, 40:]], axis=1)
    patch = cut_patch(generator(0), ships([[48, 40, 14, 5, 0.4]]), RECIPE)
    assert patch is not None
    assert find_place(generator(0), replace(empty(), data=land), patch) is None
    places = [find_place(generator(seed), replace(empty(), data=half), patch) for seed in range(20)]
    found = [place.left for place in places if place is not None]
    assert len(found) > 15
    assert min(found) > 20, "a small part may be on land"
    assert find_place(generator(0), empty(side=16), patch) is None, "no room"


def test_colours_follow_the_place() -> None:
    lighter = (35, 55, 75)
    pasted = paste_objects(generator(3), empty(lighter), lambda: ONE, RECIPE)
    assert len(pasted.shapes)
    hull = filled(pasted.shapes, pasted.data.shape) & hulls(pasted.data)
    water = np.abs(pasted.data[~hulls(pasted.data)].astype(int) - lighter).max(axis=1)
    assert np.median(pasted.data[hull][:, 1]) == pytest.approx(HULL[1] + 15, abs=12)
    assert np.mean(water <= 12) > 0.97


def test_crop_and_donor_are_not_modified() -> None:
    target, donor = empty(), ships([[48, 40, 30, 9, 0.4]])
    before = target.data.copy(), donor.data.copy()
    for seed in range(10):
        paste_objects(generator(seed), target, lambda: donor, RECIPE)
    assert (target.data == before[0]).all()
    assert (donor.data == before[1]).all()


def pasted_counts(recipe: ImageRecipe, donors: list[int], *, mix: bool = True) -> list[int]:
    """Objects in crops of an empty image, beside an image with a ship."""
    images = [empty(), ONE]
    made = [augment_image(generator(k), lambda at: images[at], 0, 2, recipe, mix=mix, donors=donors) for k in range(40)]
    return [len(crop.shapes) for crop in made]


def test_crops_are_pasted_into_where_the_recipe_says() -> None:
    recipe = CROP_ONLY.replace(task="masks", crop_size=80)
    assert sum(pasted_counts(recipe.replace(copy_paste=1), [1])) > 20
    assert sum(pasted_counts(recipe.replace(copy_paste=1), [])) == 0
    assert sum(pasted_counts(recipe.replace(copy_paste=1), [1], mix=False)) == 0
    assert sum(pasted_counts(recipe, [1])) == 0


def test_labels_have_nothing_to_paste() -> None:
    sample = ImageSample.of(sea(), Labels(np.array([0])), np.array([0]))
    recipe = CROP_ONLY.replace(task="labels", crop_size=32, copy_paste=5)
    assert augment_image(generator(0), lambda index: sample, 0, 1, recipe).label.tolist() == [0]
