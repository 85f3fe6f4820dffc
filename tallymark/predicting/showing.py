"""Showing: every item of a catalog as windows on a grid, read ahead while the network is busy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tallymark.data.audio import read_header
from tallymark.data.catalog import Catalog
from tallymark.data.images import read_picture
from tallymark.data.media import BadMedia
from tallymark.data.spectrogram import Ear, levels
from tallymark.data.threads import ahead, in_background
from tallymark.predicting.frame import squared
from tallymark.predicting.windows import Window, picture_windows, sound_windows
from tallymark.problems import Problem, Problems
from tallymark.recipe import PictureRecipe, Recipe, SoundRecipe


class Shown(NamedTuple):
    """An item as the network sees it; without windows if it cannot be read.

    size: width and height in the item's own units, nan if unknown. by: these units to a pixel of the windows.
    """

    size: tuple[float, float]
    windows: Iterable[Window]
    by: float


NOTHING = Shown((np.nan, np.nan), (), 1.0)


def show(catalog: Catalog, recipe: Recipe, problems: Problems) -> Iterator[Shown]:
    """Each item in turn. One that cannot be read is a problem."""

    def prepare(item: int) -> Shown:
        path = catalog.path(item)
        try:
            if path is None:
                raise BadMedia("missing_media", "no file", "get the file, or leave the item out")
            return _open(path, recipe)
        except BadMedia as bad:
            name, place, expected = catalog.items.ids[item], catalog.place(item), f"a {catalog.medium.noun}"
            problems.add(Problem(bad.kind, place, bad.found, expected, bad.remedy, item=name))
            return NOTHING

    return ahead(prepare, range(len(catalog)), 2, 4)


def ear_of(recipe: SoundRecipe) -> Ear:
    """How a recipe listens."""
    return Ear(**{field.name: getattr(recipe, field.name) for field in fields(Ear)})


def _open(path: Path, recipe: Recipe) -> Shown:
    if isinstance(recipe, SoundRecipe):
        ear, seconds = ear_of(recipe), read_header(path).seconds
        return Shown((seconds, np.nan), in_background(sound_windows(levels(path, ear))), recipe.hop)
    if not isinstance(recipe, PictureRecipe):
        raise ValueError(f"nothing is known of showing {recipe.finds}")
    picture = read_picture(path)
    height, width = picture.shape[:2]
    if recipe.finds == "labels":
        seen = squared(picture, recipe.side)
        whole = Window(seen, 0, 0, (0, 0, seen.shape[1], seen.shape[0]))
        return Shown((width, height), [whole], width / seen.shape[1])
    return Shown((width, height), *picture_windows(picture, recipe.side))
