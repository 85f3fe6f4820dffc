"""Boxes by the distances of their four sides from a cell (after FCOS)."""

from __future__ import annotations

import numpy as np

from tallymark.detector.center_coder import MAX_LOG_SIZE, MIN_SIZE, CenterCoder
from tallymark.detector.tta import TTATransform
from tallymark.geometry import Boxes, RotatedBoxes


class BoxCoder(CenterCoder):
    """Axis-aligned boxes: logarithms of the distances to the left, top, right and bottom side."""

    geometry = Boxes
    values = 4
    loss = "giou"

    def footprint(self, shapes: Boxes) -> RotatedBoxes:
        x, y = shapes.x + shapes.width / 2, shapes.y + shapes.height / 2
        return RotatedBoxes(x, y, shapes.width, shapes.height, np.zeros(len(shapes)))

    def encode(self, shapes: Boxes, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        right, bottom = shapes.x + shapes.width, shapes.y + shapes.height
        distances = np.stack([x - shapes.x, y - shapes.y, right - x, bottom - y], 1)
        return np.log(np.maximum(distances, MIN_SIZE))

    def decode(self, x: np.ndarray, y: np.ndarray, values: np.ndarray) -> Boxes:
        left, top, right, bottom = np.exp(np.minimum(values, MAX_LOG_SIZE)).T
        return Boxes(x - left, y - top, left + right, top + bottom)

    def invert_tta(self, values: np.ndarray, transform: TTATransform) -> np.ndarray:
        left, top, right, bottom = np.moveaxis(values, -3, 0)
        if transform.hflip:
            left, right = right, left
        if transform.vflip:
            top, bottom = bottom, top
        if transform.transpose:
            left, top, right, bottom = top, left, bottom, right
        return np.stack([left, top, right, bottom], -3)
