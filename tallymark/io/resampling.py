"""Sound at another rate, whole or in pieces as it is read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain

import numpy as np

from tallymark.io.media import flush_on_damage

KEPT = 0.45
"""What lies below this share of the wanted rate stays as it was."""
ROOM = 4
"""A first thinning leaves at least so many times the wanted rate, so that a short filter will do."""
OUT = 8
"""Samples of a thinned sound that are made together."""
TOGETHER = 1 << 18
"""Products of a matrix product: few enough that it stays on one core, since others have their own work."""
SHARPNESS, TRANSITION = 9.4, 6.0
"""Of the filter's window (Kaiser): what would be folded back is 94 dB fainter; and how long that makes the filter."""


def resample(samples: np.ndarray, rate: int, wanted: int) -> np.ndarray:
    """The same sound at another rate, without aliases."""
    if rate == wanted:
        return samples
    import soxr

    return soxr.resample(samples, rate, wanted)


def resample_blocks(pieces: Iterator[np.ndarray], rate: int, wanted: int) -> Iterator[np.ndarray]:
    """The same, piece by piece, as float32. A multiple of the wanted rate is thinned, which is quicker than soxr."""
    by = decimation_factor(rate, wanted)
    if by > 1:
        pieces, rate = decimate(pieces, by, KEPT * wanted * by / rate), rate // by
    if rate > wanted and rate % wanted == 0:
        return decimate(pieces, rate // wanted, KEPT)
    return (np.asarray(piece, np.float32) for piece in pieces) if rate == wanted else _streamed(pieces, rate, wanted)


@flush_on_damage
def _streamed(pieces: Iterator[np.ndarray], rate: int, wanted: int) -> Iterator[np.ndarray]:
    import soxr

    changed = soxr.ResampleStream(rate, wanted, 1, "float32")
    for piece in pieces:
        yield changed.resample_chunk(np.asarray(piece, np.float32))
    yield changed.resample_chunk(np.empty(0, np.float32), last=True)


def decimation_factor(rate: int, wanted: int) -> int:
    """By how much a rate is thinned at first, to be well above the wanted one still, and a multiple if it was; or 1."""
    largest, parts = rate // (ROOM * wanted), rate // wanted if rate % wanted == 0 else rate
    return next((by for by in range(largest, 1, -1) if parts % by == 0), 1)


@flush_on_damage
def decimate(pieces: Iterator[np.ndarray], by: int, kept: float) -> Iterator[np.ndarray]:
    """One sample for every so many: the weighted mean of those around it.

    kept: the share of the new rate below which sound stays as it was.

    A block of samples is made by a matrix product from those that it stands for and those that the filter reaches.
    Such stretches overlap, but those of every few blocks lie one after the other, and so are a matrix as they are.
    """
    weights = _weights(by, kept)
    block, stretch = OUT * by, len(weights)
    turns, rows = stretch // block, max(TOGETHER // weights.size, 1)
    waiting = np.zeros((stretch - block) // 2, np.float32)  # the filter reaches half of its length back
    taken, given = 0, 0
    for piece in chain(pieces, [None]):
        taken += 0 if piece is None else len(piece)
        rest = np.zeros(stretch + block, np.float32) if piece is None else piece
        waiting = np.concatenate([waiting, rest], dtype=np.float32)
        count = max((len(waiting) - stretch) // block + 1, 0)
        told = np.empty((count, OUT), np.float32)
        for turn in range(turns):
            own = told[turn::turns]
            stretches = waiting[turn * block :][: len(own) * stretch].reshape(-1, stretch)
            for start in range(0, len(own), rows):
                np.matmul(stretches[start : start + rows], weights, out=own[start : start + rows])
        waiting = waiting[count * block :]
        yield told.ravel()[: round(taken / by) - given]
        given += told.size


@cache
def _weights(by: int, kept: float) -> np.ndarray:
    """(samples of a stretch, outputs): how much of each sample is in each of the outputs of a block."""
    reach = -(-TRANSITION / (1 - 2 * kept) // OUT) * OUT  # in samples of the new rate, whole blocks of them
    half = round(reach * by / 2)
    at = np.arange(1 - half, half)
    bell = np.sinc(at / by) * np.kaiser(len(at), SHARPNESS)
    weights = np.zeros((OUT * by + 2 * half, OUT), np.float32)
    for number in range(OUT):
        weights[number * by + 1 : number * by + 1 + len(at), number] = bell / bell.sum()
    return weights
