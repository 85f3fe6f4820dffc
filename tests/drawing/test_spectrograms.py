"""Spectrograms show sounds at their time and frequency."""

from __future__ import annotations

import numpy as np

from tallymark.drawing.spectrograms import decibel_spectrogram, draw_spectrogram
from tallymark.geometry import Events


def test_a_tone_is_at_its_time_and_frequency() -> None:
    rate, seconds = 1000, 20
    time = np.arange(rate * seconds) / rate
    sound = 0.001 * np.random.default_rng(0).standard_normal(len(time))
    sound[8000:9000] += np.sin(2 * np.pi * 200 * time[8000:9000])
    level = decibel_spectrogram(sound, rate)
    row, column = np.unravel_index(np.argmax(level), level.shape)
    assert abs(row / (level.shape[0] - 1) * rate / 2 - 200) < 6
    assert abs(column / level.shape[1] * seconds - 8.5) < 0.6
    with_event = draw_spectrogram(level, (0, 20), 500, Events(np.array([8.5]), np.array([1.0])))
    without = draw_spectrogram(level, (0, 20), 500, Events(np.empty(0)))
    changed = np.flatnonzero((with_event != without).any(axis=(0, 2)))
    width = with_event.shape[1] - 48
    assert abs(changed.min() - (40 + 8 / 20 * width)) <= 3
    assert abs(changed.max() - (40 + 9 / 20 * width)) <= 3


def test_the_frames_of_a_short_sound_last_as_long_as_it() -> None:
    click = np.zeros(1000)
    click[200] = 1
    level = decibel_spectrogram(click, 1000)
    assert abs((np.argmax(level[40]) + 0.5) / level.shape[1] - 0.2) < 0.03


def test_silent_and_empty_sounds_are_drawn_too() -> None:
    for samples in (np.zeros(5000), np.empty(0), np.full(5000, np.nan)):
        drawn = draw_spectrogram(decibel_spectrogram(samples, 1000), (0, 5), 500, Events(np.array([1.0])))
        assert drawn.shape == (240, 480, 3)
