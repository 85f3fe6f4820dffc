"""Showing: every item of a catalog as windows on a grid, read ahead while the network is busy."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tallymark.core.parallel import in_background, prefetch
from tallymark.core.problems import Problem, Problems
from tallymark.core.recipe import Recipe
from tallymark.data.catalog import Catalog
from tallymark.detector.tta import TTATransform
from tallymark.geometry.poses import Poses
from tallymark.io.audio import read_header
from tallymark.io.images import read_image
from tallymark.io.media import BadMedia
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.audio.spectrogram import SpectrogramConfig, spectrogram
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.image.resize import BLOCK, squared
from tallymark.modalities.lidar.bev import BEVCanvas
from tallymark.modalities.lidar.recipe import LidarRecipe
from tallymark.modalities.lidar.sweeps import UPRIGHT, Scan, bev_grid, bev_input, read_scan
from tallymark.modalities.tiling import Tile, audio_context, audio_tiles, image_tiles


class ModelInput(NamedTuple):
    """An item as the network sees it; without windows if it cannot be read.

    size: width and height in the item's own units, nan if unknown. by: these units to a pixel of the windows.
    stand: where the windows' corner lies in the world, if that is where findings are wanted.
    """

    size: tuple[float, float]
    windows: Iterable[Tile]
    by: float
    stand: Poses | None = None


NOTHING = ModelInput((np.nan, np.nan), (), 1.0)


def model_inputs(catalog: Catalog, recipe: Recipe, problems: Problems) -> Iterator[ModelInput]:
    """Each item in turn. One that cannot be read is a problem."""

    def prepare(item: int) -> ModelInput:
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

    def readable(item: int, windows: Iterable[Tile]) -> Iterator[Tile]:
        """The windows up to where an item turns out to be damaged, which is a problem too."""
        try:
            yield from windows
        except BadMedia as bad:
            note(item, bad)

    def note(item: int, bad: BadMedia) -> None:
        name, place, expected = catalog.items.ids[item], catalog.place(item), f"a {catalog.medium.noun}"
        problems.add(Problem(bad.kind, place, bad.found, expected, bad.remedy, item=name))

    return prefetch(prepare, range(len(catalog)), 2, 4)


def spectrogram_config(recipe: AudioRecipe) -> SpectrogramConfig:
    """How a recipe listens. What would shift times, or give bands that there are not, is a `BadInput`."""
    ear, problems = (
        SpectrogramConfig(**{field.name: getattr(recipe, field.name) for field in fields(SpectrogramConfig)}),
        Problems(),
    )
    for name, seconds, samples in (
        ("window_seconds", ear.window_seconds, ear.width),
        ("hop_seconds", ear.hop_seconds, ear.step),
    ):
        if samples < 1 or abs(seconds * ear.sample_rate - samples) > 1e-6:
            expected = f"a whole number of samples, of which {ear.sample_rate} are a second"
            remedy = f"give {name}={max(samples, 1) / ear.sample_rate:g}"
            problems.add(Problem("bad_option", "recipe", f"{name}={seconds:g}", expected, remedy))
    most = max((ear.width - 1) // 2 - ear.lowest + 1, 0)
    if ear.n_bins > most or ear.n_bins % BLOCK:
        fitting = min(max(round(ear.n_bins / BLOCK), 1), most // BLOCK) * BLOCK
        remedy = (
            f"give n_bins={fitting}"
            if fitting
            else "give a longer window_seconds, a higher sample_rate or a lower fmin"
        )
        expected = (
            f"a multiple of {BLOCK}, at most {most}, from fmin={ear.fmin:g} up to half of sample_rate={ear.sample_rate}"
        )
        problems.add(Problem("bad_option", "recipe", f"n_bins={ear.n_bins}", expected, remedy))
    problems.raise_if_any()
    return ear


def _from_above(scan: Scan, recipe: LidarRecipe) -> ModelInput:
    """All that is seen around a vehicle as one window, from whose corner the world is reached."""
    side = bev_grid(recipe).side
    window = Tile(scan.points, 0, 0, (0, 0, side, side))
    corner = Poses.of(UPRIGHT, (-recipe.bev_range, -recipe.bev_range, 0))
    return ModelInput(
        (2 * recipe.bev_range, 2 * recipe.bev_range), [window], recipe.voxel_size, corner.then(scan.stand)
    )


def drawer(recipe: Recipe) -> Callable[[np.ndarray], np.ndarray]:
    """How what a window holds becomes a grid. Points are drawn by the thread that shows them, on a board of its own."""
    if not isinstance(recipe, LidarRecipe):
        return lambda grid: grid
    own, bird = threading.local(), bev_grid(recipe)

    def draw(points: np.ndarray) -> np.ndarray:
        if not hasattr(own, "board"):
            own.board = BEVCanvas(bird)
        return bev_input(points, recipe, board=own.board)

    return draw


def turned_by(grid: np.ndarray, view: TTATransform, recipe: Recipe) -> np.ndarray:
    """A grid, as seen by a view."""
    if isinstance(recipe, LidarRecipe) and recipe.bev_encoder == "pillars":
        return view.apply_points(grid, bev_grid(recipe).side)
    return view.apply(grid)


def _open(path: Path, recipe: Recipe) -> ModelInput:
    if isinstance(recipe, AudioRecipe):
        ear, seconds = spectrogram_config(recipe), read_header(path).seconds
        windows = audio_tiles(spectrogram(path, ear), audio_context(recipe))
        return ModelInput((seconds, np.nan), in_background(windows), recipe.hop_seconds)
    if not isinstance(recipe, ImageRecipe):
        raise ValueError(f"nothing is known of showing {recipe.task}")
    picture = read_image(path)
    height, width = picture.shape[:2]
    if recipe.task == "labels":
        seen = squared(picture, recipe.image_size)
        whole = Tile(seen, 0, 0, (0, 0, seen.shape[1], seen.shape[0]))
        return ModelInput((width, height), [whole], width / seen.shape[1])
    return ModelInput((width, height), *image_tiles(picture, recipe.image_size))
