"""Truth drawn into media. All pictures are (height, width, 3) RGB bytes; what goes in is left as it was."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from tallymark.geometry import Boxes, Events, Masks
from tallymark.reporting.humanize import clock

WIDTH = 480
"""Pixels across of a drawing."""
NARROW = 240
"""Smaller pictures than that are enlarged to it."""
Colour = tuple[int, int, int]
PALETTE: tuple[Colour, ...] = (
    (255, 168, 0), (86, 180, 233), (0, 158, 115), (240, 228, 66), (213, 94, 0),
    (204, 121, 167), (255, 255, 255), (90, 130, 255), (150, 150, 150),
)  # fmt: skip
"""Colours that any reader tells apart (after Okabe and Ito), bright on a dark ground."""
TRUTH, FOCUS = PALETTE[:2]
INK, FAINT, NIGHT = (230, 233, 237), (152, 163, 175), (18, 22, 27)
SHADE = (16, 18, 20)
CLOCK = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400)
SCALE = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
"""Steps of seconds and of hertz between the marks of a spectrogram."""
FINE = 4
"""Bits behind the point in coordinates given to OpenCV: outlines are drawn to a sixteenth of a pixel."""


def fit(picture: np.ndarray, width: int = WIDTH) -> tuple[np.ndarray, float]:
    """The picture at most `width` across and three times that down (very small ones enlarged), and by how much."""
    height, own = picture.shape[:2]
    across = width if own >= width else max(own, NARROW)
    scale = min(across / own, 3 * width / height)
    size = max(1, round(own * scale)), max(1, round(height * scale))
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    return cv2.resize(picture, size, interpolation=how), scale


def draw_boxes(
    picture: np.ndarray, boxes: Boxes, scale: float = 1.0, colour: Colour = TRUTH, thick: int = 1
) -> np.ndarray:
    """Outlines of boxes; their pixels times `scale` are those of the picture.

    Lines lie on whole pixels, so that they are bright: the first and the last of the box, so that one which ends with
    the picture has four sides.
    """
    left, top = np.round(boxes.x * scale), np.round(boxes.y * scale)
    right = np.maximum(np.round((boxes.x + boxes.width) * scale) - 1, left)
    bottom = np.maximum(np.round((boxes.y + boxes.height) * scale) - 1, top)
    corners = np.stack([left, top, right, top, right, bottom, left, bottom], axis=1)
    return draw_outlines(picture, corners.reshape(-1, 4, 2) + 0.5, colour, thick=thick)


def draw_masks(
    picture: np.ndarray, masks: Masks, colour: Colour = TRUTH, fill: float = 0.25, thick: int = 1
) -> np.ndarray:
    """Masks washed over and outlined, stretched to the picture."""
    tall, wide = picture.shape[:2]
    stretch = np.array([wide / masks.shape[1], tall / masks.shape[0]])
    outlines: list[np.ndarray] = []
    for mask in range(len(masks)):
        outlines += [outline * stretch for outline in _edges(masks, mask)]
    washed = picture.copy()
    if outlines:
        cv2.fillPoly(washed, [_fine(outline) for outline in outlines], colour, cv2.LINE_AA, FINE)
    mixed = cv2.addWeighted(washed, fill, picture, 1 - fill, 0)
    return draw_outlines(mixed, outlines, colour, thick=thick)


def draw_outlines(
    picture: np.ndarray,
    outlines: Sequence[np.ndarray] | np.ndarray,
    colour: Colour,
    *,
    closed: bool = True,
    thick: int = 1,
) -> np.ndarray:
    """Lines through points (n, 2), on a dark shade that keeps them visible on any ground."""
    drawn = picture.copy()
    lines = [_fine(outline) for outline in outlines if np.isfinite(outline).all()]
    if lines:
        shaded = drawn.copy()
        cv2.polylines(shaded, lines, closed, SHADE, thick + 2, cv2.LINE_AA, FINE)
        drawn = cv2.addWeighted(shaded, 0.5, drawn, 0.5, 0)
        cv2.polylines(drawn, lines, closed, colour, thick, cv2.LINE_AA, FINE)
    return drawn


def write_label(picture: np.ndarray, words: str) -> np.ndarray:
    """The picture with a line of text on a dark strip along its lower edge."""
    canvas = Image.fromarray(picture)
    strip = 24
    draw = ImageDraw.Draw(canvas, "RGBA")
    draw.rectangle((0, canvas.height - strip, canvas.width, canvas.height), fill=(*NIGHT, 215))
    draw.text((8, canvas.height - strip / 2), words, fill=INK, font=_font(13), anchor="lm")
    return np.asarray(canvas)


def blank(words: str, size: tuple[int, int] = (WIDTH, WIDTH * 3 // 4)) -> np.ndarray:
    """A dark tile that says why there is no picture; `size` is width and height."""
    canvas = Image.new("RGB", size, NIGHT)
    draw = ImageDraw.Draw(canvas)
    width, height = size
    draw.line((0, 0, width, height), fill=(38, 44, 52))
    draw.line((0, height, width, 0), fill=(38, 44, 52))
    lines = _wrapped(words, 40)
    for at, line in enumerate(lines):
        place = width / 2, height / 2 + 26 * (at - (len(lines) - 1) / 2)
        draw.text(place, line, fill=INK, font=_font(20), anchor="mm")
    return np.asarray(canvas)


def levels(samples: np.ndarray, rate: int, window: float = 0.256) -> np.ndarray:
    """The spectrogram of a sound in decibels: a row for each frequency from 0 to half the rate, a column for each step.

    `window` is its length in seconds; steps are an eighth of it. The columns side by side are as long as the sound:
    around both of its ends it is heard mirrored.
    """
    from scipy.signal import stft

    long = min(max(8, round(window * rate)), len(samples))
    if long < 8:
        return np.empty((0, 0))
    step = max(1, long // 8)
    whole = np.pad(np.nan_to_num(samples), (long - step) // 2, mode="reflect")
    _, _, waves = stft(whole, rate, nperseg=long, noverlap=long - step, boundary=None)
    return 20 * np.log10(np.abs(waves) + 1e-9)


def draw_spectrogram(
    level: np.ndarray,
    span: tuple[float, float],
    top: float,
    calls: Events,
    size: tuple[int, int] = (WIDTH, 240),
    *,
    bottom: float = 0.0,
    shades: tuple[float, float] | None = None,
) -> np.ndarray:
    """Levels (decibels; row 0 is `bottom` Hz, the last row `top` Hz) over `span` seconds, with its axes and calls.

    Each frequency is shown against its own median, so that steady noise recedes; with `shades`, levels are shown as
    they are, from the darkest to the brightest. A call is a bracket above the plot, as long as the call where its
    length is known.
    """
    width, height = size
    left, upper, below = 40, 20, 24
    across, down = width - left - 8, height - upper - below
    canvas = Image.new("RGB", size, NIGHT)
    if level.size:
        canvas.paste(Image.fromarray(_coloured(level, across, down, shades)), (left, upper))
    draw = ImageDraw.Draw(canvas)
    start, stop = span
    seconds = max(stop - start, 1e-9)
    for tick in _steps(start, stop, CLOCK):
        x = left + (tick - start) / seconds * across
        draw.line((x, upper + down, x, upper + down + 3), fill=FAINT)
        draw.text((min(x, width - 18), upper + down + 12), clock(tick), fill=FAINT, font=_font(11), anchor="mm")
    marks = _steps(bottom, top, SCALE)
    for tick in marks:
        y = upper + down - (tick - bottom) / (top - bottom) * down
        words = f"{tick:g}" + (" Hz" if tick == marks[0] else "")
        draw.line((left - 3, y, left, y), fill=FAINT)
        draw.text((left - 6, y), words, fill=FAINT, font=_font(11), anchor="rm")
    half = np.zeros(len(calls)) if calls.length is None else np.nan_to_num(calls.length) / 2
    for time, reach in zip(calls.time.tolist(), half.tolist(), strict=True):
        if start <= time + reach and time - reach <= stop:
            first, last = (
                left + (np.clip(at, start, stop) - start) / seconds * across for at in (time - reach, time + reach)
            )
            draw.line((first, upper - 5, max(last, first + 2), upper - 5), fill=TRUTH, width=4)
            for x in (first, last) if reach and last - first > 4 else ():
                draw.line((x, upper - 5, x, upper + down), fill=TRUTH)
    return np.asarray(canvas)


def _coloured(level: np.ndarray, width: int, height: int, shades: tuple[float, float] | None) -> np.ndarray:
    if shades is None:
        level = level - np.median(level, axis=1, keepdims=True)
        low, high = np.percentile(level, [50, 99.7])
        high = max(high, low + 6.0)
    else:
        low, high = shades
    grey = np.clip((level - low) / (high - low) * 255, 0, 255).astype(np.uint8)
    across = cv2.INTER_AREA if grey.shape[1] > width else cv2.INTER_LINEAR
    sized = cv2.resize(grey[::-1], (width, height), interpolation=across)
    return cv2.cvtColor(cv2.applyColorMap(sized, cv2.COLORMAP_MAGMA), cv2.COLOR_BGR2RGB)


def _edges(masks: Masks, mask: int) -> list[np.ndarray]:
    """The outlines of a mask along the edges of its pixels, (n, 2) each.

    OpenCV runs through the middles of the outermost pixels: of pixels cut into quarters, that is nearly their edge.
    """
    frame, fine = masks.bounds, 4
    left, top = int(frame.first[mask]), int(frame.upper[mask])
    own = masks.picture(mask)[top : int(frame.lower[mask]), left : int(frame.last[mask]) + 1]
    if not own.size:
        return []
    pieces = np.repeat(np.repeat(own.astype(np.uint8), fine, axis=0), fine, axis=1)
    found, _ = cv2.findContours(pieces, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    return [(np.asarray(outline).reshape(-1, 2) + 0.5) / fine + (left, top) for outline in found]


def _steps(low: float, high: float, known: Sequence[float], most: int = 5) -> list[float]:
    """Multiples of a known step in a range, at most about five."""
    span = max(high - low, 1e-9)
    step = next((step for step in known if span / step <= most), span / most)
    return [float(k * step) for k in range(int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9)) + 1)]


def _fine(outline: np.ndarray) -> np.ndarray:
    far = 1 << 20  # beyond any picture, within OpenCV's integers
    return np.clip(np.round((outline - 0.5) * (1 << FINE)), -far, far).astype(np.int32)


def _font(size: int) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    return ImageFont.load_default(size)


def _wrapped(words: str, most: int) -> list[str]:
    import textwrap

    return textwrap.wrap(words, most)[:6] or [""]
