"""Copy-paste: objects of other images with some of their surroundings, blended into a crop (Ghiasi et al. 2021).

An object is pasted where it covers no other one and where the crop resembles the surroundings that it comes from, so
that ships stay on water. What remains of the difference in colour is subtracted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from tallymark.detector.coders import CODERS
from tallymark.detector.mask_refinement import draw_coverage
from tallymark.geometry import ImageGeometry
from tallymark.geometry.affine import Region, transform_extents, translation
from tallymark.modalities.image.crop import random_linear, warp
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.sample import ImageSample, combine_samples

MARGIN = (4.0, 10.0)
"""Pixels around an object that are pasted with it, fading out: at least, at most."""
GAP = 2.0
"""Pixels between the bounding boxes of a pasted object and of any other."""
TRIALS = 8
"""Random places that are compared; the one that resembles the object's surroundings most is used."""
MAX_DIFFERENCE = 45.0
"""Largest difference of the mean plus that of the standard deviation, of 255 levels, at which an object is pasted."""


@dataclass(frozen=True, eq=False)
class Patch:
    """An object cut out of an image.

    pixels: (height, width, 3) bytes. alpha: (height, width), 1 on the object, falling to 0 within the margin.
    shape, label: the object, in pixels of the patch. mean, spread: (3,) colour of its surroundings, and its deviation.
    """

    pixels: np.ndarray
    alpha: np.ndarray
    shape: ImageGeometry
    label: np.ndarray
    mean: np.ndarray
    spread: np.ndarray


def paste_objects(
    rng: np.random.Generator, crop: ImageSample, donor: Callable[[], ImageSample], recipe: ImageRecipe
) -> ImageSample:
    """The crop with objects of other images, `recipe.copy_paste` of them in the mean if all have a place.

    donor: returns a random image that has objects; its shapes are those that the coder of the task regresses.
    """
    for _ in range(rng.poisson(recipe.copy_paste)):
        patch = cut_patch(rng, donor(), recipe)
        region = None if patch is None else find_place(rng, crop, patch)
        if patch is not None and region is not None:
            crop = _blend(crop, patch, region)
    return crop


def cut_patch(rng: np.random.Generator, sample: ImageSample, recipe: ImageRecipe) -> Patch | None:
    """A random object of an image, flipped, rotated and scaled as crops are.

    None if it touches the edge of the image, where it may be cut off, or another object, of which a part would be
    pasted too.
    """
    chosen = rng.integers(len(sample.shapes), size=1)
    linear = random_linear(rng, sample.shapes, recipe)
    margin = rng.uniform(*MARGIN)
    if not _stands_alone(sample, int(chosen[0])):
        return None
    one = sample.shapes.take(chosen)
    matrix = np.column_stack([linear, np.zeros(2)])
    centre, half = transform_extents(one.extents, matrix)
    first = np.floor(centre - half - margin)[:, 0]
    width, height = (np.ceil(centre + half + margin)[:, 0] - first).astype(int).tolist()
    matrix[:, 2] = -first
    shape, _ = one.transform(matrix, height, width)
    outside = draw_coverage(CODERS[recipe.task].footprint(shape), (height, width))[0] < 0.5
    distance = cv2.distanceTransform(outside.astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    pixels = warp(sample.data, matrix, height, width)
    ring = (outside & (distance <= margin)).astype(np.uint8)
    mean, spread = cv2.meanStdDev(pixels, mask=ring)
    alpha = np.clip((margin - distance) / (margin - 1), 0, 1)
    return Patch(pixels, alpha, shape, sample.label[chosen], mean[:, 0], spread[:, 0])


def find_place(rng: np.random.Generator, crop: ImageSample, patch: Patch) -> Region | None:
    """Where the crop resembles the surroundings of the patch most and has no object; None if it has no such place."""
    height, width = patch.alpha.shape
    rows, columns = crop.data.shape[:2]
    if height > rows or width > columns:
        return None
    best: tuple[float, Region | None] = (MAX_DIFFERENCE, None)
    for left, top in rng.integers(0, (columns - width + 1, rows - height + 1), (TRIALS, 2)).tolist():
        region = Region(left, top, width, height)
        if _is_free(crop.shapes, patch.shape, region):
            mean, spread = cv2.meanStdDev(_window(crop.data, region))
            difference = np.abs(mean[:, 0] - patch.mean).mean() + np.abs(spread[:, 0] - patch.spread).mean()
            best = min(best, (float(difference), region), key=lambda one: one[0])
    return best[1]


def _blend(crop: ImageSample, patch: Patch, region: Region) -> ImageSample:
    """The crop with the patch in a region, in the colours of that region."""
    data = crop.data.copy()
    window = _window(data, region)
    mean = cv2.meanStdDev(window)[0][:, 0]
    shifted = np.clip(patch.pixels + (mean - patch.mean), 0, 255)
    window[:] = np.rint(window + patch.alpha[..., None] * (shifted - window))
    shape, kept = patch.shape.transform(translation(region.left, region.top), *data.shape[:2])
    pasted = ImageSample.of(data, shape, patch.label[kept])
    return combine_samples(data, [crop, pasted])


def _stands_alone(sample: ImageSample, chosen: int) -> bool:
    """Whether an object is inside its image and apart from all others, by their bounding boxes."""
    apart = np.zeros(len(sample.shapes), bool)
    inside = True
    for extent, side in zip(sample.shapes.extents, sample.data.shape[1::-1], strict=True):
        distance = np.abs(extent.centre - extent.centre[chosen])
        apart |= distance > extent.half + extent.half[chosen] + GAP
        reach = extent.half[chosen] + GAP
        inside &= bool(reach <= extent.centre[chosen] <= side - reach)
    apart[chosen] = True
    return inside and bool(apart.all())


def _is_free(shapes: ImageGeometry, pasted: ImageGeometry, region: Region) -> bool:
    """Whether a shape, moved into a region, stays apart from the others, by their bounding boxes."""
    apart = np.zeros(len(shapes), bool)
    for extent, own, start in zip(shapes.extents, pasted.extents, (region.left, region.top), strict=True):
        apart |= np.abs(extent.centre - own.centre - start) > extent.half + own.half + GAP
    return bool(apart.all())


def _window(image: np.ndarray, region: Region) -> np.ndarray:
    return image[region.top : region.top + region.height, region.left : region.left + region.width]
