"""Recordings as training samples: spectrograms are computed once, and clips are cut around calls and between them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tallymark.core.problems import BadInput, Problem
from tallymark.data.catalog import Catalog
from tallymark.detector.strides import TIME_STRIDES
from tallymark.geometry import Events
from tallymark.io.media import BadMedia
from tallymark.modalities.audio.augmentation import augment_spectrogram, paste_call
from tallymark.modalities.audio.config import spectrogram_config
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.audio.spectrogram import spectrogram
from tallymark.modalities.base import Detect, path_of
from tallymark.modalities.dataset import CachedDataset
from tallymark.modalities.sample import Sample

TOLERANCE = 3.0
"""Seconds from a call within which a detection is no false positive."""
MIN_SCORE = 0.3
"""Score from which a false positive is a hard negative."""
CALL_SECONDS = 1.0
"""Length of calls whose length is not known."""
CALL_MARGIN = 0.15
"""Seconds before and after a call that are pasted with it."""


class Position(NamedTuple):
    """A frame of a recording."""

    recording: int
    frame: float


class AudioDataset(CachedDataset[np.ndarray]):
    """Clips of the labelled recordings of a catalog. Items are spectrograms (bins, frames) in half precision.

    hard_negatives: (n, 2) recording and frame of false positives of an earlier checkpoint.
    """

    def __init__(self, catalog: Catalog, recipe: AudioRecipe) -> None:
        super().__init__(catalog)
        self.recipe = recipe
        self.width = clip_frames(recipe)
        self.config = spectrogram_config(recipe)
        events: Events = self.truth.shapes
        length = np.full(len(events), np.nan) if events.length is None else events.length
        length = np.where(np.isfinite(length), length, CALL_SECONDS) / recipe.hop_seconds
        self.frames = np.array([self.load_spectrogram(item).shape[1] for item in range(len(self.catalog))])
        self.readable = np.flatnonzero(self.frames >= 1)
        if not len(self.readable):
            raise BadInput(self.problems)
        shares = np.cumsum(self.frames[self.readable] / self.frames.sum())
        self._shares = shares / shares[-1]  # of all frames, up to the end of each readable recording
        frame = self.event_frames()
        kept = self.frames[self.truth.item] > frame
        self.item = self.truth.item[kept]
        self.frame = frame[kept]
        self.length = length[kept]
        self.hard_negatives = np.empty((0, 2))

    def __len__(self) -> int:
        """Clips per epoch: so many that each frame is drawn about once, and each call twice."""
        return max(int(self.frames.sum()) // self.width, 2 * len(self.item), 1)

    def sample(self, rng: np.random.Generator, item: int, *, mix: bool) -> Sample:
        """A clip with a call, with a hard negative, or from anywhere; `item` does not matter."""
        recipe = self.recipe
        clip, time = self.draw_clip(rng)
        if rng.random() < recipe.reversed_negatives:
            clip, time = clip[:, ::-1], time[:0]
        if mix and rng.random() < recipe.call_mix and len(self.item):
            call = int(rng.integers(len(self.item)))
            clip, time = paste_call(rng, clip, time, *self.call(call), recipe)
        clip = augment_spectrogram(rng, clip, recipe)
        return Sample(clip[..., None], Events(time), np.zeros(len(time), np.int64), np.ones(len(time)))

    def event_frames(self) -> np.ndarray:
        """When the annotated events are, in frames."""
        frame: np.ndarray = self.truth.shapes.time / self.recipe.hop_seconds
        return frame

    def draw_clip(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """A clip (bins, width) of a recording, and the times of the calls in it, in frames."""
        return self.cut_around(rng, self.draw_position(rng, self.recipe.positive_crops))

    def draw_position(self, rng: np.random.Generator, positives: float) -> Position:
        """A call, with the probability `positives`, a hard negative, or anywhere."""
        hard_negatives = self.hard_negatives  # which another thread may replace
        if rng.random() < positives and len(self.item):
            call = int(rng.integers(len(self.item)))
            return Position(int(self.item[call]), float(self.frame[call]))
        if rng.random() < self.recipe.hard_negatives and len(hard_negatives):
            recording, frame = hard_negatives[int(rng.integers(len(hard_negatives)))]
            return Position(int(recording), float(frame))
        recording = int(self.readable[self._shares.searchsorted(rng.random(), "right")])
        return Position(recording, float(rng.uniform(0, self.frames[recording])))

    def cut_around(self, rng: np.random.Generator, position: Position) -> tuple[np.ndarray, np.ndarray]:
        """A clip (bins, width) with this position in it, and the times of the calls in it, in frames."""
        whole = self.load_spectrogram(position.recording)
        start = int(position.frame - rng.uniform(0.1, 0.9) * self.width)
        start = int(np.clip(start, 0, max(whole.shape[1] - self.width, 0)))
        clip = whole[:, start : start + self.width].astype(np.float32)
        time = self.calls_in(position.recording) - start
        time = time[(time >= 0) & (time < self.width)]
        return np.pad(clip, ((0, 0), (0, self.width - clip.shape[1]))), time

    def calls_in(self, recording: int) -> np.ndarray:
        """The times of the calls in a recording, in frames."""
        first, last = self.item.searchsorted((recording, recording + 1))
        return self.frame[first:last]

    def call(self, number: int) -> tuple[np.ndarray, float]:
        """The spectrogram of a call with a margin, and the frame of its centre therein."""
        whole = self.load_spectrogram(int(self.item[number]))
        half = self.length[number] / 2 + CALL_MARGIN / self.recipe.hop_seconds
        start = max(int(self.frame[number] - half), 0)
        stop = int(self.frame[number] + half) + 1
        return whole[:, start:stop].astype(np.float32), float(self.frame[number]) - start

    def load_spectrogram(self, item: int) -> np.ndarray:
        """The spectrogram of a recording, without frames if it cannot be read."""
        loaded = self.load(item)
        return np.empty((self.config.n_bins, 0), np.float16) if loaded is None else loaded

    def decode(self, item: int) -> np.ndarray:
        """The spectrogram up to where the file is damaged, if it is."""
        blocks = [np.empty((self.config.n_bins, 0), np.float32)]
        path = path_of(self.catalog, item)
        try:
            for block in spectrogram(path, self.config):
                blocks.append(block)
        except BadMedia as bad:
            if bad.transient:
                raise
            self.note(item, bad)
        return np.concatenate(blocks, axis=1).astype(np.float16)

    def nbytes(self, decoded: np.ndarray) -> int:
        return decoded.nbytes

    @property
    def state(self) -> list[list[float]]:
        """The hard negatives as plain numbers."""
        return self.hard_negatives.tolist()

    @state.setter
    def state(self, state: list[list[float]]) -> None:
        self.hard_negatives = np.array(state, float).reshape(-1, 2)

    def mine_hard_negatives(self, detect: Detect) -> None:
        """Find confident detections far from any call."""
        candidates: Any = detect(self.catalog)
        confident = candidates.filter(candidates.scores >= MIN_SCORE)
        calls = Events(self.frame * self.recipe.hop_seconds)
        _, first, last = confident.shapes.windows(calls, confident.item, self.item, TOLERANCE)
        false = np.flatnonzero(first == last)
        frame = confident.shapes.time[false] / self.recipe.hop_seconds
        self.hard_negatives = np.stack([confident.item[false], frame], 1)


def clip_frames(recipe: AudioRecipe) -> int:
    """Frames of a training clip; a `BadInput` unless the network can halve them as often as it has to."""
    frames = round(recipe.clip_seconds / recipe.hop_seconds)
    step = TIME_STRIDES[-1]
    if frames % step or not frames:
        nearest = max(round(frames / step), 1) * step * recipe.hop_seconds
        expected = f"a multiple of {step} frames of hop_seconds={recipe.hop_seconds:g}, which the network halves"
        found = f"clip_seconds={recipe.clip_seconds:g}"
        raise BadInput(Problem("bad_option", "recipe", found, expected, f"give e.g. {nearest:g}"))
    return frames
