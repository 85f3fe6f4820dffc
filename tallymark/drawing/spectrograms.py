"""Spectrograms in decibels, and how they are drawn with their axes and events."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from PIL import Image, ImageDraw

from tallymark.core.humanize import clock
from tallymark.drawing.boxes_and_masks import WIDTH
from tallymark.drawing.colors import ANNOTATION, BACKGROUND, MUTED
from tallymark.drawing.text import font
from tallymark.geometry import Events

SIZE = (WIDTH, 240)
"""Width and height of a drawn spectrogram in pixels."""
TIME_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400)
"""Seconds between ticks of the time axis."""
FREQUENCY_STEPS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
"""Hertz between ticks of the frequency axis."""
MAX_TICKS = 5
MARGINS = (40, 20, 8, 24)
"""Pixels left, above, right and below of the plot."""
MIN_SAMPLES = 8
MIN_RANGE = 6.0
"""Decibels that the colour map spans at least."""


def decibel_spectrogram(samples: np.ndarray, rate: int, window_seconds: float = 0.256) -> np.ndarray:
    """The spectrogram (frequencies, frames) of a sound in decibels, from 0 Hz to half the sample rate.

    The hop is an eighth of the window. The sound is padded by reflection at both ends, so that the frames together
    last as long as the sound.
    """
    from scipy.signal import stft

    window = min(max(MIN_SAMPLES, round(window_seconds * rate)), len(samples))
    if window < MIN_SAMPLES:
        return np.empty((0, 0))
    hop = max(1, window // 8)
    padded = np.pad(np.nan_to_num(samples), (window - hop) // 2, mode="reflect")
    _, _, spectrum = stft(padded, rate, nperseg=window, noverlap=window - hop, boundary=None)
    return 20 * np.log10(np.abs(spectrum) + 1e-9)


def draw_spectrogram(
    level: np.ndarray,
    span: tuple[float, float],
    fmax: float,
    events: Events,
    size: tuple[int, int] = SIZE,
    *,
    fmin: float = 0.0,
    level_range: tuple[float, float] | None = None,
) -> np.ndarray:
    """Draw a spectrogram with its axes and events as an RGB image.

    An event is a bracket above the plot, as long as the event where its length is known.

    Parameters
    ----------
    level: (frequencies, frames); the first row is `fmin` Hz, the last `fmax` Hz.
    span: start and end of the plot in seconds.
    size: width and height of the image in pixels.
    level_range: the levels drawn darkest and brightest. By default, each frequency is drawn relative to its own
        median, so that constant noise recedes.
    """
    width, height = size
    left, top, right, bottom = MARGINS
    plot_width, plot_height = width - left - right, height - top - bottom
    canvas = Image.new("RGB", size, BACKGROUND)
    if level.size:
        canvas.paste(Image.fromarray(_colorize(level, plot_width, plot_height, level_range)), (left, top))
    draw = ImageDraw.Draw(canvas)
    _draw_axes(draw, span, (fmin, fmax), (plot_width, plot_height))
    _draw_events(draw, span, events, (plot_width, plot_height))
    return np.asarray(canvas)


def _draw_axes(
    draw: ImageDraw.ImageDraw, span: tuple[float, float], frequencies: tuple[float, float], plot: tuple[int, int]
) -> None:
    """Ticks of time below the plot and of frequency to its left."""
    left, top, right, _ = MARGINS
    plot_width, plot_height = plot
    start, stop = span
    seconds = max(stop - start, 1e-9)
    width = left + plot_width + right
    for tick in _ticks(start, stop, TIME_STEPS):
        x = left + (tick - start) / seconds * plot_width
        draw.line((x, top + plot_height, x, top + plot_height + 3), fill=MUTED)
        draw.text((min(x, width - 18), top + plot_height + 12), clock(tick), fill=MUTED, font=font(11), anchor="mm")
    fmin, fmax = frequencies
    ticks = _ticks(fmin, fmax, FREQUENCY_STEPS)
    for tick in ticks:
        y = top + plot_height - (tick - fmin) / (fmax - fmin) * plot_height
        label = f"{tick:g}" + (" Hz" if tick == ticks[0] else "")
        draw.line((left - 3, y, left, y), fill=MUTED)
        draw.text((left - 6, y), label, fill=MUTED, font=font(11), anchor="rm")


def _draw_events(draw: ImageDraw.ImageDraw, span: tuple[float, float], events: Events, plot: tuple[int, int]) -> None:
    """Brackets above the plot at the times of events."""
    left, top, _, _ = MARGINS
    plot_width, plot_height = plot
    start, stop = span
    seconds = max(stop - start, 1e-9)
    half = np.zeros(len(events)) if events.length is None else np.nan_to_num(events.length) / 2
    for time, reach in zip(events.time.tolist(), half.tolist(), strict=True):
        if start <= time + reach and time - reach <= stop:
            first, last = (
                left + (np.clip(at, start, stop) - start) / seconds * plot_width for at in (time - reach, time + reach)
            )
            draw.line((first, top - 5, max(last, first + 2), top - 5), fill=ANNOTATION, width=4)
            for x in (first, last) if reach and last - first > 4 else ():
                draw.line((x, top - 5, x, top + plot_height), fill=ANNOTATION)


def _colorize(level: np.ndarray, width: int, height: int, level_range: tuple[float, float] | None) -> np.ndarray:
    """Levels as an RGB image of this size; low frequencies at the bottom."""
    if level_range is None:
        level = level - np.median(level, axis=1, keepdims=True)
        low, high = np.percentile(level, [50, 99.7])
        high = max(high, low + MIN_RANGE)
    else:
        low, high = level_range
    gray = np.clip((level - low) / (high - low) * 255, 0, 255).astype(np.uint8)
    interpolation = cv2.INTER_AREA if gray.shape[1] > width else cv2.INTER_LINEAR
    resized = cv2.resize(gray[::-1], (width, height), interpolation=interpolation)
    return cv2.cvtColor(cv2.applyColorMap(resized, cv2.COLORMAP_MAGMA), cv2.COLOR_BGR2RGB)


def _ticks(low: float, high: float, steps: Sequence[float]) -> list[float]:
    """Multiples of one of the steps in a range, about five at most."""
    span = max(high - low, 1e-9)
    step = next((step for step in steps if span / step <= MAX_TICKS), span / MAX_TICKS)
    return [float(k * step) for k in range(int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9)) + 1)]
