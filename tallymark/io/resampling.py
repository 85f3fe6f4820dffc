"""Resampling of audio, whole or block by block as it is read.

Multiples of the target rate are decimated in two stages, which is faster than soxr. A comb filter, which removes only
what would be folded onto the passband, brings them near twice the target rate. A low-pass filter follows, which also
flattens the response of the comb.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from tallymark.io.media import flush_on_damage

PASSBAND = 0.45
"""Edge of the passband, as a share of the target rate."""
COMB_OVERSAMPLING, SOXR_OVERSAMPLING = 2, 4
"""A first decimation leaves at least so many times the target rate: before a low-pass filter, and before soxr."""
MAX_COMB = 512
"""Largest decimation by a comb filter, so that designing it takes no time."""
MAX_ALIAS = 6e-5
"""Gain of the comb filter for what it would fold onto the passband: -84 dB."""
OUTPUTS = 16
"""Output samples that are computed together from the samples that they reach: the fastest."""
LARGE_FACTOR = 8
"""Decimation by this or more computes what some samples add to the outputs that reach them, which is faster there."""
MATMUL_SIZE = 1 << 18
"""Multiplications in one matrix product: few enough that it stays on one core, since other threads work too."""
KAISER_BETA = 9.4
"""Of the Kaiser window: aliases are attenuated by 94 dB."""
FILTER_LENGTH = 6.0
"""Length of the low-pass filter in output samples, divided by the relative width of the transition band."""
INVERSE_REACH = 5
"""Samples on either side that flatten the response of the comb filter."""


class FIR(NamedTuple):
    """A filter that keeps one sample of every `by`: output k is the sum of taps[j] * input[k * by + first + j]."""

    by: int
    first: int
    taps: np.ndarray

    def gain(self, frequency: np.ndarray) -> np.ndarray:
        """Complex gain at frequencies in cycles per input sample."""
        time = self.first + np.arange(len(self.taps))
        return np.asarray(np.exp(2j * np.pi * np.outer(frequency, time)) @ self.taps)


def resample(samples: np.ndarray, rate: int, target_rate: int) -> np.ndarray:
    """The samples at another rate, without aliases."""
    if rate == target_rate:
        return samples
    import soxr

    return soxr.resample(samples, rate, target_rate)


def resample_blocks(
    blocks: Iterator[np.ndarray], rate: int, target_rate: int, passband: float = PASSBAND
) -> Iterator[np.ndarray]:
    """Resample block by block to float32.

    passband: share of the target rate below which frequencies are kept as they are, and free of aliases. The narrower,
    the faster.
    """
    for fir in decimation_filters(rate, target_rate, passband):
        blocks, rate = decimate(blocks, fir), rate // fir.by
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


@flush_on_damage
def decimate(blocks: Iterator[np.ndarray], fir: FIR) -> Iterator[np.ndarray]:
    """Filter, and keep one sample of every `fir.by`."""
    stage = _Additions(fir) if fir.by >= LARGE_FACTOR else _Windows(fir)
    pending = np.zeros(-fir.first, np.float32)
    samples_in, samples_out = 0, 0
    for block in chain(blocks, [None]):
        samples_in += 0 if block is None else len(block)
        appended = np.zeros(stage.reach, np.float32) if block is None else block
        pending = np.concatenate([pending, appended], dtype=np.float32)
        output = stage.filter(pending)
        pending = pending[len(output) * fir.by :]
        yield output[: round(samples_in / fir.by) - samples_out]
        samples_out += len(output)


class _Windows:
    """A filter as matrix products of windows: the samples that a group of outputs reaches.

    Windows overlap, but those of every few groups do not, so that they are a matrix without copying.
    """

    def __init__(self, fir: FIR) -> None:
        self.step = OUTPUTS * fir.by
        self.weights = np.zeros((self.step - fir.by + len(fir.taps), OUTPUTS), np.float32)
        for output in range(OUTPUTS):
            self.weights[output * fir.by :][: len(fir.taps), output] = fir.taps
        self.reach = len(self.weights) + self.step

    def filter(self, samples: np.ndarray) -> np.ndarray:
        """All outputs whose windows are within these samples."""
        window = len(self.weights)
        count = max((len(samples) - window) // self.step + 1, 0)
        phases = -(-window // self.step)
        output = np.empty((count, OUTPUTS), np.float32)
        for phase in range(min(phases, count)):
            own = output[phase::phases]
            _multiply(_rows(samples, phase * self.step, phases * self.step, (len(own), window)), self.weights, own)
        return output.ravel()


class _Additions:
    """A filter as matrix products of samples side by side: what a group of them adds to the outputs that reach it.

    A group reaches as many outputs before its own ones as it has, so that an output is the sum of two products.
    """

    def __init__(self, fir: FIR) -> None:
        self.outputs = max(-(-len(fir.taps) // fir.by) - 1, 1)
        self.step = self.outputs * fir.by
        self.reach = 3 * self.step
        self.weights = np.zeros((self.step, 2 * self.outputs), np.float32)
        shifted = np.zeros(3 * self.step, np.float32)
        shifted[self.step :][: len(fir.taps)] = fir.taps
        for output in range(2 * self.outputs):
            self.weights[:, output] = shifted[(2 * self.outputs - output) * fir.by :][: self.step]

    def filter(self, samples: np.ndarray) -> np.ndarray:
        """All outputs that reach these samples only, but those of the last group."""
        import cv2  # adds a few columns of many rows three times as fast

        count = len(samples) // self.step
        added = np.empty((count, 2 * self.outputs), np.float32)
        _multiply(samples[: count * self.step].reshape(count, self.step), self.weights, added)
        if count < 2:
            return np.empty(0, np.float32)
        return cv2.add(added[:-1, self.outputs :], added[1:, : self.outputs]).ravel()


def _multiply(rows: np.ndarray, weights: np.ndarray, product: np.ndarray) -> None:
    """The matrix product, as many small ones."""
    count = max(MATMUL_SIZE // weights.size, 1)
    several, left = divmod(len(rows), count)
    first = len(rows) - left
    if several:
        parts = product[:first].reshape(several, count, product.shape[1])
        np.matmul(rows[:first].reshape(several, count, rows.shape[1]), weights, out=parts)
    np.matmul(rows[first:], weights, out=product[first:])


def _rows(samples: np.ndarray, start: int, step: int, shape: tuple[int, int]) -> np.ndarray:
    """A view of rows that begin every `step` samples."""
    size = samples.itemsize
    return np.ndarray(shape, samples.dtype, samples, start * size, (step * size, size))


@cache
def decimation_filters(rate: int, target_rate: int, passband: float = PASSBAND) -> tuple[FIR, ...]:
    """The filters that bring a rate down, to the target rate if that divides it, and otherwise to a rate for soxr."""
    if rate <= target_rate:
        return ()
    if rate % target_rate:
        by = _largest_divisor(rate, rate // (SOXR_OVERSAMPLING * target_rate))
        return (low_pass(by, passband * target_rate * by / rate),) if by > 1 else ()
    times = rate // target_rate
    by = _largest_divisor(times, min(times // COMB_OVERSAMPLING, MAX_COMB))
    if by == 1:
        return (low_pass(times, passband),)
    comb = comb_filter(by, passband * by / times)
    return comb, flattened(low_pass(times // by, passband), comb, passband)


def _largest_divisor(number: int, most: int) -> int:
    return next((by for by in range(most, 1, -1) if number % by == 0), 1)


def comb_filter(by: int, passband: float) -> FIR:
    """A filter with zeros around the multiples of the new rate only, all over the frequencies folded onto the passband.

    passband: its edge as a share of the new rate. Zeros at the Chebyshev nodes of each such band give the least alias.
    """
    edge = np.sin(np.pi * passband) / (by * np.sin(np.pi * (1 - passband) / by))  # gain of a moving average there
    zeros = int(np.ceil(np.log(MAX_ALIAS / 2) / np.log(edge / 2)))
    nodes = passband / by * np.cos(np.pi * (np.arange(zeros) + 0.5) / zeros)
    taps = np.ones(1, complex)
    for node in nodes:
        taps = np.convolve(taps, np.exp(2j * np.pi * node * np.arange(by)))
    real = taps.real / taps.real.sum()
    return FIR(by, -(len(real) // 2), real)


def low_pass(by: int, passband: float) -> FIR:
    """A low-pass filter, windowed by Kaiser's. passband: its edge as a share of the new rate."""
    half = round(FILTER_LENGTH / (1 - 2 * passband) * by / 2) + by
    time = np.arange(1 - half, half)
    taps = np.sinc(time / by) * np.kaiser(len(time), KAISER_BETA)
    return FIR(by, 1 - half, taps / taps.sum())


def flattened(after: FIR, before: FIR, passband: float) -> FIR:
    """The filter `after`, combined with one that inverts the gain of `before` up to the edge of the passband.

    passband: as a share of the rate behind `after`.
    """
    time = np.arange(-INVERSE_REACH, INVERSE_REACH + 1)
    frequency = np.linspace(-passband, passband, 16 * len(time)) / after.by
    gains = before.gain(frequency / before.by)[:, None] * np.exp(2j * np.pi * np.outer(frequency, time))
    flat = np.repeat([1.0, 0.0], len(frequency))
    inverse = np.linalg.lstsq(np.concatenate([gains.real, gains.imag]), flat, rcond=None)[0]
    return FIR(after.by, after.first - INVERSE_REACH, np.convolve(after.taps, inverse))
