"""Views: the same picture mirrored, upside down or turned, and maps turned back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class TTATransform(NamedTuple):
    """Rows and columns swapped (or not), then mirrored left to right, then upside down."""

    transpose: bool = False
    mirror: bool = False
    flip: bool = False

    def apply(self, picture: np.ndarray) -> np.ndarray:
        """(height, width, …) as this view shows it."""
        seen = picture.swapaxes(0, 1) if self.transpose else picture
        seen = seen[:, ::-1] if self.mirror else seen
        return np.ascontiguousarray(seen[::-1] if self.flip else seen)

    def apply_points(self, listed: np.ndarray, side: int) -> np.ndarray:
        """Points (…, 6) that are listed by their cell of a square grid, and by how far they are from its middle."""
        cell, across, down = (listed[..., number] for number in range(3))
        row, column = np.divmod(cell, side)
        if self.transpose:
            row, column, across, down = column, row, down, across
        if self.mirror:
            column, across = side - 1 - column, -across
        if self.flip:
            row, down = side - 1 - row, -down
        seen = listed.copy()
        seen[..., 0], seen[..., 1], seen[..., 2] = np.where(cell < 0, -1, row * side + column), across, down
        return seen

    def invert(self, maps: np.ndarray) -> np.ndarray:
        """(…, height, width) of the view, as it lies on the picture itself."""
        seen = maps[..., ::-1, :] if self.flip else maps
        seen = seen[..., ::-1] if self.mirror else seen
        return seen.swapaxes(-1, -2) if self.transpose else seen


NO_YES = (False, True)
ALL = [TTATransform(transpose, mirror, flip) for transpose in NO_YES for flip in NO_YES for mirror in NO_YES]


def tta_transforms(count: int) -> list[TTATransform]:
    """The first 1, 2, 4 or 8 of all views: as it is, mirrored, upside down, turned."""
    return ALL[:count]
