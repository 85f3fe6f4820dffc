"""Tiling: a large image is given to the network in overlapping tiles."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tallymark.detector.strides import BLOCK
from tallymark.modalities.base import Tile
from tallymark.modalities.image.resize import pad_to_blocks

TILE_SIZE = 1536
"""Maximum side of a tile in pixels: larger ones cost memory and gain nothing."""
OVERLAP = 256
"""Pixels that neighbouring tiles share, so that each object has its surroundings in one of them."""


def image_tiles(resized: np.ndarray) -> list[Tile]:
    """The tiles of an image that is resized already."""
    height, width = resized.shape[:2]
    return [
        Tile(
            pad_to_blocks(resized[top:bottom, left:right]),
            left,
            top,
            (from_x - left, from_y - top, to_x - left, to_y - top),
        )
        for top, bottom, from_y, to_y in tile_spans(height, TILE_SIZE, OVERLAP)
        for left, right, from_x, to_x in tile_spans(width, TILE_SIZE, OVERLAP)
    ]


def tile_spans(length: int, size: int, overlap: int) -> Iterator[tuple[int, int, int, int]]:
    """Spans of at most `size` that cover a length: start, stop, and the range in which each one's peaks count."""
    count = 1 if length <= size else -(-(length - overlap) // (size - overlap))
    step = 0 if count == 1 else -(-(length - size) // (count - 1) // BLOCK) * BLOCK
    starts = [min(number * step, max(length - size, 0)) for number in range(count)]
    stops = [min(start + size, length) for start in starts]
    middles = [(stop + start) // 2 for stop, start in zip(stops[:-1], starts[1:], strict=True)]
    yield from zip(starts, stops, [0, *middles], [*middles, length], strict=True)
