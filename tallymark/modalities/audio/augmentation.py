"""Augmentation of spectrograms: other hydrophones, other distances, pasted calls, and SpecAugment."""

from __future__ import annotations

import numpy as np

from tallymark.modalities.audio.recipe import AudioRecipe

DECIBELS = 4.0
"""Decibels per unit of a normalised spectrogram, about the standard deviation of noise."""
MIN_PASTED = 1.5
"""Level from which a part of a call is pasted: less is mostly the noise around it."""
MAX_MASKED_BINS = 8
MAX_MASKED_SECONDS = 0.4


def paste_call(
    rng: np.random.Generator,
    clip: np.ndarray,
    time: np.ndarray,
    call: np.ndarray,
    center: float,
    recipe: AudioRecipe,
) -> tuple[np.ndarray, np.ndarray]:
    """A clip (bins, frames) with a call from elsewhere at a random gain, if there is room between its own calls.

    time: of the calls in the clip, in frames. center: of the pasted call, in frames of its own spectrogram, which may
    be cut off where its recording begins or ends. Levels are logarithms, so that the louder one of both remains; the
    noise around the call is not pasted, which would tell where it is.
    """
    width = clip.shape[1]
    length = call.shape[1]
    if not 0 < length < width:
        return clip, time
    start = int(rng.integers(0, width - length + 1))
    pasted_time = start + center
    if len(time) and np.abs(time - pasted_time).min() < length:
        return clip, time
    gain = rng.uniform(recipe.mix_gain_low_db, recipe.mix_gain_high_db) / DECIBELS
    mixed = clip.copy()
    window = mixed[:, start : start + length]
    np.maximum(window, call + gain, out=window, where=call >= MIN_PASTED)
    return mixed, np.append(time, pasted_time)


def augment_spectrogram(rng: np.random.Generator, clip: np.ndarray, recipe: AudioRecipe) -> np.ndarray:
    """A change of pitch, a spectral tilt, and a masked stretch of time or frequency (Park et al. 2019: SpecAugment)."""
    bins, width = clip.shape
    if recipe.pitch_shift:
        clip = shift_pitch(clip, 1 + rng.uniform(-recipe.pitch_shift, recipe.pitch_shift), recipe)
    if recipe.spectral_tilt_db:
        slope = np.linspace(-0.5, 0.5, bins, dtype=np.float32)[:, None]
        clip = clip + np.float32(rng.uniform(-recipe.spectral_tilt_db, recipe.spectral_tilt_db) / DECIBELS) * slope
    if rng.random() < recipe.spec_augment:
        clip = clip.copy()
        if rng.random() < 0.5:
            first = int(rng.integers(0, bins))
            clip[first : first + int(rng.integers(1, MAX_MASKED_BINS + 1))] = 0
        else:
            first = int(rng.integers(0, width))
            longest = max(round(MAX_MASKED_SECONDS / recipe.hop_seconds), 2)
            clip[:, first : first + int(rng.integers(1, longest))] = 0
    return np.ascontiguousarray(clip, np.float32)


def shift_pitch(clip: np.ndarray, factor: float, recipe: AudioRecipe) -> np.ndarray:
    """A clip (bins, frames) with all frequencies multiplied by a factor; what is missing at an edge is mirrored."""
    bins = len(clip)
    lowest = round(recipe.fmin * recipe.window_seconds)
    source = np.rint((lowest + np.arange(bins)) / factor - lowest).astype(np.int64)
    return clip[np.clip(bins - 1 - np.abs(bins - 1 - np.abs(source)), 0, bins - 1)]
