"""Clips with a yes or no as training samples: joined to longer ones, with their calls where the model finds them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallymark.modalities.audio.dataset import CALL_MARGIN, CALL_SECONDS, MIN_SCORE, AudioDataset
from tallymark.modalities.base import Detect

MIN_LOCATED = 0.1
"""Score from which the strongest detection in a clip is taken as its call."""
MAX_TRIM = 0.4
"""Seconds that are cut off at either end of a clip, at most."""


class ClipDataset(AudioDataset):
    """Clips of a catalog with weak labels, each with one call or none.

    A call is somewhere in its clip: at first it is guessed to be in the middle, and after each evaluation where the
    network has found it. Training clips are joined from several, as recordings have calls at any distance from each
    other, and noise between them.
    """

    def __len__(self) -> int:
        """Training clips per epoch: so many that each clip is drawn about once."""
        return max(int(self.frames.sum()) // self.width, 1)

    def event_frames(self) -> np.ndarray:
        middle: np.ndarray = self.frames[self.truth.item] / 2
        return middle

    def draw_clip(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Whole clips side by side, the first with a call as often as `positive_crops` says, in random order."""
        pieces = [self._stretch(rng, self.draw_position(rng, self.recipe.positive_crops).recording)]
        while sum(level.shape[1] for level, _ in pieces) < self.width:
            pieces.append(self._stretch(rng, self.draw_position(rng, 0.0).recording))
        pieces = [pieces[number] for number in rng.permutation(len(pieces)).tolist()]
        starts = np.cumsum([0, *(level.shape[1] for level, _ in pieces)])
        time = np.concatenate([time + start for (_, time), start in zip(pieces, starts[:-1], strict=True)])
        first = int(rng.integers(0, starts[-1] - self.width + 1))
        joined = np.concatenate([level for level, _ in pieces], axis=1)[:, first : first + self.width]
        time = time - first
        return joined, time[(time >= 0) & (time < self.width)]

    def _stretch(self, rng: np.random.Generator, clip: int) -> tuple[np.ndarray, np.ndarray]:
        """Most of a clip, or as much as a training clip holds, and the time of its call, in frames.

        What is cut off varies, so that neither the fading at the ends of a clip nor its length tells where a call is.
        """
        level = self.load_spectrogram(clip)
        time = self.calls_in(clip)
        length = level.shape[1]
        trim = round(MAX_TRIM / self.recipe.hop_seconds)
        half = (CALL_SECONDS / 2 + CALL_MARGIN) / self.recipe.hop_seconds
        before = min(time.min(initial=length) - half, length - 1)
        after = min(length - half - time.max(initial=0), length - 1)
        start = int(rng.integers(0, int(max(min(trim, before), 0)) + 1))
        stop = length - int(rng.integers(0, int(max(min(trim, after, length - start - 1), 0)) + 1))
        if stop - start > self.width:
            middle = float(time[0]) if len(time) else rng.uniform(start, stop)
            start = int(np.clip(middle - rng.uniform(0.1, 0.9) * self.width, start, stop - self.width))
            stop = start + self.width
        return level[:, start:stop].astype(np.float32), time - start

    def mine_hard_negatives(self, detect: Detect) -> None:
        """Locate the calls, and find confident detections in clips without any."""
        candidates: Any = detect(self.catalog)
        order = np.lexsort((candidates.scores, candidates.item))
        time = np.full(len(self.catalog), np.nan)
        order = order[candidates.scores[order] >= MIN_LOCATED]
        time[candidates.item[order]] = candidates.shapes.time[order]  # the highest score of each clip comes last
        frame = time[self.item] / self.recipe.hop_seconds
        self.frame = np.where(np.isfinite(frame), frame, self.frame)
        false = (candidates.scores >= MIN_SCORE) & (self.truth.counts == 0)[candidates.item]
        frame = candidates.shapes.time[false] / self.recipe.hop_seconds
        self.hard_negatives = np.stack([candidates.item[false], frame], 1)

    @property
    def state(self) -> list[Any]:
        """The hard negatives, and where the calls are."""
        return [super().state, self.frame.tolist()]

    @state.setter
    def state(self, state: list[Any]) -> None:
        hard_negatives, frame = state
        self.hard_negatives = np.array(hard_negatives, float).reshape(-1, 2)
        self.frame = np.array(frame, float)
