"""Attributes of events in recordings: their signal-to-noise ratio."""

from __future__ import annotations

import numpy as np

from tallymark.core.parallel import in_threads
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.geometry import Events
from tallymark.io.audio import read_audio
from tallymark.io.media import BadMedia
from tallymark.modalities.attributes import Attribute

CONTEXT = 4.0
"""Seconds before and after an event that its background is measured in."""
NEAR = 0.5
"""Seconds around its centre that the event itself is measured in."""
RATE = 1000
"""Samples per second: low calls only, as they are the quietest beside ships and wind."""
BAND = (50.0, 300.0)
"""Hertz."""
WINDOW = 128
"""Samples of a frame, about an eighth of a second."""
MOST = 2_000
"""Events that are measured; of more, a random sample, so that a season takes no longer than a day."""


def snr(catalog: Catalog, rows: np.ndarray, annotations: Annotations[Events]) -> np.ndarray:
    """Decibels by which the loudest frame near an event is above the median frame around it, from 50 to 300 Hz."""
    ratio = np.full(len(annotations), np.nan)
    known = np.flatnonzero(rows[annotations.item] >= 0)
    if len(known) > MOST:
        known = np.sort(np.random.default_rng(0).choice(known, MOST, replace=False))
    times = annotations.shapes.time

    def measure(event: int) -> float:
        path = catalog.path(int(rows[annotations.item[event]]))
        assert path is not None, "only items with a file are measured"
        start = max(0.0, float(times[event]) - CONTEXT)
        try:
            sound = read_audio(path, start, float(times[event]) + CONTEXT, RATE)
        except BadMedia:
            return np.nan
        return _ratio(np.nan_to_num(sound), float(times[event]) - start)

    ratio[known] = in_threads(measure, known.tolist(), "measuring events")
    return ratio


def _ratio(sound: np.ndarray, centre: float) -> float:
    hop = WINDOW // 2
    count = (len(sound) - WINDOW) // hop + 1
    if count < 4:
        return np.nan
    frames = np.lib.stride_tricks.sliding_window_view(sound, WINDOW)[::hop][:count]
    power = np.abs(np.fft.rfft(frames * np.hanning(WINDOW), axis=1)) ** 2
    hertz = np.fft.rfftfreq(WINDOW, 1 / RATE)
    level = power[:, (hertz >= BAND[0]) & (hertz <= BAND[1])].mean(axis=1)
    time = (np.arange(count) * hop + WINDOW / 2) / RATE
    near = np.abs(time - centre) <= NEAR
    background = np.median(level[~near]) if (~near).any() else 0.0
    if not near.any() or background <= 0:
        return np.nan
    return float(10 * np.log10(level[near].max() / background))


ATTRIBUTES = (Attribute("signal-to-noise ratio", "dB", snr, (5.0, 10.0, 15.0), truth_only=True),)
