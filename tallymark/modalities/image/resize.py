"""Resizing: how an image of any size is given to a network."""

from __future__ import annotations

import math

import cv2
import numpy as np

from tallymark.detector.strides import BLOCK

MAX_SIZE = 1 << 15
"""Maximum `image_size` in pixels."""
GRAY = 114
"""The value of padded pixels, about the mean of photographs."""


def resize_longer_side(image: np.ndarray, size: int) -> np.ndarray:
    """An image (height, width, 3) whose longer side has `size` pixels."""
    height, width = image.shape[:2]
    scale = size / max(height, width)
    return resize(image, max(round(width * scale), 1), max(round(height * scale), 1))


def pad_to_blocks(image: np.ndarray) -> np.ndarray:
    """Padded with gray on the right and below, to multiples of `BLOCK` pixels."""
    down, across = (-image.shape[0] % BLOCK, -image.shape[1] % BLOCK)
    if not down and not across:
        return image
    return cv2.copyMakeBorder(image, 0, down, 0, across, cv2.BORDER_CONSTANT, value=(GRAY,) * 3)


def resize_area(image: np.ndarray, size: int) -> np.ndarray:
    """About `size` * `size` pixels in the image's own proportions, both sides multiples of `BLOCK`."""
    height, width = image.shape[:2]
    wide = size * math.sqrt(width / height)
    across, down = (max(round(length / BLOCK), 1) * BLOCK for length in (wide, size * size / wide))
    return resize(image, across, down)


def resize(image: np.ndarray, width: int, height: int) -> np.ndarray:
    """Shrunk by area averaging, enlarged by linear interpolation."""
    if (height, width) == image.shape[:2]:
        return image
    shrinks = width * height < image.shape[0] * image.shape[1]
    return cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)
