"""Tiling: a recording of any length is given to the network in overlapping stretches of its spectrogram."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tallymark.detector.receptive_field import audio_receptive_field
from tallymark.detector.strides import BLOCK
from tallymark.io.media import flush_on_damage
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.base import Tile

TILE_FRAMES = 8192
"""Frames of a tile whose peaks count; its context comes on top."""


def context_frames(recipe: AudioRecipe) -> int:
    """Frames on either side on which the prediction at a frame depends, in multiples of `BLOCK`.

    That is the receptive field of the network, and the minimum gap between events, within which a stronger peak would
    suppress it.
    """
    network = audio_receptive_field(recipe.depth, recipe.stride)
    return -(-(network + round(recipe.min_event_gap / recipe.hop_seconds)) // BLOCK) * BLOCK


@flush_on_damage
def audio_tiles(blocks: Iterator[np.ndarray], context: int) -> Iterator[Tile]:
    """Tiles of a spectrogram that comes in blocks (bins, frames), of which only a few minutes are kept.

    They begin at multiples of `BLOCK`, and each has `context` frames on either side, so that predictions do not depend
    on where a tile ends.
    """
    size = TILE_FRAMES + 2 * context
    start = 0
    filled = 0
    grid = np.empty(0, np.float32)
    for block in blocks:
        grid = grid if filled else np.empty((len(block), size), np.float32)
        while block.shape[1]:
            count = min(block.shape[1], size - filled)
            grid[:, filled : filled + count] = block[:, :count]
            filled, block = filled + count, block[:, count:]
            if filled == size:
                yield _tile(grid, start, context, TILE_FRAMES + context)
                before, grid = grid, np.empty_like(grid)
                filled, start = 2 * context, start + TILE_FRAMES
                grid[:, :filled] = before[:, TILE_FRAMES:]
    if filled:
        yield _tile(grid[:, :filled], start, context, filled)


def _tile(spectrogram: np.ndarray, start: int, context: int, stop: int) -> Tile:
    """A stretch from frame `start` on, whose peaks before `stop` count; the first one's from its beginning."""
    short = -spectrogram.shape[1] % BLOCK
    padded = np.pad(spectrogram, ((0, 0), (0, short))) if short else spectrogram
    grid = np.ascontiguousarray(padded)[..., None]
    return Tile(grid, start, 0, (context if start else 0, 0, stop, len(spectrogram)))
