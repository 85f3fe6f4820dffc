"""Spectrograms of recordings of any length and sample rate, normalised by the background of each frequency bin.

The same code serves training and prediction, and reads hours in bounded memory: the result does not depend on how much
is read at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from pathlib import Path

import numpy as np

from tallymark.io.audio import read_header, resample_stream
from tallymark.io.media import BadMedia, flush_on_damage
from tallymark.io.resampling import PASSBAND

MAD_TO_STD = 1.4826
"""Standard deviations per median absolute deviation (MAD), of normal noise."""
MIN_POWER = 1e-12
"""Added to the power before the logarithm, so that silence has one."""
MIN_STD = 0.2
"""Smallest standard deviation of a bin's background, in natural logarithms of power."""
MIN_LEVEL, MAX_LEVEL = -3.0, 8.0
"""Levels are clipped to this range."""
BACKGROUND_STEP = 4
"""The background is estimated from every fourth frame of a whole block: those between share most of their samples."""
NOISE_MAD = 0.767
"""MAD of the logarithm of the power of Gaussian noise: that of an exponential distribution."""


@dataclass(frozen=True)
class SpectrogramConfig:
    """The parameters of a spectrogram; see `AudioRecipe` for each field."""

    sample_rate: int = 1000
    window_seconds: float = 0.256
    hop_seconds: float = 0.032
    fmin: float = 40.0
    n_bins: int = 96
    norm_block: int = 320
    norm_context: int = 3
    background_norm: bool = True

    @property
    def n_fft(self) -> int:
        """Samples of a frame."""
        return round(self.window_seconds * self.sample_rate)

    @property
    def hop_length(self) -> int:
        """Samples from one frame to the next."""
        return round(self.hop_seconds * self.sample_rate)

    @property
    def first_bin(self) -> int:
        """The bin of the Fourier transform that `fmin` falls on."""
        return round(self.fmin * self.window_seconds)

    @property
    def fmax(self) -> float:
        """The upper end of the last bin in hertz."""
        return (self.first_bin + self.n_bins) / self.window_seconds

    @property
    def passband(self) -> float:
        """The share of the sample rate up to which resampling must be exact: the last bin, and its main lobe."""
        return min((self.first_bin + self.n_bins + 1) / self.n_fft, PASSBAND)

    def frames(self, seconds: float) -> int:
        """Frames of a recording; frame k stands for the time from k to k + 1 hops."""
        return -(-round(seconds * self.sample_rate) // self.hop_length)


def spectrogram(path: Path, config: SpectrogramConfig) -> Iterator[np.ndarray]:
    """The levels of a recording in blocks (bins, frames); the last one may be shorter.

    A `BadMedia` if its sample rate is below twice the highest frequency: empty bins are unlike any sound.
    """
    rate = read_header(path).rate
    if rate < 2 * config.fmax:
        found = f"{rate} samples per second: frequencies up to {rate / 2:g} Hz"
        remedy = f"record at {ceil(2 * config.fmax)} samples per second or more, or train with fewer n_bins"
        expected = f"frequencies up to {ceil(config.fmax)} Hz, as the model needs"
        raise BadMedia("low_sample_rate", found, remedy, expected)
    blocks = power_blocks(resample_stream(path, config.sample_rate, config.passband), config)
    return background_normalize(blocks, config) if config.background_norm else (block / 2 for block in blocks)


@flush_on_damage
def power_blocks(pieces: Iterator[np.ndarray], config: SpectrogramConfig) -> Iterator[np.ndarray]:
    """Logarithms of the power in blocks of `norm_block` frames. The recording is padded with silence at both ends."""
    n_fft, hop = config.n_fft, config.hop_length
    padding = (n_fft - hop) // 2
    waiting = np.zeros(padding, np.float32)
    needed = (config.norm_block - 1) * hop + n_fft
    for piece in pieces:
        waiting = np.concatenate([waiting, piece])
        while len(waiting) >= needed:
            yield _log_power(waiting[:needed], config)
            waiting = waiting[config.norm_block * hop :]
    while len(waiting) > padding:
        count = min(config.norm_block, -(-(len(waiting) - padding) // hop))
        needed = (count - 1) * hop + n_fft
        yield _log_power(np.pad(waiting, (0, max(needed - len(waiting), 0)))[:needed], config)
        waiting = waiting[count * hop :]


def _log_power(samples: np.ndarray, config: SpectrogramConfig) -> np.ndarray:
    import cv2  # its transform, logarithm, transpose and sum are each about twice as fast as others

    count = (len(samples) - config.n_fft) // config.hop_length + 1
    strides = config.hop_length * samples.itemsize, samples.itemsize
    frames = np.ndarray((count, config.n_fft), samples.dtype, np.ascontiguousarray(samples), strides=strides)
    # Real and imaginary part of frequency k are in columns 2k - 1 and 2k; frequency 0 has only one.
    first = 2 * config.first_bin - 1
    windowed = frames * _hann(config.n_fft, count)
    parts = cv2.dft(windowed, windowed, flags=cv2.DFT_ROWS)
    if first < 0:
        parts, first = np.insert(parts, 0, 0, axis=1), 0
    parts = cv2.transpose(parts[:, first : first + 2 * config.n_bins])
    squares = np.square(parts, out=parts)
    power = cv2.addWeighted(squares[::2], 1, squares[1::2], 1, MIN_POWER)
    return cv2.log(power, power)


@lru_cache(maxsize=4)
def _hann(n_fft: int, count: int) -> np.ndarray:
    """(count, n_fft): the Hann window, once for each frame."""
    window = np.hanning(n_fft + 1)[:-1].astype(np.float32)
    return np.tile(window, (count, 1))


@flush_on_damage
def background_normalize(blocks: Iterator[np.ndarray], config: SpectrogramConfig) -> Iterator[np.ndarray]:
    """Each block minus the background of its bins, divided by the background's standard deviation, in place.

    The background is the median over the medians of the surrounding blocks. A call in one of them, or the onset of a
    passing ship, does not move it, while another recorder, site or season does. A clip that is shorter than a block
    has too few frames for a standard deviation, which is near that of Gaussian noise: the shorter, the nearer.
    """
    waiting: deque[np.ndarray] = deque()
    statistics: deque[np.ndarray] = deque()
    position = 0  # of the block that is normalised next, among those whose statistics are kept
    for block in blocks:
        waiting.append(block)
        statistics.append(_background(block, 1.0 if statistics else block.shape[1] / config.norm_block))
        if len(statistics) - position > config.norm_context:
            yield _normalize(waiting.popleft(), statistics)
            position += 1
            if position > config.norm_context:
                statistics.popleft()
                position -= 1
    while waiting:
        yield _normalize(waiting.popleft(), statistics)
        position += 1
        if position > config.norm_context:
            statistics.popleft()
            position -= 1


def _background(block: np.ndarray, share: float) -> np.ndarray:
    """(2, bins): median and MAD of each bin. share: of a whole block that a recording has."""
    median, mad = _median_and_mad(block[:, :: BACKGROUND_STEP if share == 1 else 1])
    return np.stack([median, share * mad + (1 - share) * np.float32(NOISE_MAD)])


def _median_and_mad(block: np.ndarray) -> np.ndarray:
    """(2, bins): the median of each bin, and its median absolute deviation."""
    ranked = np.sort(block, axis=1)
    median = _median_of_sorted(ranked.T)
    ranked -= median[:, None]
    deviation = np.abs(ranked, out=ranked)
    deviation.sort(axis=1)
    return np.stack([median, _median_of_sorted(deviation.T)])


def _median_of_sorted(ranked: np.ndarray) -> np.ndarray:
    """The medians of values that are sorted along the first axis."""
    last = len(ranked) - 1
    median: np.ndarray = (ranked[last // 2] + ranked[last - last // 2]) / 2
    return median


def _normalize(block: np.ndarray, statistics: deque[np.ndarray]) -> np.ndarray:
    last = len(statistics) - 1
    ranked = np.partition(statistics, (last // 2, last - last // 2), axis=0)
    median, mad = _median_of_sorted(ranked)[..., None]
    level = np.subtract(block, median, out=block)
    level *= 1 / np.maximum(MAD_TO_STD * mad, MIN_STD)
    return np.clip(level, MIN_LEVEL, MAX_LEVEL, out=level)
