"""Changes of levels of sound: another hydrophone, another distance, calls of elsewhere, hidden parts."""

from __future__ import annotations

import numpy as np

from tallymark.modalities.audio.recipe import AudioRecipe

DECIBELS = 4.0
"""About so many decibels to a unit of level: noise spreads by that much."""


def paste_call(
    rng: np.random.Generator,
    level: np.ndarray,
    time: np.ndarray,
    call: np.ndarray,
    middle: float,
    recipe: AudioRecipe,
) -> tuple[np.ndarray, np.ndarray]:
    """A call of elsewhere, louder or fainter, in a window, if there is room between those that are in it.

    middle: of the call, in frames of its own levels, which may be cut off where its recording begins or ends.
    Where the call is louder than the window it is heard, elsewhere it is not: levels are logarithms.
    """
    width, length = level.shape[1], call.shape[1]
    if not 0 < length < width:
        return level, time
    start = int(rng.integers(0, width - length + 1))
    moment = start + middle
    if len(time) and np.abs(time - moment).min() < length:
        return level, time
    gain = rng.uniform(recipe.mix_gain_low_db, recipe.mix_gain_high_db) / DECIBELS
    mixed = level.copy()
    mixed[:, start : start + length] = np.maximum(mixed[:, start : start + length], call + gain)
    return mixed, np.append(time, moment)


def augment_spectrogram(rng: np.random.Generator, level: np.ndarray, recipe: AudioRecipe) -> np.ndarray:
    """Another response over the bands, and parts that are hidden behind the usual level."""
    bands, width = level.shape
    if recipe.spectral_tilt_db:
        across = np.linspace(-0.5, 0.5, bands, dtype=np.float32)[:, None]
        level = level + np.float32(rng.uniform(-recipe.spectral_tilt_db, recipe.spectral_tilt_db) / DECIBELS) * across
    if rng.random() < recipe.spec_augment:
        level = level.copy()
        if rng.random() < 0.5:
            first = int(rng.integers(0, bands))
            level[first : first + int(rng.integers(1, 9))] = 0
        else:
            first, longest = int(rng.integers(0, width)), max(round(0.4 / recipe.hop_seconds), 2)
            level[:, first : first + int(rng.integers(1, longest))] = 0
    return np.ascontiguousarray(level, np.float32)
