"""Augmented training crops of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tallymark.modalities.image.copy_paste import paste_objects
from tallymark.modalities.image.crop import random_crop
from tallymark.modalities.image.mixing import cutmix, mixup, mosaic
from tallymark.modalities.image.photometric import photometric_distort
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.sample import ImageSample

Load = Callable[[int], ImageSample]


def augment_image(
    rng: np.random.Generator,
    load: Load,
    index: int,
    count: int,
    recipe: ImageRecipe,
    *,
    mix: bool = True,
    donors: Sequence[int] | np.ndarray = (),
) -> ImageSample:
    """A random square crop of `recipe.crop_size` pixels of image `index`, augmented as the recipe says.

    Parameters
    ----------
    load: returns each of the `count` images at the network's resolution, all with one class of shapes; images other
        than `index` are loaded only to be mixed in.
    mix: with mosaic, mixup, cutmix and pasted objects.
    donors: numbers of the images that have objects to paste.
    """
    crop = _mixed_crop(rng, load, index, count, recipe) if mix else _square_crop(rng, load(index), recipe)
    if mix and recipe.copy_paste and len(donors):
        crop = paste_objects(rng, crop, lambda: load(int(rng.choice(donors))), recipe)
    return replace(crop, data=np.ascontiguousarray(photometric_distort(rng, crop.data, recipe)))


def _mixed_crop(rng: np.random.Generator, load: Load, index: int, count: int, recipe: ImageRecipe) -> ImageSample:
    def other() -> ImageSample:
        return load((index + int(rng.integers(1, count))) % count if count > 1 else index)

    if rng.random() < recipe.mosaic:
        crop = mosaic(rng, [load(index), other(), other(), other()], recipe)
    else:
        crop = _square_crop(rng, load(index), recipe)
    draw = rng.random()  # one for both, since mixup and cutmix exclude each other
    if draw < recipe.mixup:
        return mixup(rng, crop, _square_crop(rng, other(), recipe))
    if draw < recipe.mixup + recipe.cutmix:
        return cutmix(rng, crop, _square_crop(rng, other(), recipe))
    return crop


def _square_crop(rng: np.random.Generator, sample: ImageSample, recipe: ImageRecipe) -> ImageSample:
    return random_crop(rng, sample, recipe, recipe.crop_size, recipe.crop_size)
