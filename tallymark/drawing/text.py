"""Captions on images, and placeholders for images that cannot be drawn."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from tallymark.drawing.colors import BACKGROUND, FOREGROUND, Color

CAPTION_HEIGHT = 24
"""Pixels of the strip below a caption."""
LEGEND_STEP = 18
"""Pixels from one line of a legend to the next."""
LINE_HEIGHT = 26
LINE_LENGTH = 40
MAX_LINES = 6


def font(size: int) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    """The default font in a size in pixels."""
    return ImageFont.load_default(size)


def draw_caption(image: np.ndarray, caption: str) -> np.ndarray:
    """The RGB image with a line of text on a dark strip along its lower edge."""
    canvas = Image.fromarray(image)
    draw = ImageDraw.Draw(canvas, "RGBA")
    draw.rectangle((0, canvas.height - CAPTION_HEIGHT, canvas.width, canvas.height), fill=(*BACKGROUND, 215))
    draw.text((8, canvas.height - CAPTION_HEIGHT / 2), caption, fill=FOREGROUND, font=font(13), anchor="lm")
    return np.asarray(canvas)


def draw_legend(image: np.ndarray, entries: Sequence[tuple[str, Color]]) -> np.ndarray:
    """The RGB image with names in their colours in its upper left corner, one below the other."""
    canvas = Image.fromarray(image)
    draw = ImageDraw.Draw(canvas)
    for row, (name, color) in enumerate(entries):
        draw.text((8, 8 + row * LEGEND_STEP), name, fill=color, font=font(14))
    return np.asarray(canvas)


def placeholder(message: str, size: tuple[int, int]) -> np.ndarray:
    """A dark RGB image with a message in place of an image; `size` is (width, height) in pixels."""
    canvas = Image.new("RGB", size, BACKGROUND)
    draw = ImageDraw.Draw(canvas)
    width, height = size
    draw.line((0, 0, width, height), fill=(38, 44, 52))
    draw.line((0, height, width, 0), fill=(38, 44, 52))
    lines = textwrap.wrap(message, LINE_LENGTH)[:MAX_LINES] or [""]
    for row, line in enumerate(lines):
        y = height / 2 + LINE_HEIGHT * (row - (len(lines) - 1) / 2)
        draw.text((width / 2, y), line, fill=FOREGROUND, font=font(20), anchor="mm")
    return np.asarray(canvas)
