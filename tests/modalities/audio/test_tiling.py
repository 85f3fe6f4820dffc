"""Tiles of recordings: predictions do not depend on where a tile ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import tallymark
from tallymark.core.problems import EVERY, Problems
from tallymark.detector.strides import BLOCK
from tallymark.inference.pipeline import infer
from tallymark.io.media import BadMedia
from tallymark.modalities.audio import tiling
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.audio.tiling import audio_tiles, context_frames
from tallymark.training.adapter import as_model
from tallymark.training.network import make_network

RECIPE = AudioRecipe().replace(width=4, neck=8, clip_seconds=4.096)


def blocks_of(spectrogram: np.ndarray, *lengths: int) -> Iterator[np.ndarray]:
    """A spectrogram (bins, frames) in blocks of these lengths, again and again."""
    start = 0
    while start < spectrogram.shape[1]:
        for length in lengths:
            yield spectrogram[:, start : start + length]
            start += length


@pytest.mark.parametrize("frames", [1, 64, 100, 128, 129, 1000])
@pytest.mark.parametrize("lengths", [(1,), (7, 50), (300,), (10_000,)])
def test_every_frame_counts_in_exactly_one_tile(
    frames: int, lengths: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiling, "TILE_FRAMES", 64)
    context = 32
    spectrogram = np.random.default_rng(0).random((4, frames), dtype=np.float32)
    counted = np.zeros(frames, int)
    for tile in audio_tiles(blocks_of(spectrogram, *lengths), context):
        left, top, right, bottom = tile.inside
        assert (top, bottom, tile.y) == (0, 4, 0)
        assert tile.data.shape[1] % BLOCK == 0
        assert tile.x % BLOCK == 0
        assert left == (context if tile.x else 0)
        own = spectrogram[:, tile.x : tile.x + tile.data.shape[1]]
        assert (tile.data[:, : own.shape[1], 0] == own).all()
        assert (tile.data[:, own.shape[1] :] == 0).all()
        counted[tile.x + left : tile.x + right] += 1
    assert (counted == 1).all()


def test_frames_before_the_damage_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiling, "TILE_FRAMES", 64)

    def damaged() -> Iterator[np.ndarray]:
        yield np.ones((4, 150), np.float32)
        raise BadMedia("corrupt_media", "damage")

    tiles = audio_tiles(damaged(), 32)
    read = [next(tiles), next(tiles)]
    with pytest.raises(BadMedia):
        next(tiles)
    assert read[-1].x + read[-1].inside[2] == 150


def test_predictions_do_not_depend_on_tiles(sets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = tallymark.read("upcalls", sets / "upcalls")
    network = make_network(RECIPE, 1).eval()
    torch.nn.init.normal_(network.head.heatmap.weight, std=1.0)
    torch.nn.init.zeros_(network.head.heatmap.bias)
    results = []
    for frames in (1 << 20, 64, 192):
        monkeypatch.setattr(tiling, "TILE_FRAMES", frames)
        results.append(infer(catalog, [as_model(network)], RECIPE, Problems(EVERY)).objects)
    whole = results[0]
    assert len(whole) > len(catalog)
    for tiled in results[1:]:
        assert (tiled.counts == whole.counts).all()
        assert (tiled.item == whole.item).all()
        order, tiled_order = (np.lexsort([one.shapes.time, one.item]) for one in (whole, tiled))
        assert np.allclose(whole.shapes.time[order], tiled.shapes.time[tiled_order], atol=1e-3)
        assert np.allclose(whole.scores[order], tiled.scores[tiled_order], atol=1e-4)


@pytest.mark.parametrize(("depth", "gap"), [(1, 1.0), (2, 1.0), (4, 3.0)])
def test_the_context_is_the_receptive_field_and_the_gap(depth: int, gap: float) -> None:
    """A changed frame changes outputs within `context_frames` of it, less the gap, and nearly that far."""
    recipe = RECIPE.replace(depth=depth, min_event_gap=gap)
    network = make_network(recipe, 1).eval().double()
    context = context_frames(recipe)
    network_context = context - round(gap / recipe.hop_seconds)
    original = torch.from_numpy(np.random.default_rng(0).standard_normal((1, 1, 96, 4 * context)))
    reached = 0
    for frame in range(2 * context, 2 * context + BLOCK):  # all positions that a frame can have in a block
        changed = original.clone()
        changed[..., frame] += 9
        with torch.inference_mode():
            before, after = (network(spectrogram)["heat"][0, 0, 0] for spectrogram in (original, changed))
        cells = np.flatnonzero((before != after).numpy())
        reached = max(reached, frame - cells.min() * recipe.stride, (cells.max() + 1) * recipe.stride - frame)
    assert network_context - BLOCK - 16 <= reached <= network_context
