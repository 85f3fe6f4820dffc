"""Cuboids (3D boxes) by their footprint, height and heading (after CenterPoint)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import ClassVar

import numpy as np

from tallymark.detector.center_coder import MAX_LOG_SIZE, MIN_SIZE, CenterCoder
from tallymark.detector.mask_coder import MaskCoder
from tallymark.detector.outputs import Outputs
from tallymark.detector.tta import TTATransform
from tallymark.geometry import Cuboids, RotatedBoxes

FOOTPRINT = MaskCoder()
"""Footprints are rotated rectangles, coded as masks are."""
MAX_APART = 0.5
"""Cells between the centres that two neighbouring cells regress, if both are of one object."""
TINY = 1e-6
"""The least quality that counts, so that no mean is one of nothing."""


class CuboidCoder(CenterCoder):
    """A rotated rectangle on the ground, z of the centre, logarithm of the height, cosine and sine of the heading.

    The orientation of a footprint is easy to see and its heading is not, so that the two are regressed separately.
    """

    geometry = Cuboids
    values = 10
    loss = "cuboid"
    search: ClassVar[Mapping[str, tuple[float, ...]]] = {
        "nms_iou": (0.05, 0.1, 0.2, 0.3, 0.4)
    }  # no two objects stand in one place

    def footprint(self, shapes: Cuboids) -> RotatedBoxes:
        return shapes.ground

    def encode(self, shapes: Cuboids, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        ground = FOOTPRINT.encode(shapes.ground, x, y)
        heading = np.stack([np.cos(shapes.yaw), np.sin(shapes.yaw)], 1)
        return np.column_stack([ground, shapes.z, np.log(np.maximum(shapes.height, MIN_SIZE)), heading])

    def read_values(
        self, outputs: Outputs, label: np.ndarray, group: np.ndarray, y: np.ndarray, x: np.ndarray
    ) -> np.ndarray:
        """The mean over a peak and those of its eight neighbours that regress the same centre, by heat and quality."""
        heat, quality = outputs["heat"], outputs["quality"]
        height, width = heat.shape[1:]
        own = super().read_values(outputs, label, group, y, x)
        total = np.zeros(own.shape)
        weights = np.zeros((len(y), 1))
        for down, across in product((-1, 0, 1), repeat=2):
            row, column = np.clip(y + down, 0, height - 1), np.clip(x + across, 0, width - 1)
            values = super().read_values(outputs, label, group, row, column).astype(float)
            values[:, 0] += column - x
            values[:, 1] += row - y
            apart = np.hypot(*(values[:, :2] - own[:, :2]).T)
            weight = heat[label, row, column] * np.maximum(quality[group, row, column], TINY) * (apart <= MAX_APART)
            total += weight[:, None] * values
            weights += weight[:, None]
        return total / weights

    def decode(self, x: np.ndarray, y: np.ndarray, values: np.ndarray) -> Cuboids:
        ground = FOOTPRINT.decode(x, y, values[:, :6])
        z, height, cos, sin = values[:, 6:].T
        reversed_ = np.cos(ground.angle) * cos + np.sin(ground.angle) * sin < 0
        yaw = ground.angle + np.where(reversed_, np.pi, 0)
        height = np.exp(np.minimum(height, MAX_LOG_SIZE))
        return Cuboids(ground.x, ground.y, z, ground.width, ground.length, height, yaw)

    def invert_tta(self, values: np.ndarray, transform: TTATransform) -> np.ndarray:
        ground = FOOTPRINT.invert_tta(values[..., :6, :, :], transform)
        z, height, cos, sin = np.moveaxis(values[..., 6:, :, :], -3, 0)
        cos, sin = -cos if transform.hflip else cos, -sin if transform.vflip else sin
        if transform.transpose:
            cos, sin = sin, cos
        return np.concatenate([ground, np.stack([z, height, cos, sin], -3)], -3)
