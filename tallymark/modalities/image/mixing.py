"""Mosaic, mixup and cutmix: crops combined from several images.

Objects count in full while enough of them is visible; labels of whole images count by their share of the crop.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from tallymark.geometry.affine import Region, translation
from tallymark.modalities.image.crop import random_crop
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.sample import ImageSample, combine_samples

OBJECT_BETA = 8.0
"""Both parameters of mixup's Beta distribution for detection: both images stay visible."""
LABEL_BETA = 0.4
"""The same for classification: mostly, one image prevails."""


def mosaic(rng: np.random.Generator, samples: Sequence[ImageSample], recipe: ImageRecipe) -> ImageSample:
    """A crop put together from crops of four samples, which meet at a random point of its central half."""
    side = recipe.crop_size
    x, y = rng.integers(side // 4, side - side // 4 + 1, 2).tolist()
    regions = [
        Region(0, 0, x, y),
        Region(x, 0, side - x, y),
        Region(0, y, x, side - y),
        Region(x, y, side - x, side - y),
    ]
    image = np.empty((side, side, 3), np.uint8)
    placed = []
    for region, sample in zip(rng.permutation(regions).tolist(), samples, strict=True):
        left, top, width, height = region
        if width and height:
            crop = random_crop(rng, sample, recipe, height, width)
            image[top : top + height, left : left + width] = crop.data
            placed.append(_place(crop, left, top, side).scale_weights(_weight(sample, width * height / side**2)))
    return combine_samples(image, placed)


def mixup(rng: np.random.Generator, first: ImageSample, second: ImageSample) -> ImageSample:
    """The weighted mean of two crops of one size (Zhang et al.: mixup, 2017)."""
    beta = OBJECT_BETA if first.shapes.localized else LABEL_BETA
    share = rng.beta(beta, beta)
    image = cv2.addWeighted(first.data, share, second.data, 1 - share, 0)
    weighted = [first.scale_weights(_weight(first, share)), second.scale_weights(_weight(second, 1 - share))]
    return combine_samples(image, weighted)


def cutmix(rng: np.random.Generator, first: ImageSample, second: ImageSample) -> ImageSample:
    """The first crop with a rectangle replaced by that of the second (Yun et al.: CutMix, 2019)."""
    side = first.data.shape[0]
    region = _random_region(rng, side)
    left, top, width, height = region
    image = first.data.copy()
    image[top : top + height, left : left + width] = second.data[top : top + height, left : left + width]
    share = width * height / side**2
    shapes, kept = first.shapes.erase(region)
    background = ImageSample(image, shapes, first.label[kept], first.weight[kept])
    shapes, kept = second.shapes.transform(translation(-left, -top), height, width)
    pasted = _place(ImageSample(image, shapes, second.label[kept], second.weight[kept]), left, top, side)
    weighted = [background.scale_weights(_weight(first, 1 - share)), pasted.scale_weights(_weight(second, share))]
    return combine_samples(image, weighted)


def _place(crop: ImageSample, left: int, top: int, side: int) -> ImageSample:
    """The crop with its objects in coordinates of the square image that it becomes a region of."""
    shapes, kept = crop.shapes.transform(translation(left, top), side, side)
    return ImageSample(crop.data, shapes, crop.label[kept], crop.weight[kept])


def _random_region(rng: np.random.Generator, side: int) -> Region:
    """A rectangle of a square crop, with uniform share of the area and uniform position."""
    sides = np.sqrt(rng.random()) * np.exp(rng.uniform(-0.5, 0.5) * np.array([1, -1]))
    width, height = np.clip(np.rint(sides * side), 1, side).astype(int).tolist()
    left, top = (int(rng.integers(0, side - size + 1)) for size in (width, height))
    return Region(left, top, width, height)


def _weight(sample: ImageSample, share: float) -> float:
    return 1.0 if sample.shapes.localized else share
