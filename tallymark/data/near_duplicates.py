"""Near-duplicate media, found by perceptual hashes of small grey thumbnails.

A thumbnail is divided into cells. The signs of differences between neighbouring blocks are a 64-bit hash of each cell;
cells that agree in a quarter of the bits are compared pixel by pixel. Cells without contrast, like plain water, are
ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tallymark.io.media import THUMBNAIL

BLOCKS = 8
BANDS = 4
MAX_NEIGHBORS = 24
"""Among cells with the same band, each is compared with so many that follow it in the order of their hashes."""
MAX_DISTANCE = 10
"""Hamming distance of the hashes of near-duplicate cells, which differ by noise and compression."""
MIN_CONTRAST = 6.0
"""Standard deviation in grey levels below which a cell is ignored."""
MIN_CORRELATION = 0.97
"""Correlation of the pixels of near-duplicate cells."""
CHUNK = 1 << 15


@dataclass(frozen=True, eq=False)
class NearDuplicates:
    """Pairs of items, first < second, and their similarity: the correlation of their most similar cells."""

    first: np.ndarray
    second: np.ndarray
    similarity: np.ndarray

    def __len__(self) -> int:
        return len(self.first)


def find_near_duplicates(thumbnails: np.ndarray, cells: int = 1) -> NearDuplicates:
    """The near-duplicates among thumbnails (n, 48, 48), divided into `cells` x `cells` cells.

    Any cell of one may match any cell of the other.
    """
    side = THUMBNAIL // cells
    tiles = thumbnails.reshape(-1, cells, side, cells, side).swapaxes(2, 3).reshape(-1, side, side)
    owner = np.repeat(np.arange(len(thumbnails)), cells * cells)
    starts = range(0, len(tiles), CHUNK)
    contrast = np.concatenate([np.empty(0), *(tiles[at : at + CHUNK].std(axis=(1, 2)) for at in starts)])
    tiles, owner = tiles[contrast >= MIN_CONTRAST], owner[contrast >= MIN_CONTRAST]
    starts = range(0, len(tiles), CHUNK)
    hashes = np.concatenate([np.empty(0, np.uint64), *(_hashes(tiles[at : at + CHUNK]) for at in starts)])
    confirmed = [_confirm(tiles, i, j) for i, j in _candidates(hashes, owner)]
    none = np.empty(0, np.int64)
    i = np.concatenate([none, *(pair[0] for pair in confirmed)])
    j = np.concatenate([none, *(pair[1] for pair in confirmed)])
    similarity = np.concatenate([np.empty(0), *(pair[2] for pair in confirmed)])
    first, second = np.minimum(owner[i], owner[j]), np.maximum(owner[i], owner[j])
    order = np.lexsort([-similarity, second, first])
    first, second, similarity = first[order], second[order], similarity[order]
    best = np.ones(len(first), bool)
    best[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    return NearDuplicates(first[best], second[best], similarity[best])


def cluster_duplicates(count: int, pairs: NearDuplicates) -> np.ndarray:
    """The cluster of each of `count` items: connected components of the near-duplicate pairs."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(pairs)), (pairs.first, pairs.second)), shape=(count, count))
    return connected_components(links, directed=False)[1]


def _hashes(tiles: np.ndarray) -> np.ndarray:
    """64 bits of each tile: whether a block is brighter than the one to its right (the last: than the first)."""
    size = tiles.shape[1] // BLOCKS
    blocks = tiles.reshape(-1, BLOCKS, size, BLOCKS, size).mean(axis=(2, 4), dtype=np.float32)
    brighter = blocks > np.roll(blocks, -1, axis=2)
    return np.packbits(brighter.reshape(-1, BLOCKS * BLOCKS), axis=1).view(np.uint64).ravel()


def _candidates(hashes: np.ndarray, owner: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs of tiles of different items that agree in at least one band of their hash."""
    bands = hashes.view(np.uint16).reshape(-1, BANDS)
    for band in range(BANDS):
        order = np.lexsort([hashes, bands[:, band]])
        sorted_band = bands[order, band]
        for step in range(1, MAX_NEIGHBORS):
            same = np.flatnonzero(sorted_band[step:] == sorted_band[:-step])
            if len(same) == 0:
                break
            i, j = order[same], order[same + step]
            near = (owner[i] != owner[j]) & (np.bitwise_count(hashes[i] ^ hashes[j]) <= MAX_DISTANCE)
            i, j = i[near], j[near]
            for start in range(0, len(i), CHUNK):
                yield i[start : start + CHUNK], j[start : start + CHUNK]


def _confirm(tiles: np.ndarray, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pairs whose pixels agree, with their correlation."""
    a, b = _standardize(tiles[i]), _standardize(tiles[j])
    similarity = np.einsum("np,np->n", a, b)
    similar = similarity >= MIN_CORRELATION
    return i[similar], j[similar], similarity[similar]


def _standardize(tiles: np.ndarray) -> np.ndarray:
    flat = tiles.reshape(len(tiles), -1).astype(np.float32)
    flat -= flat.mean(axis=1, keepdims=True)
    return flat / np.linalg.norm(flat, axis=1, keepdims=True)
