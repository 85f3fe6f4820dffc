"""Recordings: streamed as a spectrogram, in tiles that overlap by the receptive field of the network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from tallymark.core.parallel import in_background
from tallymark.core.problems import BadInput, Problem
from tallymark.data.catalog import Catalog, LabelledCatalog
from tallymark.detector.tta import TTATransform
from tallymark.io.audio import RECORDING, read_header
from tallymark.modalities.audio.config import spectrogram_config
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.audio.spectrogram import MAX_LEVEL, MIN_LEVEL, spectrogram
from tallymark.modalities.audio.tiling import TILE_FRAMES, audio_tiles, context_frames
from tallymark.modalities.base import (
    BLANK,
    Dataset,
    InputPlan,
    ModelInput,
    Probe,
    Tile,
    fingerprint_file,
    identity,
    path_of,
)
from tallymark.synthetic.paint import fractal

if TYPE_CHECKING:
    from tallymark.detector.encoders import Encoder


class AudioModality:
    """Recordings of any length and sample rate, as spectrograms (bins, frames, 1)."""

    name = "audio"
    medium = RECORDING
    linking_tables = ()
    recipe_type = AudioRecipe

    def validate(self, recipe: AudioRecipe) -> None:
        spectrogram_config(recipe)
        if recipe.tta != 1:
            found, expected = f"tta={recipe.tta}", "tta=1: time has one direction only"
            raise BadInput(Problem("bad_option", "recipe", found, expected, "leave it out"))

    def open(self, catalog: Catalog, item: int, recipe: AudioRecipe) -> ModelInput:
        path = path_of(catalog, item)
        config = spectrogram_config(recipe)
        seconds = read_header(path).seconds
        tiles = audio_tiles(spectrogram(path, config), context_frames(recipe))
        if config.frames(seconds) > TILE_FRAMES:  # a thread makes those after the first, once that is taken
            tiles = chain(islice(tiles, 1), in_background(tiles))
        return ModelInput((seconds, np.nan), tiles, recipe.hop_seconds)

    def rasterizer(self, recipe: AudioRecipe) -> Callable[[np.ndarray], np.ndarray]:
        return identity

    def blank_tile(self, recipe: AudioRecipe) -> Tile:
        bins = spectrogram_config(recipe).n_bins
        return Tile(np.zeros((bins, BLANK, 1), np.float32), 0, 0, (0, 0, BLANK, bins))

    def tile_shape(self, recipe: AudioRecipe) -> tuple[int, int, int]:
        """That of a tile within a long recording."""
        return spectrogram_config(recipe).n_bins, TILE_FRAMES + 2 * context_frames(recipe), 1

    def synthetic_tile(self, recipe: AudioRecipe, rng: np.random.Generator) -> np.ndarray:
        bins, frames, _ = self.tile_shape(recipe)
        levels = fractal(rng, bins, frames, coarse=32, fine=2)
        return (MIN_LEVEL + (MAX_LEVEL - MIN_LEVEL) * levels)[..., None]

    def apply_tta(self, grid: np.ndarray, transform: TTATransform, recipe: AudioRecipe) -> np.ndarray:
        return transform.apply(grid)

    def peak_distance(self, recipe: AudioRecipe) -> int:
        return max(round(recipe.min_event_gap / recipe.hop_seconds / recipe.stride), 1)

    def encoder(self, recipe: AudioRecipe) -> Encoder:
        from tallymark.detector.encoders import GridEncoder

        return GridEncoder(1)

    def dataset(self, catalog: Catalog, recipe: AudioRecipe) -> Dataset:
        from tallymark.modalities.audio.clip_dataset import ClipDataset
        from tallymark.modalities.audio.dataset import AudioDataset

        weak = catalog.with_truth().truth.weak
        return ClipDataset(catalog, recipe) if weak else AudioDataset(catalog, recipe)

    def fingerprint(self, catalog: Catalog, item: int, recipe: AudioRecipe) -> list[object]:
        return [catalog.items.ids[item], fingerprint_file(catalog.path(item))]

    def training_scale(
        self, catalog: LabelledCatalog, recipe: AudioRecipe, scores: np.ndarray, gsd: float | None
    ) -> Mapping[str, object]:
        return {}

    def check_scale(self, scale: Mapping[str, Any]) -> None:
        pass

    def plan_inputs(
        self, catalog: Catalog, recipe: AudioRecipe, scale: Mapping[str, Any], probe: Probe, gsd: float | None
    ) -> InputPlan:
        return InputPlan()

    def missing_inputs(self, catalog: Catalog, recipe: AudioRecipe) -> dict[str, int]:
        return {}


MODALITY = AudioModality()
