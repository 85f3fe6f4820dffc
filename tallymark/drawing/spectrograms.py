"""Spectrograms in decibels, and how they are drawn with their axes and events."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from PIL import Image, ImageDraw

from tallymark.core.humanize import clock
from tallymark.drawing.boxes_and_masks import WIDTH
from tallymark.drawing.colors import ANNOTATION, BACKGROUND, MUTED, Color
from tallymark.drawing.text import font
from tallymark.geometry import Events

SIZE = (WIDTH, 240)
"""Width and height of a drawn spectrogram in pixels."""
TIME_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400)
"""Seconds between ticks of the time axis."""
FREQUENCY_STEPS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
"""Hertz between ticks of the frequency axis."""
TICK_SPACING = (80, 45)
"""Pixels between ticks of the time axis, and of the frequency axis, at least."""
MARGINS = (40, 20, 8, 24)
"""Pixels left, above, right and below of the plot."""
NARROW = 8
"""Pixels of the mark of an event without a length."""
MIN_SAMPLES = 8
MIN_RANGE = 6.0
"""Decibels that the colour map spans at least."""


def decibel_spectrogram(samples: np.ndarray, rate: int, window_seconds: float = 0.256) -> np.ndarray:
    """The spectrogram (frequencies, frames) of a sound in decibels, from 0 Hz to half the sample rate.

    The hop is an eighth of the window. The sound is padded by reflection at both ends, so that the frames together
    last as long as the sound.
    """
    window = min(max(MIN_SAMPLES, round(window_seconds * rate)), len(samples))
    if window < MIN_SAMPLES:
        return np.empty((0, 0))
    hop = max(1, window // 8)
    padded = np.pad(np.nan_to_num(samples), (window - hop) // 2, mode="reflect")
    padded = np.pad(padded, (0, (window - len(padded)) % hop))
    hann = np.hanning(window + 1)[:-1]
    frames = np.lib.stride_tricks.sliding_window_view(padded, window)[::hop]
    spectrum = np.fft.rfft(frames * (hann / hann.sum()), axis=1).T
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
    _draw_events(draw, span, events, size)
    return np.asarray(canvas)


def plot_area(size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of the plot in a drawn spectrogram of this width and height, in pixels."""
    left, top, right, bottom = MARGINS
    return left, top, size[0] - right, size[1] - bottom


def mark_events(
    image: np.ndarray,
    span: tuple[float, float],
    events: Events,
    color: Color,
    *,
    captions: Sequence[str] = (),
    below: bool = False,
) -> np.ndarray:
    """A drawn spectrogram with further events in a colour: brackets above the plot, or `below` at its lower edge.

    An event without a length is marked as a narrow one. captions: one for each event, or none; those that would cover
    another are omitted.
    """
    canvas = Image.fromarray(image)
    size = canvas.size
    draw = ImageDraw.Draw(canvas)
    half = NARROW / 2 * (span[1] - span[0]) / (plot_area(size)[2] - plot_area(size)[0])
    length = np.zeros(len(events)) if events.length is None else np.nan_to_num(events.length)
    _draw_events(draw, span, Events(events.time, np.maximum(length, 2 * half)), size, color, below=below)
    _draw_captions(draw, span, events, captions, size, color)
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
    for tick in _ticks(start, stop, TIME_STEPS, plot_width // TICK_SPACING[0]):
        x = left + (tick - start) / seconds * plot_width
        draw.line((x, top + plot_height, x, top + plot_height + 3), fill=MUTED)
        draw.text((min(x, width - 18), top + plot_height + 12), clock(tick), fill=MUTED, font=font(11), anchor="mm")
    fmin, fmax = frequencies
    ticks = _ticks(fmin, fmax, FREQUENCY_STEPS, plot_height // TICK_SPACING[1])
    for tick in ticks:
        y = top + plot_height - (tick - fmin) / (fmax - fmin) * plot_height
        label = f"{tick:g}" + (" Hz" if tick == ticks[0] else "")
        draw.line((left - 3, y, left, y), fill=MUTED)
        draw.text((left - 6, y), label, fill=MUTED, font=font(11), anchor="rm")


def _draw_events(
    draw: ImageDraw.ImageDraw,
    span: tuple[float, float],
    events: Events,
    size: tuple[int, int],
    color: Color = ANNOTATION,
    *,
    below: bool = False,
) -> None:
    """Brackets above the plot at the times of events, or `below` at its lower edge."""
    left, top, right, bottom = plot_area(size)
    start, stop = span
    scale = (right - left) / max(stop - start, 1e-9)
    bar = bottom - 3 if below else top - 5
    half = np.zeros(len(events)) if events.length is None else np.nan_to_num(events.length) / 2
    for time, reach in zip(events.time.tolist(), half.tolist(), strict=True):
        if start <= time + reach and time - reach <= stop:
            first, last = (left + (np.clip(at, start, stop) - start) * scale for at in (time - reach, time + reach))
            draw.line((first, bar, max(last, first + 2), bar), fill=color, width=4)
            for x in (first, last) if reach and last - first > 4 else ():
                draw.line((x, top - (0 if below else 5), x, bottom), fill=color)


def _draw_captions(
    draw: ImageDraw.ImageDraw,
    span: tuple[float, float],
    events: Events,
    captions: Sequence[str],
    size: tuple[int, int],
    color: Color,
) -> None:
    """Texts above the brackets, from left to right, unless they would cover one another."""
    left, _, right, _ = plot_area(size)
    start, stop = span
    free = -np.inf
    by_time = sorted(zip(events.time.tolist(), captions, strict=False))
    for time, caption in by_time:
        x = left + (time - start) / max(stop - start, 1e-9) * (right - left)
        half = draw.textlength(caption, font=font(10)) / 2
        if start <= time <= stop and x - half > free:
            draw.text((x, 6), caption, fill=color, font=font(10), anchor="mm")
            free = x + half + 2


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


def _ticks(low: float, high: float, steps: Sequence[float], most: int) -> list[float]:
    """Multiples of one of the steps in a range, about `most` of them or fewer."""
    span = max(high - low, 1e-9)
    most = max(most, 1)
    step = next((step for step in steps if span / step <= most), span / most)
    return [float(k * step) for k in range(int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9)) + 1)]
