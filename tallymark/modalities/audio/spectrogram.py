"""Spectrograms of recordings of any length and rate: loudness against what is usual around, band by band.

The same code serves training and prediction, and reads hours in bounded memory: what comes out does not depend on how
much is read at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from tallymark.io.audio import resample_stream
from tallymark.io.media import flush_on_damage

SPREAD = 1.4826
"""Standard deviations to a median absolute deviation, of normal noise."""
QUIETEST = 1e-12
"""Power added before the logarithm, so that silence has one."""
STEADIEST = 0.2
"""The smallest spread of a band, in natural logarithms of power: below it a band is a machine's, not the sea's."""
LOWEST, HIGHEST = -3.0, 8.0
"""Where levels are cut off."""
APART = 4
"""What is usual is made from every so many frames: those between share most of their samples with them."""


@dataclass(frozen=True)
class SpectrogramConfig:
    """How sound is heard.

    hertz: samples a second that it is resampled to. window, hop: seconds of a frame, and from one to the next.
    low: frequency of the lowest band. bands: how many there are, each 1 / window wide.
    block: frames that share one estimate of what is usual. around: blocks on either side that it is made from;
    with 0, each block stands for itself. steady: whether bands are compared with what is usual at all.
    """

    sample_rate: int = 1000
    window_seconds: float = 0.256
    hop_seconds: float = 0.032
    fmin: float = 40.0
    n_bins: int = 96
    norm_block: int = 320
    norm_context: int = 3
    background_norm: bool = True

    @property
    def width(self) -> int:
        """Samples of a frame."""
        return round(self.window_seconds * self.sample_rate)

    @property
    def step(self) -> int:
        """Samples from one frame to the next."""
        return round(self.hop_seconds * self.sample_rate)

    @property
    def lowest(self) -> int:
        """The number of the lowest band, counted from 0 hertz."""
        return round(self.fmin * self.window_seconds)

    def count(self, seconds: float) -> int:
        """Frames of a recording; frame k stands for the time from k to k + 1 hops."""
        return -(-round(seconds * self.sample_rate) // self.step)


def spectrogram(path: Path, ear: SpectrogramConfig) -> Iterator[np.ndarray]:
    """The (bands, frames) levels of a recording, block after block; the last may be shorter."""
    blocks = power_blocks(resample_stream(path, ear.sample_rate), ear)
    return background_normalize(blocks, ear) if ear.background_norm else (block / 2 for block in blocks)


@flush_on_damage
def power_blocks(pieces: Iterator[np.ndarray], ear: SpectrogramConfig) -> Iterator[np.ndarray]:
    """Logarithms of power of the frames, a block at a time. Beyond the ends of the recording there is silence."""
    before = (ear.width - ear.step) // 2
    waiting = np.zeros(before, np.float32)
    wanted = (ear.norm_block - 1) * ear.step + ear.width
    for piece in pieces:
        waiting = np.concatenate([waiting, piece])
        while len(waiting) >= wanted:
            yield _log_power(waiting[:wanted], ear)
            waiting = waiting[ear.norm_block * ear.step :]
    while len(waiting) > before:
        count = min(ear.norm_block, -(-(len(waiting) - before) // ear.step))
        needed = (count - 1) * ear.step + ear.width
        yield _log_power(np.pad(waiting, (0, max(needed - len(waiting), 0)))[:needed], ear)
        waiting = waiting[count * ear.step :]


def _log_power(samples: np.ndarray, ear: SpectrogramConfig) -> np.ndarray:
    import cv2  # its transform, logarithm and transpose are each about twice as fast as others

    count = (len(samples) - ear.width) // ear.step + 1
    steps = ear.step * samples.itemsize, samples.itemsize
    frames = np.ndarray((count, ear.width), samples.dtype, np.ascontiguousarray(samples), strides=steps)
    # The two parts of frequency k are side by side, in columns 2k - 1 and 2k; frequency 0 has but one.
    first = 2 * ear.lowest - 1
    parts = cv2.dft(frames * _bell(ear.width), flags=cv2.DFT_ROWS)
    if first < 0:
        parts, first = np.insert(parts, 0, 0, axis=1), 0
    parts = parts[:, first : first + 2 * ear.n_bins]
    squares = np.square(parts)
    power = squares[:, ::2] + squares[:, 1::2]
    power += np.float32(QUIETEST)
    return cv2.transpose(cv2.log(power))


@cache
def _bell(width: int) -> np.ndarray:
    """What frames are multiplied by, so that they have no edges."""
    shape: np.ndarray = np.hanning(width + 1)[:-1].astype(np.float32)
    return shape


@flush_on_damage
def background_normalize(blocks: Iterator[np.ndarray], ear: SpectrogramConfig) -> Iterator[np.ndarray]:
    """Each block less what is usual in its band around it, in units of how much that varies.

    What is usual is the median of the medians of the blocks around: a call in one of them, or a passing ship's start,
    does not move it, while another recorder, site or season does.
    """
    waiting: deque[np.ndarray] = deque()
    usual: deque[np.ndarray] = deque()
    at = 0  # of the block that is to be given next, among those whose medians are kept
    for block in blocks:
        waiting.append(block)
        usual.append(_usual(block[:, ::APART]))
        if len(usual) - at > ear.norm_context:
            yield _compared(waiting.popleft(), usual)
            at += 1
            if at > ear.norm_context:
                usual.popleft()
                at -= 1
    while waiting:
        yield _compared(waiting.popleft(), usual)
        at += 1
        if at > ear.norm_context:
            usual.popleft()
            at -= 1


def _usual(block: np.ndarray) -> np.ndarray:
    """(2, rows): the median of each row, and the median of how far its values lie from it."""
    ranked = np.sort(block, axis=1)
    middle = _middle(ranked.T)
    ranked -= middle[:, None]
    away = np.abs(ranked, out=ranked)
    away.sort(axis=1)
    return np.stack([middle, _middle(away.T)])


def _middle(ranked: np.ndarray) -> np.ndarray:
    """The medians of values that are sorted along the first axis."""
    last = len(ranked) - 1
    middle: np.ndarray = (ranked[last // 2] + ranked[last - last // 2]) / 2
    return middle


def _compared(block: np.ndarray, usual: deque[np.ndarray]) -> np.ndarray:
    middle, spread = _middle(np.sort(usual, axis=0))[..., None]
    level = block - middle
    level /= np.maximum(SPREAD * spread, STEADIEST)
    return np.clip(level, LOWEST, HIGHEST, out=level)
