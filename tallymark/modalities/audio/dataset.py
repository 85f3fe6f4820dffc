"""The recordings that are learned from: levels are computed once, windows are cut around calls and between them."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from tallymark.core.problems import EVERY, BadInput, Problem, Problems
from tallymark.data.catalog import Catalog
from tallymark.detector.network import LINE
from tallymark.geometry import Events
from tallymark.inference.pipeline import Model, infer
from tallymark.io.media import BadMedia
from tallymark.modalities.audio.augmentation import change_levels, paste_call
from tallymark.modalities.audio.config import spectrogram_config
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.audio.spectrogram import spectrogram
from tallymark.modalities.sample import Sample

NEAR = 3.0
"""Seconds from a call within which an alarm is not a false one."""
ALARM = 0.3
"""The confidence from which a false alarm is worth learning from."""
KEPT = 4 << 30
"""Bytes of levels that are kept."""


class Position(NamedTuple):
    """A moment in a recording: its number, and a frame."""

    recording: int
    frame: float


class AudioDataset:
    """Windows of the labelled recordings of a catalog."""

    def __init__(self, catalog: Catalog, recipe: AudioRecipe) -> None:
        if catalog.truth is None or not len(catalog):
            found, remedy = f"{len(catalog)} recordings with truth", "name the folder that has the tables too"
            raise BadInput(Problem("no_truth", str(catalog.root), found, "recordings to learn from", remedy))
        self.width, step = round(recipe.clip_seconds / recipe.hop_seconds), LINE[-1]
        if self.width % step or not self.width:
            found, near = (
                f"clip_seconds={recipe.clip_seconds:g}",
                max(round(self.width / step), 1) * step * recipe.hop_seconds,
            )
            expected = f"a multiple of {step} frames of hop_seconds={recipe.hop_seconds:g}, which the network halves"
            raise BadInput(Problem("bad_option", "recipe", found, expected, f"give e.g. {near:g}"))
        self.catalog, self.recipe, self.ear = catalog, recipe, spectrogram_config(recipe)
        self.problems = Problems(EVERY)
        self._levels: dict[int, np.ndarray] = {}
        self._lock = threading.Lock()
        truth: Events = catalog.truth.shapes
        self.item, self.frame = catalog.truth.item, truth.time / recipe.hop_seconds
        length = np.full(len(truth), np.nan) if truth.length is None else truth.length
        self.length = np.where(np.isfinite(length), length, 1.0) / recipe.hop_seconds
        self.frames = np.array([self._read(item).shape[1] for item in range(len(catalog))])
        self.usable = np.flatnonzero(self.frames >= 1)
        if not len(self.usable):
            raise BadInput(self.problems)
        kept = self.frames[self.item] > self.frame
        self.item, self.frame, self.length = self.item[kept], self.frame[kept], self.length[kept]
        self.alarms = np.empty((0, 2))

    def __len__(self) -> int:
        """So many windows that each moment is seen about once, and each call twice, in an epoch."""
        return max(int(self.frames.sum()) // self.width, 2 * len(self.item), 1)

    def window(self, rng: np.random.Generator, item: int, calm: bool) -> Sample:
        """A window on a call, on a false alarm, or anywhere."""
        recipe, draw, alarms = self.recipe, rng.random(), self.alarms  # which another thread may replace
        if draw < recipe.positive_crops and len(self.item):
            call = int(rng.integers(len(self.item)))
            place = Position(int(self.item[call]), float(self.frame[call]))
        elif rng.random() < recipe.hard_negatives and len(alarms):
            recording, frame = alarms[int(rng.integers(len(alarms)))]
            place = Position(int(recording), float(frame))
        else:
            share = self.frames[self.usable] / self.frames.sum()
            recording = int(self.usable[rng.choice(len(self.usable), p=share)])
            place = Position(recording, float(rng.uniform(0, self.frames[recording])))
        level, time = self._cut(place.recording, int(place.frame - rng.uniform(0.1, 0.9) * self.width))
        if not calm and rng.random() < recipe.call_mix and len(self.item):
            call = int(rng.integers(len(self.item)))
            level, time = paste_call(rng, level, time, *self._call(call), recipe)
        level = change_levels(rng, level, recipe)
        calls: Any = Events(time)
        return Sample(level[..., None], calls, np.zeros(len(time), np.int64), np.ones(len(time)))

    def _cut(self, recording: int, start: int) -> tuple[np.ndarray, np.ndarray]:
        """(bands, width) of levels from a frame on, and the calls in it, in frames."""
        whole = self._read(recording)
        start = int(np.clip(start, 0, max(whole.shape[1] - self.width, 0)))
        level = whole[:, start : start + self.width].astype(np.float32)
        level = np.pad(level, ((0, 0), (0, self.width - level.shape[1])))
        time = self.frame[self.item == recording] - start
        return level, time[(time >= 0) & (time < self.width)]

    def _call(self, call: int) -> tuple[np.ndarray, float]:
        """The levels of a call, with a little around it, and the frame of its middle therein."""
        whole, half = self._read(int(self.item[call])), self.length[call] / 2 + 0.15 / self.recipe.hop_seconds
        start, stop = max(int(self.frame[call] - half), 0), int(self.frame[call] + half) + 1
        return whole[:, start:stop].astype(np.float32), float(self.frame[call]) - start

    def _read(self, item: int) -> np.ndarray:
        with self._lock:
            if item in self._levels:
                return self._levels[item]
        path, blocks = self.catalog.path(item), [np.empty((self.ear.n_bins, 0), np.float32)]
        try:
            if path is None:
                raise BadMedia("missing_media", "no file", "get the file, or exclude the item")
            for block in spectrogram(path, self.ear):  # up to where it is damaged
                blocks.append(block)
        except BadMedia as bad:
            place, name = self.catalog.place(item), self.catalog.items.ids[item]
            self.problems.add(Problem(bad.kind, place, bad.found, "a recording", bad.remedy, item=name))
        level = np.concatenate(blocks, axis=1).astype(np.float16)
        with self._lock:
            if sum(kept.nbytes for kept in self._levels.values()) + level.nbytes <= KEPT:
                self._levels[item] = level
        return level

    @property
    def state(self) -> list[list[float]]:
        """The false alarms, as plain numbers."""
        return self.alarms.tolist()

    @state.setter
    def state(self, kept: list[list[float]]) -> None:
        self.alarms = np.array(kept, float).reshape(-1, 2)

    def mine_hard_negatives(self, model: Model) -> None:
        """Find where a model hears calls that are not there, to learn from these places."""
        found = infer(self.catalog, [model], self.recipe, Problems(EVERY), title="mining hard negatives").objects
        if found is None:
            return
        loud = found.filter(found.scores >= ALARM)
        near = loud.shapes.within(Events(self.frame * self.recipe.hop_seconds), loud.item, self.item, NEAR)[0]
        false = np.setdiff1d(np.arange(len(loud)), near)
        self.alarms = np.stack([loud.item[false], loud.shapes.time[false] / self.recipe.hop_seconds], 1)
