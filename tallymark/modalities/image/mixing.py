"""Windows made of several: four that meet at a point, two seen through each other, one pasted over another.

Objects of every part count in full while enough of them is seen; labels of whole pictures count by their share.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from tallymark.geometry.affine import Region, translation
from tallymark.modalities.image.crop import cut
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.sample import ImageSample, gather

EVEN, UNEVEN = 8.0, 0.4
"""Both parameters of the Beta distribution of a blend: with objects, both pictures must be seen; with labels, one
picture mostly prevails."""


def mosaic(rng: np.random.Generator, samples: Sequence[ImageSample], recipe: ImageRecipe) -> ImageSample:
    """A window of four parts, each cut from one of four samples, that meet somewhere in its middle half."""
    side = recipe.crop_size
    x, y = rng.integers(side // 4, side - side // 4 + 1, 2).tolist()
    parts = [Region(0, 0, x, y), Region(x, 0, side - x, y), Region(0, y, x, side - y), Region(x, y, side - x, side - y)]
    window, placed = np.empty((side, side, 3), np.uint8), []
    for part, sample in zip(rng.permutation(parts).tolist(), samples, strict=True):
        left, top, width, height = part
        if width and height:
            piece = cut(rng, sample, recipe, height, width)
            window[top : top + height, left : left + width] = piece.picture
            placed.append(_put(piece, left, top, side).weighed(_weight(sample, width * height / side**2)))
    return gather(window, placed)


def mixup(rng: np.random.Generator, first: ImageSample, second: ImageSample) -> ImageSample:
    """Two windows of one size seen through each other."""
    spread = EVEN if first.shapes.localized else UNEVEN
    share = rng.beta(spread, spread)
    picture = cv2.addWeighted(first.picture, share, second.picture, 1 - share, 0)
    return gather(picture, [first.weighed(_weight(first, share)), second.weighed(_weight(second, 1 - share))])


def cutmix(rng: np.random.Generator, first: ImageSample, second: ImageSample) -> ImageSample:
    """The first window with a rectangle of the second pasted at its place."""
    side = first.picture.shape[0]
    part = _rectangle(rng, side)
    left, top, width, height = part
    picture = first.picture.copy()
    picture[top : top + height, left : left + width] = second.picture[top : top + height, left : left + width]
    share = width * height / side**2
    shapes, kept = first.shapes.erase(part)
    under = ImageSample(picture, shapes, first.label[kept], first.weight[kept])
    shapes, kept = second.shapes.transform(translation(-left, -top), height, width)
    over = _put(ImageSample(picture, shapes, second.label[kept], second.weight[kept]), left, top, side)
    return gather(picture, [under.weighed(_weight(first, 1 - share)), over.weighed(_weight(second, share))])


def _put(piece: ImageSample, left: int, top: int, side: int) -> ImageSample:
    """The piece with its objects where they are in the window that it is a part of."""
    shapes, kept = piece.shapes.transform(translation(left, top), side, side)
    return ImageSample(piece.picture, shapes, piece.label[kept], piece.weight[kept])


def _rectangle(rng: np.random.Generator, side: int) -> Region:
    """A part of a window; its share of the area is uniform, its place is anywhere."""
    sides = np.sqrt(rng.random()) * np.exp(rng.uniform(-0.5, 0.5) * np.array([1, -1]))
    width, height = np.clip(np.rint(sides * side), 1, side).astype(int).tolist()
    left, top = (int(rng.integers(0, side - size + 1)) for size in (width, height))
    return Region(left, top, width, height)


def _weight(sample: ImageSample, share: float) -> float:
    return 1.0 if sample.shapes.localized else share
