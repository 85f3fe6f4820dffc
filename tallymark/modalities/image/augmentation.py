"""From pictures to the windows that a model is trained on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tallymark.modalities.image.crop import cut
from tallymark.modalities.image.mixing import cutmix, mixup, mosaic
from tallymark.modalities.image.photometric import change_light
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.sample import ImageSample


def make_window(
    rng: np.random.Generator,
    load: Callable[[int], ImageSample],
    index: int,
    count: int,
    recipe: ImageRecipe,
    *,
    calm: bool = False,
) -> ImageSample:
    """A window of `recipe.crop` pixels across and down of picture `index`, changed by chance as the recipe says.

    `load` gives each of the `count` pictures at the size that the model is to see, and all with one kind of shapes;
    others than `index` are loaded only to be mixed in. `calm`: without mosaic and mixing. All chance comes from `rng`.
    """
    window = _mixed(rng, load, index, count, recipe) if not calm else _plain(rng, load(index), recipe)
    return replace(window, picture=np.ascontiguousarray(change_light(rng, window.picture, recipe)))


def _mixed(
    rng: np.random.Generator, load: Callable[[int], ImageSample], index: int, count: int, recipe: ImageRecipe
) -> ImageSample:
    def other() -> ImageSample:
        return load((index + int(rng.integers(1, count))) % count if count > 1 else index)

    if rng.random() < recipe.mosaic:
        window = mosaic(rng, [load(index), other(), other(), other()], recipe)
    else:
        window = _plain(rng, load(index), recipe)
    draw = rng.random()  # one for both, since a window is blended or pasted on, never both
    if draw < recipe.mixup:
        return mixup(rng, window, _plain(rng, other(), recipe))
    if draw < recipe.mixup + recipe.cutmix:
        return cutmix(rng, window, _plain(rng, other(), recipe))
    return window


def _plain(rng: np.random.Generator, sample: ImageSample, recipe: ImageRecipe) -> ImageSample:
    return cut(rng, sample, recipe, recipe.crop_size, recipe.crop_size)
