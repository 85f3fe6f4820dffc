"""Test-time augmentation (TTA): an input flipped or transposed, and the outputs transformed back."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np


class TTATransform(NamedTuple):
    """Rows and columns swapped (or not), then flipped left to right, then upside down."""

    transpose: bool = False
    hflip: bool = False
    vflip: bool = False

    def apply(self, grid: np.ndarray) -> np.ndarray:
        """A grid (height, width, …) under this transform."""
        out = grid.swapaxes(0, 1) if self.transpose else grid
        out = out[:, ::-1] if self.hflip else out
        return np.ascontiguousarray(out[::-1] if self.vflip else out)

    def apply_image(self, image: np.ndarray) -> np.ndarray:
        """The same for an image (height, width, 3) of bytes, by OpenCV: NumPy takes 10 to 40 times as long."""
        out = cv2.transpose(image) if self.transpose else image
        if self.hflip or self.vflip:
            return cv2.flip(out, -1 if self.hflip and self.vflip else int(self.hflip))
        return np.ascontiguousarray(out)

    def apply_points(self, points: np.ndarray, side: int) -> np.ndarray:
        """Pillar points (…, 6) under this transform: their cell of a (side, side) grid, and offsets from its centre."""
        cell, across, down = (points[..., column] for column in range(3))
        row, column = np.divmod(cell, side)
        if self.transpose:
            row, column, across, down = column, row, down, across
        if self.hflip:
            column, across = side - 1 - column, -across
        if self.vflip:
            row, down = side - 1 - row, -down
        out = points.copy()
        out[..., 0], out[..., 1], out[..., 2] = np.where(cell < 0, -1, row * side + column), across, down
        return out

    def invert(self, maps: np.ndarray) -> np.ndarray:
        """Maps (…, height, width) of a transformed input, as they lie on the input itself."""
        out = maps[..., ::-1, :] if self.vflip else maps
        out = out[..., ::-1] if self.hflip else out
        return out.swapaxes(-1, -2) if self.transpose else out


NO_YES = (False, True)
ALL = [TTATransform(transpose, hflip, vflip) for transpose in NO_YES for vflip in NO_YES for hflip in NO_YES]


def tta_transforms(count: int) -> list[TTATransform]:
    """The first 1, 2, 4 or 8 of all transforms: identity, mirrored, upside down, transposed."""
    return ALL[:count]
