"""Frames: how a picture of any size is shown to a network."""

from __future__ import annotations

import math

import cv2
import numpy as np

BLOCK = 32
"""Sides of what a network sees are multiples of this, as its coarsest features need."""
GREY = 114
"""What lies outside of a picture."""


def fitted(picture: np.ndarray, side: int) -> np.ndarray:
    """A picture whose longer side is `side`."""
    height, width = picture.shape[:2]
    by = side / max(height, width)
    return resized(picture, max(round(width * by), 1), max(round(height * by), 1))


def padded(picture: np.ndarray) -> np.ndarray:
    """With grey to the right and below, up to whole blocks."""
    down, across = (-picture.shape[0] % BLOCK, -picture.shape[1] % BLOCK)
    if not down and not across:
        return picture
    return cv2.copyMakeBorder(picture, 0, down, 0, across, cv2.BORDER_CONSTANT, value=(GREY,) * 3)


def squared(picture: np.ndarray, side: int) -> np.ndarray:
    """With about as many pixels as a square of that side, in the picture's own proportions, in whole blocks."""
    height, width = picture.shape[:2]
    wide = side * math.sqrt(width / height)
    across, down = (max(round(length / BLOCK), 1) * BLOCK for length in (wide, side * side / wide))
    return resized(picture, across, down)


def resized(picture: np.ndarray, width: int, height: int) -> np.ndarray:
    """Shrunk by averaging, grown by interpolation."""
    if (height, width) == picture.shape[:2]:
        return picture
    shrinks = width * height < picture.shape[0] * picture.shape[1]
    return cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)
