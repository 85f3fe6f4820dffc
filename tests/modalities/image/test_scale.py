"""The scale that images are shown at: known from training, from the ground sampling distance, or estimated."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

import tallymark
from tallymark.data.catalog import Catalog
from tallymark.modalities.base import InputPlan, ProbedObjects
from tallymark.modalities.image.input_plan import plan_inputs
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.image.scale import TrainingObjects, TrainingScale, training_scale
from tallymark.modalities.image.scale_search import estimate_scale

RECIPE = ImageRecipe().replace(image_size=128, score_threshold=0.5)
TRAINED = TrainingScale((256,), 0.5, TrainingObjects(size=8.0, spread=0.3, confidence=0.7))
"""Images of 256 px, shown at 128 px, with objects of 16 px in the file."""


def dots(side: int, size: int, width: int = 0) -> np.ndarray:
    """A dark image with white squares of `size` pixels, three sizes apart."""
    image = np.zeros((side, width or side, 3), np.uint8)
    for top in range(size, side - size, 3 * size):
        for left in range(size, (width or side) - size, 3 * size):
            image[top : top + size, left : left + size] = 255
    return image


def detect(image: np.ndarray) -> ProbedObjects:
    """Squares, with less confidence the more their size differs from 8 px."""
    _, _, found, _ = cv2.connectedComponentsWithStats((image[..., 0] > 127).astype(np.uint8))
    size = np.sqrt(found[1:, cv2.CC_STAT_AREA].astype(float))
    return ProbedObjects(size, 0.3 + 0.4 * np.exp(-(np.log(np.maximum(size, 1) / 8) ** 2)))


def unused(image: np.ndarray) -> ProbedObjects:
    raise AssertionError("nothing is to be estimated")


def folder_of(folder: Path, *images: np.ndarray) -> Catalog:
    for number, image in enumerate(images):
        cv2.imwrite(str(folder / f"{number}.png"), image)
    return tallymark.read("wheat", folder)


def shown_at(plan: InputPlan, count: int) -> list[int]:
    return [RECIPE.image_size] * count if plan.recipes is None else [one.image_size for one in plan.recipes]


@pytest.mark.parametrize(("side", "size", "scale"), [(1024, 16, 0.5), (1024, 64, 0.125), (1024, 32, 0.25), (96, 4, 2)])
def test_the_scale_at_which_objects_have_their_usual_size_is_found(side: int, size: int, scale: float) -> None:
    estimate = estimate_scale([dots(side, size)], detect, TRAINED, RECIPE, RECIPE.image_size)
    assert estimate.certain
    assert estimate.scale == pytest.approx(scale, rel=0.3)


def test_a_likely_scale_is_kept_where_others_are_hardly_better() -> None:
    assert estimate_scale([dots(1024, 18)], detect, TRAINED, RECIPE, 128).scale == TRAINED.pixel_scale
    assert estimate_scale([dots(1024, 72)], detect, TRAINED, RECIPE, 128).scale == 128 / 1024


def test_without_objects_the_scale_is_that_of_the_trainings_pixels() -> None:
    assert estimate_scale([dots(1024, 2000)], detect, TRAINED, RECIPE, 128) == (0.5, False)
    varied = TrainingScale((256, 900), None, TRAINED.objects)
    assert estimate_scale([dots(1024, 2000)], detect, varied, RECIPE, 128) == (0.125, False)


def test_detections_that_do_not_grow_with_the_scale_tell_nothing() -> None:
    """A weak model finds texture of its usual size at every scale, here with most confidence in whole images."""

    def texture(image: np.ndarray) -> ProbedObjects:
        return ProbedObjects(np.full(20, 8.0), np.full(20, 0.6 + 0.2 * (image.mean() > 60)))

    bright = np.full((1024, 1024, 3), 50, np.uint8)
    bright[256:, :256] = 255
    assert estimate_scale([bright], texture, TRAINED, RECIPE, 128) == (0.5, False)


def test_images_of_the_trainings_size_are_shown_as_in_training(tmp_path: Path) -> None:
    catalog = folder_of(tmp_path, dots(256, 16), dots(250, 40), dots(100, 16, 256))
    assert plan_inputs(catalog, RECIPE, TRAINED, unused, None) == InputPlan()


def test_each_size_has_its_own_scale_and_a_note(tmp_path: Path) -> None:
    images = dots(256, 16), dots(1024, 16, 768), dots(1024, 16, 768), dots(1600, 100)
    catalog = folder_of(tmp_path, *images)
    (tmp_path / "bad.png").write_bytes(b"not an image")
    plan = plan_inputs(tallymark.read("wheat", tmp_path), RECIPE, TRAINED, detect, None)
    assert shown_at(plan, 5) == [128, 512, 512, 128, 128]
    first, second = plan.notes
    assert first.startswith("2 images of 768 x 1024 px: shown to the network at 0.5 of the size, where objects look")
    assert second.startswith("1 image of 1600 x 1600 px: shown to the network at 0.08 of the size")
    assert len(catalog) == 4


def test_too_few_objects_are_said(tmp_path: Path) -> None:
    plan = plan_inputs(folder_of(tmp_path, dots(1000, 3000)), RECIPE, TRAINED, detect, None)
    assert shown_at(plan, 1) == [500]
    assert plan.notes[0].endswith("as in training; the detections do not tell whether that is right")


def test_many_sizes_are_summed_up(tmp_path: Path) -> None:
    catalog = folder_of(tmp_path, *(dots(side, 16) for side in (400, 600, 900, 1300)))
    plan = plan_inputs(catalog, RECIPE, TRAINED, detect, None)
    assert shown_at(plan, 4) == [200, 300, 450, 650]
    assert plan.notes == (
        "4 images of other sizes than in training: shown to the network at 0.5 to 0.5 of their size, where objects "
        "look as in training (estimated)",
    )


def test_the_ground_sampling_distance_decides_where_both_sides_know_it(tmp_path: Path) -> None:
    catalog = folder_of(tmp_path, dots(256, 16), dots(1024, 16))
    on_ground = TrainingScale((256,), 0.5, TRAINED.objects, gsd=0.002)
    plan = plan_inputs(catalog, RECIPE, on_ground, unused, 0.0005)
    assert shown_at(plan, 2) == [64, 256]
    assert plan.notes == (
        "2 images: shown to the network at 0.25 of the size, by the ground sampling distance of the images and of the "
        "training",
    )
    assert plan_inputs(catalog, RECIPE, TRAINED, detect, 0.0005).notes[0].startswith("1 image of 1024 x 1024 px")


def test_a_training_describes_its_scale(sets: Path) -> None:
    catalog = tallymark.read("wheat", sets / "wheat").with_truth()
    scale = training_scale(catalog, RECIPE, 0.6, 0.001)
    assert scale is not None
    assert scale.longer_sides == (192,)
    assert scale.pixel_scale == pytest.approx(128 / 192, abs=1e-4)
    assert scale.gsd == pytest.approx(0.0015)
    median = np.median(np.sqrt(catalog.truth.shapes.area)) * 128 / 192
    assert scale.objects is not None
    assert scale.objects.size == pytest.approx(median, abs=1e-3)
    assert TrainingScale.of(scale.as_dict()) == scale
    undetected = training_scale(catalog, RECIPE, np.nan, None)
    assert undetected is not None
    assert undetected.objects is None
    assert TrainingScale.of(undetected.as_dict()) == undetected
    assert estimate_scale([dots(1024, 16)], unused, undetected, RECIPE, 128) == (undetected.pixel_scale, False)
    assert training_scale(catalog, RECIPE.replace(task="labels"), 0.6, None) is None


def test_training_images_of_many_sizes_have_no_pixel_scale(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    rows = ["image_id,width,height,bbox,source"]
    for side in range(100, 190, 2):
        cv2.imwrite(str(tmp_path / "train" / f"{side}.png"), dots(side, 20))
        rows.append(f'{side},{side},{side},"[20, 20, 20, 20]",x')
    (tmp_path / "train.csv").write_text("\n".join(rows) + "\n")
    scale = training_scale(tallymark.read("wheat", tmp_path).with_truth(), RECIPE, 0.6, None)
    assert scale is not None
    assert scale.pixel_scale is None
    assert len(scale.longer_sides) == 40
    assert scale.knows(151)
    assert not scale.knows(300)
    assert TrainingScale.of({}) is None
