"""Resizing: how an image of any size is given to a network."""

from __future__ import annotations

import math
from pathlib import Path

import cv2
import numpy as np

from tallymark.detector.strides import BLOCK
from tallymark.io.images import WantedSize, read_at_least

MAX_SIZE = 1 << 15
"""Maximum `image_size` in pixels."""
GRAY = 114
"""The value of padded pixels, about the mean of photographs."""


def read_resized(path: Path, shown: WantedSize) -> tuple[np.ndarray, tuple[int, int]]:
    """An image as (height, width, 3) bytes, resized to `shown(width, height)`, and the width and height of the file's.

    Large JPEGs are decoded at reduced size, never below the one that is shown.
    """
    image, size = read_at_least(path, shown)
    return resize(image, *shown(*size)), size


def longer_side(size: int) -> WantedSize:
    """The size in the image's own proportions whose longer side has `size` pixels."""

    def shown(width: int, height: int) -> tuple[int, int]:
        scale = size / max(height, width)
        return max(round(width * scale), 1), max(round(height * scale), 1)

    return shown


def block_area(size: int) -> WantedSize:
    """About `size` * `size` pixels in the image's own proportions, both sides multiples of `BLOCK`."""

    def shown(width: int, height: int) -> tuple[int, int]:
        wide = size * math.sqrt(width / height)
        across, down = (max(round(length / BLOCK), 1) * BLOCK for length in (wide, size * size / wide))
        return across, down

    return shown


def pad_to_blocks(image: np.ndarray) -> np.ndarray:
    """Padded with gray on the right and below, to multiples of `BLOCK` pixels."""
    down, across = (-image.shape[0] % BLOCK, -image.shape[1] % BLOCK)
    if not down and not across:
        return image
    return cv2.copyMakeBorder(image, 0, down, 0, across, cv2.BORDER_CONSTANT, value=(GRAY,) * 3)


def resize(image: np.ndarray, width: int, height: int) -> np.ndarray:
    """Shrunk by area averaging, enlarged by linear interpolation."""
    if (height, width) == image.shape[:2]:
        return image
    shrinks = width * height < image.shape[0] * image.shape[1]
    return cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)
