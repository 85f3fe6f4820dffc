"""Where a drawn image has a colour."""

from __future__ import annotations

import numpy as np

from tallymark.drawing.colors import Color


def has_color(image: np.ndarray, color: Color) -> np.ndarray:
    """The pixels that have about this colour."""
    return (np.abs(image.astype(int) - color) < 60).all(axis=2)
