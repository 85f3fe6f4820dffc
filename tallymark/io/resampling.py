"""Resampling of audio, whole or block by block as it is read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain

import numpy as np

from tallymark.io.media import flush_on_damage

PASSBAND = 0.45
"""Edge of the passband, as a share of the target rate."""
MIN_OVERSAMPLING = 4
"""A first decimation leaves at least so many times the target rate, so that a short filter suffices."""
BLOCK_OUTPUTS = 8
"""Output samples that are computed together."""
MATMUL_SIZE = 1 << 18
"""Multiplications in one matrix product: few enough that it stays on one core, since other threads work too."""
KAISER_BETA = 9.4
"""Of the Kaiser window: aliases are attenuated by 94 dB."""
FILTER_LENGTH = 6.0
"""Length of the filter in output samples, divided by the relative width of the transition band."""


def resample(samples: np.ndarray, rate: int, target_rate: int) -> np.ndarray:
    """The samples at another rate, without aliases."""
    if rate == target_rate:
        return samples
    import soxr

    return soxr.resample(samples, rate, target_rate)


def resample_blocks(blocks: Iterator[np.ndarray], rate: int, target_rate: int) -> Iterator[np.ndarray]:
    """Resample block by block to float32. A multiple of the target rate is decimated, which is faster than soxr."""
    by = decimation_factor(rate, target_rate)
    if by > 1:
        blocks, rate = decimate(blocks, by, PASSBAND * target_rate * by / rate), rate // by
    if rate > target_rate and rate % target_rate == 0:
        return decimate(blocks, rate // target_rate, PASSBAND)
    if rate == target_rate:
        return (np.asarray(block, np.float32) for block in blocks)
    return _resample_with_soxr(blocks, rate, target_rate)


@flush_on_damage
def _resample_with_soxr(blocks: Iterator[np.ndarray], rate: int, target_rate: int) -> Iterator[np.ndarray]:
    import soxr

    stream = soxr.ResampleStream(rate, target_rate, 1, "float32")
    for block in blocks:
        yield stream.resample_chunk(np.asarray(block, np.float32))
    yield stream.resample_chunk(np.empty(0, np.float32), last=True)


def decimation_factor(rate: int, target_rate: int) -> int:
    """The factor of a first decimation, or 1.

    The rate stays well above the target rate, and a multiple of it if it was one.
    """
    largest = rate // (MIN_OVERSAMPLING * target_rate)
    divisible = rate // target_rate if rate % target_rate == 0 else rate
    return next((by for by in range(largest, 1, -1) if divisible % by == 0), 1)


@flush_on_damage
def decimate(blocks: Iterator[np.ndarray], by: int, passband: float) -> Iterator[np.ndarray]:
    """Low-pass filter, and keep one sample of every `by`.

    passband: its edge as a share of the new rate.

    Each group of `BLOCK_OUTPUTS` outputs is a matrix product of the input samples that the filter reaches. These
    windows overlap, but every few groups they are adjacent, so that a reshape without copying makes them a matrix.
    """
    weights = _filter_matrix(by, passband)
    step, window = BLOCK_OUTPUTS * by, len(weights)
    phases = window // step
    rows = max(MATMUL_SIZE // weights.size, 1)
    pending = np.zeros((window - step) // 2, np.float32)  # the filter reaches half of its length back
    samples_in, samples_out = 0, 0
    for block in chain(blocks, [None]):
        samples_in += 0 if block is None else len(block)
        appended = np.zeros(window + step, np.float32) if block is None else block
        pending = np.concatenate([pending, appended], dtype=np.float32)
        count = max((len(pending) - window) // step + 1, 0)
        output = np.empty((count, BLOCK_OUTPUTS), np.float32)
        for phase in range(phases):
            own = output[phase::phases]
            windows = pending[phase * step :][: len(own) * window].reshape(-1, window)
            for start in range(0, len(own), rows):
                np.matmul(windows[start : start + rows], weights, out=own[start : start + rows])
        pending = pending[count * step :]
        yield output.ravel()[: round(samples_in / by) - samples_out]
        samples_out += output.size


@cache
def _filter_matrix(by: int, passband: float) -> np.ndarray:
    """(window, BLOCK_OUTPUTS): the weight of each input sample of a window in each output."""
    # In output samples, rounded up to whole groups of outputs.
    reach = -(-FILTER_LENGTH / (1 - 2 * passband) // BLOCK_OUTPUTS) * BLOCK_OUTPUTS
    half = round(reach * by / 2)
    at = np.arange(1 - half, half)
    taps = np.sinc(at / by) * np.kaiser(len(at), KAISER_BETA)
    weights = np.zeros((BLOCK_OUTPUTS * by + 2 * half, BLOCK_OUTPUTS), np.float32)
    for output in range(BLOCK_OUTPUTS):
        weights[output * by + 1 : output * by + 1 + len(at), output] = taps / taps.sum()
    return weights
