"""Showing: every item of a catalog as windows on a grid, read ahead while the network is busy."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tallymark.core.parallel import ahead, in_background
from tallymark.core.problems import Problem, Problems
from tallymark.core.recipe import LidarRecipe, PictureRecipe, Recipe, SoundRecipe
from tallymark.data.catalog import Catalog
from tallymark.detector.tta import View
from tallymark.geometry.poses import Poses
from tallymark.io.audio import read_header
from tallymark.io.images import read_picture
from tallymark.io.media import BadMedia
from tallymark.modalities.audio.spectrogram import Ear, levels
from tallymark.modalities.image.resize import BLOCK, squared
from tallymark.modalities.lidar.bev import Board
from tallymark.modalities.lidar.sweeps import UPRIGHT, Scan, bird_of, read_scan, seen_from_above
from tallymark.modalities.tiling import Window, heard_around, picture_windows, sound_windows


class Shown(NamedTuple):
    """An item as the network sees it; without windows if it cannot be read.

    size: width and height in the item's own units, nan if unknown. by: these units to a pixel of the windows.
    stand: where the windows' corner lies in the world, if that is where findings are wanted.
    """

    size: tuple[float, float]
    windows: Iterable[Window]
    by: float
    stand: Poses | None = None


NOTHING = Shown((np.nan, np.nan), (), 1.0)


def show(catalog: Catalog, recipe: Recipe, problems: Problems) -> Iterator[Shown]:
    """Each item in turn. One that cannot be read is a problem."""

    def prepare(item: int) -> Shown:
        path = catalog.path(item)
        try:
            if isinstance(recipe, LidarRecipe):
                return _from_above(read_scan(catalog, item, recipe.sweeps), recipe)
            if path is None:
                raise BadMedia("missing_media", "no file", "get the file, or leave the item out")
            shown = _open(path, recipe)
            return shown._replace(windows=readable(item, shown.windows))
        except BadMedia as bad:
            note(item, bad)
            return NOTHING

    def readable(item: int, windows: Iterable[Window]) -> Iterator[Window]:
        """The windows up to where an item turns out to be damaged, which is a problem too."""
        try:
            yield from windows
        except BadMedia as bad:
            note(item, bad)

    def note(item: int, bad: BadMedia) -> None:
        name, place, expected = catalog.items.ids[item], catalog.place(item), f"a {catalog.medium.noun}"
        problems.add(Problem(bad.kind, place, bad.found, expected, bad.remedy, item=name))

    return ahead(prepare, range(len(catalog)), 2, 4)


def ear_of(recipe: SoundRecipe) -> Ear:
    """How a recipe listens. What would shift times, or give bands that there are not, is a `BadInput`."""
    ear, problems = Ear(**{field.name: getattr(recipe, field.name) for field in fields(Ear)}), Problems()
    for name, seconds, samples in (("window", ear.window, ear.width), ("hop", ear.hop, ear.step)):
        if samples < 1 or abs(seconds * ear.hertz - samples) > 1e-6:
            expected = f"a whole number of samples, of which {ear.hertz} are a second"
            remedy = f"give {name}={max(samples, 1) / ear.hertz:g}"
            problems.add(Problem("bad_option", "recipe", f"{name}={seconds:g}", expected, remedy))
    most = max((ear.width - 1) // 2 - ear.lowest + 1, 0)
    if ear.bands > most or ear.bands % BLOCK:
        fitting = min(max(round(ear.bands / BLOCK), 1), most // BLOCK) * BLOCK
        remedy = f"give bands={fitting}" if fitting else "give a longer window, a higher hertz or a lower low"
        expected = f"a multiple of {BLOCK}, at most {most}, from low={ear.low:g} up to half of hertz={ear.hertz}"
        problems.add(Problem("bad_option", "recipe", f"bands={ear.bands}", expected, remedy))
    problems.raise_if_any()
    return ear


def _from_above(scan: Scan, recipe: LidarRecipe) -> Shown:
    """All that is seen around a vehicle as one window, from whose corner the world is reached."""
    side = bird_of(recipe).side
    window = Window(scan.points, 0, 0, (0, 0, side, side))
    corner = Poses.of(UPRIGHT, (-recipe.reach, -recipe.reach, 0))
    return Shown((2 * recipe.reach, 2 * recipe.reach), [window], recipe.cell, corner.then(scan.stand))


def drawer(recipe: Recipe) -> Callable[[np.ndarray], np.ndarray]:
    """How what a window holds becomes a grid. Points are drawn by the thread that shows them, on a board of its own."""
    if not isinstance(recipe, LidarRecipe):
        return lambda grid: grid
    own, bird = threading.local(), bird_of(recipe)

    def draw(points: np.ndarray) -> np.ndarray:
        if not hasattr(own, "board"):
            own.board = Board(bird)
        return seen_from_above(points, recipe, board=own.board)

    return draw


def turned_by(grid: np.ndarray, view: View, recipe: Recipe) -> np.ndarray:
    """A grid, as seen by a view."""
    if isinstance(recipe, LidarRecipe) and recipe.reader == "pillars":
        return view.of_points(grid, bird_of(recipe).side)
    return view.of(grid)


def _open(path: Path, recipe: Recipe) -> Shown:
    if isinstance(recipe, SoundRecipe):
        ear, seconds = ear_of(recipe), read_header(path).seconds
        windows = sound_windows(levels(path, ear), heard_around(recipe))
        return Shown((seconds, np.nan), in_background(windows), recipe.hop)
    if not isinstance(recipe, PictureRecipe):
        raise ValueError(f"nothing is known of showing {recipe.finds}")
    picture = read_picture(path)
    height, width = picture.shape[:2]
    if recipe.finds == "labels":
        seen = squared(picture, recipe.side)
        whole = Window(seen, 0, 0, (0, 0, seen.shape[1], seen.shape[0]))
        return Shown((width, height), [whole], width / seen.shape[1])
    return Shown((width, height), *picture_windows(picture, recipe.side))
