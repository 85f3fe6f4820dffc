"""Copy-paste: objects of other images with some of their surroundings, blended into a crop (Ghiasi et al. 2021).

An object is pasted where it covers no other one and where the crop resembles the surroundings that it comes from, so
that ships stay on water. What remains of the difference in colour is subtracted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import cv2
import numpy as np

from tallymark.detector.center_coder import CenterCoder
from tallymark.detector.coders import CODERS
from tallymark.detector.mask_refinement import draw_coverage
from tallymark.geometry import ImageGeometry
from tallymark.geometry.affine import Region, transform_extents, translation
from tallymark.modalities.image.crop import random_linear, warp
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.sample import ImageSample, combine_samples

MARGIN = (3.0, 8.0)
"""Pixels around an object that are pasted with it, fading out: at least, at most. No other object is there."""
DONORS = 5
"""Objects that are tried until one has a place in the crop."""
TRIALS = 8
"""Random places that are compared; the one that resembles the object's surroundings most is used."""
MAX_DIFFERENCE = 45.0
"""Largest difference of the mean plus that of the standard deviation, of 255 levels, at which an object is pasted."""


@dataclass(frozen=True, eq=False)
class Patch:
    """An object cut out of an image with a margin.

    pixels: (height, width, 3) bytes. alpha: (height, width), 1 on the object, falling to 0 within the margin.
    shape, label: the object, in pixels of the patch. margin: (height, width) bytes, not 0 in the margin.
    """

    pixels: np.ndarray
    alpha: np.ndarray
    shape: ImageGeometry
    label: np.ndarray
    margin: np.ndarray

    def surroundings(self, image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean colour (3,) of an image of this size in the margin, and its standard deviation."""
        mean, deviation = cv2.meanStdDev(image, mask=self.margin)
        return mean[:, 0], deviation[:, 0]


def paste_objects(
    rng: np.random.Generator, crop: ImageSample, donor: Callable[[], ImageSample], recipe: ImageRecipe
) -> ImageSample:
    """The crop with objects of other images, `recipe.copy_paste` of them in the mean if all have a place.

    donor: returns a random image that has objects; its shapes are those that the coder of the task regresses.
    """
    for _ in range(rng.poisson(recipe.copy_paste)):
        for _ in range(DONORS):
            patch = cut_patch(rng, donor(), recipe)
            region = None if patch is None else find_place(rng, crop, patch)
            if patch is not None and region is not None:
                crop = _blend(crop, patch, region)
                break
    return crop


def cut_patch(rng: np.random.Generator, sample: ImageSample, recipe: ImageRecipe) -> Patch | None:
    """A random object of an image, flipped, rotated and scaled as crops are.

    None if the edge of the image, where it may be cut off, or another object lies in its margin.
    """
    chosen = rng.integers(len(sample.shapes), size=1)
    linear = random_linear(rng, sample.shapes, recipe)
    margin = rng.uniform(*MARGIN)
    if not _stands_alone(sample, int(chosen[0]), margin / float(np.sqrt(abs(np.linalg.det(linear))))):
        return None
    one = sample.shapes.take(chosen)
    matrix = np.column_stack([linear, np.zeros(2)])
    centre, half = transform_extents(one.extents, matrix)
    first = np.floor(centre - half - margin)[:, 0]
    width, height = (np.ceil(centre + half + margin)[:, 0] - first).astype(int).tolist()
    matrix[:, 2] = -first
    shape, _ = one.transform(matrix, height, width)
    coder = cast(CenterCoder, CODERS[recipe.task])  # labels have no objects to cut out
    outside = draw_coverage(coder.footprint(shape), (height, width))[0] < 0.5
    distance = cv2.distanceTransform(outside.astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    alpha = np.clip((margin - distance) / (margin - 1), 0, 1)
    pixels = warp(sample.data, matrix, height, width)
    return Patch(pixels, alpha, shape, sample.label[chosen], (outside & (alpha > 0)).astype(np.uint8))


def find_place(rng: np.random.Generator, crop: ImageSample, patch: Patch) -> Region | None:
    """Where the crop resembles the surroundings of the patch most and has no object; None if it has no such place."""
    height, width = patch.alpha.shape
    rows, columns = crop.data.shape[:2]
    if height > rows or width > columns:
        return None
    wanted = patch.surroundings(patch.pixels)
    best: tuple[float, Region | None] = (MAX_DIFFERENCE, None)
    for left, top in rng.integers(0, (columns - width + 1, rows - height + 1), (TRIALS, 2)).tolist():
        region = Region(left, top, width, height)
        if _is_free(crop.shapes, region):
            found = patch.surroundings(_window(crop.data, region))
            difference = sum(float(np.abs(own - other).mean()) for own, other in zip(found, wanted, strict=True))
            best = min(best, (difference, region), key=lambda one: one[0])
    return best[1]


def _blend(crop: ImageSample, patch: Patch, region: Region) -> ImageSample:
    """The crop with the patch in a region, in the colours of that region."""
    data = crop.data.copy()
    window = _window(data, region)
    shift = patch.surroundings(window)[0] - patch.surroundings(patch.pixels)[0]
    shifted = np.clip(patch.pixels + shift, 0, 255)
    window[:] = np.rint(window + patch.alpha[..., None] * (shifted - window))
    shape, kept = patch.shape.transform(translation(region.left, region.top), *data.shape[:2])
    pasted = ImageSample.of(data, shape, patch.label[kept])
    return combine_samples(data, [crop, pasted])


def _stands_alone(sample: ImageSample, chosen: int, margin: float) -> bool:
    """Whether an object is inside its image and apart from all others, by their bounding boxes and this margin."""
    apart = np.arange(len(sample.shapes)) == chosen
    inside = True
    for extent, side in zip(sample.shapes.extents, sample.data.shape[1::-1], strict=True):
        reach = extent.half[chosen] + margin
        apart |= np.abs(extent.centre - extent.centre[chosen]) > extent.half + reach
        inside &= bool(reach <= extent.centre[chosen] <= side - reach)
    return inside and bool(apart.all())


def _is_free(shapes: ImageGeometry, region: Region) -> bool:
    """Whether no bounding box of a shape reaches into a region."""
    apart = np.zeros(len(shapes), bool)
    for extent, start, side in zip(shapes.extents, region[:2], region[2:], strict=True):
        apart |= np.abs(extent.centre - (start + side / 2)) >= extent.half + side / 2
    return bool(apart.all())


def _window(image: np.ndarray, region: Region) -> np.ndarray:
    return image[region.top : region.top + region.height, region.left : region.left + region.width]
