"""Resizing: how an image of any size is given to a network."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import cv2
import numpy as np

from tallymark.detector.strides import BLOCK
from tallymark.io.images import WantedSize, read_at_least

MAX_SIZE = 1 << 15
"""Maximum `image_size` in pixels."""
GRAY = 114
"""The value of padded pixels, about the mean of photographs."""
PERIODS = (1, 2, 4, 8, 16)
"""Pixels after which the weights of area averaging repeat, where they and all sums are exact in single precision."""


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
    if width * height >= image.shape[0] * image.shape[1]:
        return cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR)
    whole = image.shape[0] % height == 0 and image.shape[1] % width == 0  # for which OpenCV has a faster way
    if not whole and _period(image.shape[0], height) in PERIODS and _period(image.shape[1], width) in PERIODS:
        return _shrink_exactly(image, width, height)
    return cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)


def _shrink_exactly(image: np.ndarray, width: int, height: int) -> np.ndarray:
    """Area averaging as two matrix products: bit by bit what OpenCV gives, in half to two thirds of the time."""
    rows = cv2.transpose(_shrink_rows(image.astype(np.float32), height))
    return cv2.transpose(np.rint(_shrink_rows(rows, width)).astype(np.uint8))


def _shrink_rows(rows: np.ndarray, count: int) -> np.ndarray:
    period = _period(len(rows), count)
    weights = _area_weights(period, count * period // len(rows))
    return np.matmul(weights, rows.reshape(len(rows) // period, period, -1)).reshape(count, *rows.shape[1:])


@cache
def _area_weights(period: int, count: int) -> np.ndarray:
    """(count, period): the shares that rows have in each of `count` equal stretches of them."""
    stretch, row = np.arange(count)[:, None], np.arange(period)
    overlap = np.minimum((stretch + 1) * period, (row + 1) * count) - np.maximum(stretch * period, row * count)
    weights: np.ndarray = (np.maximum(overlap, 0) / period).astype(np.float32)
    return weights


def _period(length: int, count: int) -> int:
    """Pixels after which the weights repeat, where a length is shrunk to `count` pixels."""
    return length // math.gcd(length, count)
