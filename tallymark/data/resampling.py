"""Sound at another rate, whole or in pieces as it is read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain

import numpy as np

ROOM = 4
"""What thinning leaves is at least so many times the wanted rate, so that a short filter will do."""
WORTH = 4
"""Thinning by less gains nothing."""
OUT = 8
"""Samples that a block of a thinned sound has."""
TOGETHER = 1 << 14
"""Samples to a matrix product: few enough that it stays on one core, since others have their own work."""
SHARPNESS = 9.4
"""Of the window of the filter: what would be folded back is 94 dB fainter (Kaiser)."""


def resample(samples: np.ndarray, rate: int, wanted: int) -> np.ndarray:
    """The same sound at another rate, without aliases."""
    if rate == wanted:
        return samples
    import soxr

    return soxr.resample(samples, rate, wanted)


def resampled(pieces: Iterator[np.ndarray], rate: int, wanted: int) -> Iterator[np.ndarray]:
    """The same, piece by piece. A far higher rate is thinned first, which is quicker."""
    import soxr

    by = thinning(rate, wanted)
    if by > 1:
        pieces = thinned(pieces, by)
    changed = soxr.ResampleStream(rate // by, wanted, 1, "float32")
    for piece in pieces:
        yield changed.resample_chunk(np.asarray(piece, np.float32))
    yield changed.resample_chunk(np.empty(0, np.float32), last=True)


def thinning(rate: int, wanted: int) -> int:
    """The largest whole number by which a rate can be divided and still be well above the wanted one; or 1."""
    largest = rate // (ROOM * wanted)
    return next((by for by in range(largest, WORTH - 1, -1) if rate % by == 0), 1)


def thinned(pieces: Iterator[np.ndarray], by: int) -> Iterator[np.ndarray]:
    """One sample for every so many: the weighted mean of those around it.

    A filter as long as a block of samples reaches into no more than two blocks: what each adds to its own outputs, and
    to those of the block before, is a matrix product.
    """
    block, (own, earlier) = OUT * by, _filters(by)
    rows = max(TOGETHER // block, 1)
    waiting = np.zeros(block // 2, np.float32)  # the filter reaches half of its length back
    begun = np.zeros(OUT, np.float32)
    taken, given = 0, -OUT  # the first outputs are of the time before the recording
    for piece in chain(pieces, [None]):
        taken += 0 if piece is None else len(piece)
        rest = np.zeros((rows + 2) * block, np.float32) if piece is None else piece
        waiting = np.concatenate([waiting, rest], dtype=np.float32)
        whole = len(waiting) // (rows * block) * rows
        if whole:
            blocks = waiting[: whole * block].reshape(-1, rows, block)
            told, next_begun = (blocks @ earlier).ravel(), (blocks @ own).ravel()
            told[:OUT] += begun
            told[OUT:] += next_begun[:-OUT]
            waiting, begun = waiting[whole * block :], next_begun[-OUT:].copy()
            told = told[max(-given, 0) : round(taken / by) - given]
            given = max(given, 0) + len(told)
            yield told


@cache
def _filters(by: int) -> tuple[np.ndarray, np.ndarray]:
    """(samples of a block, outputs): what a block adds to its own outputs, and to those of the block before."""
    half = OUT // 2 * by
    at = np.arange(1 - half, half)
    bell = np.sinc(at / by) * np.kaiser(len(at), SHARPNESS)
    weights = np.zeros((2 * OUT * by, OUT), np.float32)
    for number in range(OUT):
        weights[number * by + 1 : number * by + 1 + len(at), number] = bell / bell.sum()
    return weights[: OUT * by], weights[OUT * by :]
