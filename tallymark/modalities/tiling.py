"""Windows: what of an item is shown to a network at a time. What is large or long is shown in parts that overlap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tallymark.io.media import flush_on_damage
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.image.resize import BLOCK, fitted, padded

LARGEST = 1536
"""Pixels across and down that are shown at once: more costs memory and gains nothing."""
TILE_FRAMES = 8192
"""Frames of a recording that are told at once."""
OVERLAP = 256
"""Pixels that neighbouring windows share, so that each thing is seen with what is around it in one of them."""


class Tile(NamedTuple):
    """A part of an item as the network sees it.

    grid: (height, width, channels) in whole blocks; of a sweep its points, by which such a grid is drawn later.
    x, y: where its upper left corner lies, in the network's pixels.
    inside: left, top, right and bottom of what is told from this window; beyond, another one sees better.
    """

    grid: np.ndarray
    x: int
    y: int
    inside: tuple[int, int, int, int]


def image_tiles(picture: np.ndarray, side: int) -> tuple[list[Tile], float]:
    """The windows on a picture whose longer side is made `side`, and the picture's own pixels to one of these."""
    seen = fitted(picture, side)
    height, width = seen.shape[:2]
    shown = [
        Tile(padded(seen[top:bottom, left:right]), left, top, (from_x - left, from_y - top, to_x - left, to_y - top))
        for top, bottom, from_y, to_y in tile_spans(height, LARGEST, OVERLAP)
        for left, right, from_x, to_x in tile_spans(width, LARGEST, OVERLAP)
    ]
    return shown, max(picture.shape[:2]) / max(height, width)  # the shorter side is rounded


def audio_context(recipe: AudioRecipe) -> int:
    """Frames on either side of a moment on which it depends what is told of it, in whole blocks.

    That is what the network of sound sees, by the convolutions of its stages, of the pyramid and of the head, and up
    to a cell of its coarsest stage more; and the gap, within which a stronger peak would hide it.
    """
    network = 1 + 45 + 60 * (recipe.depth - 1) + 14 + 2 + 16
    return -(-(network + round(recipe.min_event_gap / recipe.hop_seconds)) // BLOCK) * BLOCK


@flush_on_damage
def audio_tiles(blocks: Iterator[np.ndarray], around: int) -> Iterator[Tile]:
    """Windows on the levels of a recording, (bands, frames) at a time, of which only a few minutes are kept.

    They begin at whole blocks, and each is heard with `around` frames on either side, so that it makes no difference
    where one ends.
    """
    size, start, filled = TILE_FRAMES + 2 * around, 0, 0
    grid = np.empty(0, np.float32)
    for block in blocks:
        grid = grid if filled else np.empty((len(block), size), np.float32)
        while block.shape[1]:
            count = min(block.shape[1], size - filled)
            grid[:, filled : filled + count] = block[:, :count]
            filled, block = filled + count, block[:, count:]
            if filled == size:
                yield _stretch(grid, start, around, TILE_FRAMES + around)
                before, grid = grid, np.empty_like(grid)
                filled, start = 2 * around, start + TILE_FRAMES
                grid[:, :filled] = before[:, TILE_FRAMES:]
    if filled:
        yield _stretch(grid[:, :filled], start, around, filled)


def _stretch(level: np.ndarray, start: int, around: int, stop: int) -> Tile:
    """Levels from a frame on, of which those before `stop` are told; the first stretch is told from its beginning."""
    short = -level.shape[1] % BLOCK
    grid = np.ascontiguousarray(np.pad(level, ((0, 0), (0, short))) if short else level)[..., None]
    return Tile(grid, start, 0, (around if start else 0, 0, stop, len(level)))


def tile_spans(length: int, largest: int, lap: int) -> Iterator[tuple[int, int, int, int]]:
    """Stretches that cover a length: start, stop, and from where to where each one is listened to."""
    count = 1 if length <= largest else -(-(length - lap) // (largest - lap))
    step = 0 if count == 1 else -(-(length - largest) // (count - 1) // BLOCK) * BLOCK
    starts = [min(number * step, max(length - largest, 0)) for number in range(count)]
    stops = [min(start + largest, length) for start in starts]
    middles = [(stop + start) // 2 for stop, start in zip(stops[:-1], starts[1:], strict=True)]
    yield from zip(starts, stops, [0, *middles], [*middles, length], strict=True)
