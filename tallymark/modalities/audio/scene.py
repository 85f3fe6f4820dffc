"""Scenes of recordings: the spectrogram of a window in the band of the model, its sound, and events in it."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.drawing.colors import ANNOTATION, HIGHLIGHT
from tallymark.drawing.paths import rectangle_paths
from tallymark.drawing.spectrograms import decibel_spectrogram, draw_spectrogram, mark_events, plot_area
from tallymark.geometry import Events
from tallymark.geometry.affine import transform_points
from tallymark.io.audio import read_window
from tallymark.modalities.audio.config import spectrogram_config
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.audio.spectrogram import SpectrogramConfig
from tallymark.modalities.audio.windows import (
    read_nonempty_header,
    times_by_interest,
    windows_around,
    windows_without_events,
)
from tallymark.modalities.base import path_of
from tallymark.modalities.scene import SCENE_SIDE, Scene, Sound, Window

ASPECT = 0.45
"""Height of a spectrogram for each pixel of its width."""
SOUND_RATE = 4000
"""Samples per second of sounds, at most, unless the band of the model needs more."""
LONGEST = 120.0
"""Seconds of a scene, at most."""
FROM_ZERO = 0.25
"""A band that begins below this share of its highest frequency is drawn from 0 Hz on."""
MIN_MARK = 6.0
"""Pixels of the outline of an event, at least."""
DRAWN_WINDOWS = 12
"""Windows of a recording that are drawn as files, at most."""


def scene_config(recipe: Recipe | None) -> SpectrogramConfig:
    """The spectrogram of a recipe; without one the default, whose band is below 415 Hz."""
    return SpectrogramConfig() if recipe is None else spectrogram_config(cast(AudioRecipe, recipe))


def recording_windows(catalog: Catalog, item: int, events: list[Events], most: int, seed: int) -> list[Window]:
    """Windows with these events, the first first; without any, a quiet and a random one."""
    path = path_of(catalog, item)
    seconds = read_nonempty_header(path).seconds
    times = np.concatenate([np.empty(0), *(one.time for one in events if not one.weak)])
    return windows_around(times, seconds, most) or windows_without_events(path, seconds, [seed, item])[:most]


def recording_scene(
    catalog: Catalog, item: int, window: Window, config: SpectrogramConfig, side: int = SCENE_SIDE
) -> Scene:
    """A window of a recording, clipped to it and to `LONGEST`; a `BadMedia` if it cannot be read.

    The spectrogram is drawn `side` pixels wide, each frequency relative to its own median. What a damaged recording
    lacks at its end is silent.
    """
    path = path_of(catalog, item)
    header = read_nonempty_header(path)
    shortest = 1 / header.rate
    start = float(np.clip(window[0], 0.0, header.seconds - shortest))
    stop = float(np.clip(window[1], start + shortest, min(header.seconds, start + LONGEST)))
    rate = min(header.rate, max(SOUND_RATE, config.sample_rate))
    samples = read_window(path, start, stop, rate)
    samples = np.pad(samples, (0, max(0, round((stop - start) * rate) - len(samples))))
    level = decibel_spectrogram(samples, rate, config.window_seconds)
    fmin, fmax = scene_band(config, rate)
    if level.size:
        first, last = (round(at / (rate / 2) * (len(level) - 1)) for at in (fmin, fmax))
        level = level[first : max(last, first + 1) + 1]
    size = (side, round(side * ASPECT))
    image = draw_spectrogram(level, (start, stop), fmax, Events(np.empty(0)), size, fmin=fmin)
    left, top, right, bottom = plot_area(size)
    per_x, per_y = (stop - start) / (right - left), (fmax - fmin) / (bottom - top)
    to_item = np.array([[per_x, 0.0, start - left * per_x], [0.0, -per_y, fmax + top * per_y]])
    return Scene(image, to_item, (start, stop), Sound(samples, rate))


def scene_band(config: SpectrogramConfig, rate: int) -> Window:
    """Lowest and highest frequency in hertz that are drawn of a sound at this rate."""
    fmax = min(config.fmax, rate / 2)
    return (0.0 if config.fmin < FROM_ZERO * fmax else min(config.fmin, fmax / 2)), fmax


def event_paths(scene: Scene, annotations: Annotations[Any]) -> list[str]:
    """The rectangle of each event over all frequencies of the plot; empty if the event is not in the window.

    An event without a length, or with a short one, is `MIN_MARK` pixels wide. Weak events have no known time.
    """
    events = annotations.shapes
    if events.weak:
        return [""] * len(events)
    left, top, right, bottom = plot_area((scene.image.shape[1], scene.image.shape[0]))
    half = np.zeros(len(events)) if events.length is None else np.nan_to_num(events.length) / 2
    edges = np.stack([events.time - half, events.time + half], axis=1)
    x = transform_points(scene.from_item, np.stack([edges, np.zeros_like(edges)], axis=2))[..., 0]
    outside = (x[:, 1] < left) | (x[:, 0] > right)
    spare = np.maximum(MIN_MARK - (x[:, 1] - x[:, 0]), 0) / 2
    first, last = np.clip(x[:, 0] - spare, left, right), np.clip(x[:, 1] + spare, left, right)
    rows = np.stack([first, np.full(len(x), top), last, np.full(len(x), bottom)], axis=1)
    rows[outside | ~np.isfinite(events.time)] = np.nan
    return rectangle_paths(rows)


def draw_windows(
    catalog: Catalog,
    item: int,
    predicted: Annotations[Any],
    truth: Annotations[Any] | None,
    config: SpectrogramConfig,
) -> dict[str, np.ndarray]:
    """Spectrograms of windows with predictions (orange, with their scores) or annotations (blue), by start.

    `DRAWN_WINDOWS` at most, those of the highest scores and of missed annotations in turn; none without events.
    """
    known = None if truth is None or truth.shapes.weak else truth.shapes
    times = times_by_interest(predicted.shapes, predicted.scores, known)
    seconds = read_nonempty_header(path_of(catalog, item)).seconds
    drawn = {}
    for window in sorted(windows_around(times, seconds, DRAWN_WINDOWS)):
        scene = recording_scene(catalog, item, window, config)
        image, span = scene.image, scene.window or window
        if known is not None:
            image = mark_events(image, span, known, HIGHLIGHT, below=True)
        captions = [] if predicted.score is None else [f"{score:.2f}" for score in predicted.score.tolist()]
        drawn[f"{span[0]:08.1f}s"] = mark_events(image, span, predicted.shapes, ANNOTATION, captions=captions)
    return drawn
