"""Heatmap targets, and the cells from which each shape is regressed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallymark.geometry import RotatedBoxes

CORE = 0.54
"""Share of a shape's sides that its heatmap covers, and in which cells regress it (Liu et al. 2020: TTFNet)."""
MIN_SPREAD = 0.55
"""Smallest standard deviation of the heatmap in cells, so that tiny shapes reach the neighbours of their own cell."""


@dataclass(frozen=True, eq=False)
class Targets:
    """heatmap: (classes, height, width), 1 at the centre of a shape and falling off around it.

    Shape number object[k] is regressed from cell (y[k], x[k]); weight sums to 1 over the cells of a shape.
    """

    heatmap: np.ndarray
    y: np.ndarray
    x: np.ndarray
    object: np.ndarray
    weight: np.ndarray


def draw_targets(
    footprint: RotatedBoxes, label: np.ndarray, classes: int, shape: tuple[int, int], gain: float = 1.0
) -> Targets:
    """Heatmap and core of shapes given in cells of a grid (height, width); a time axis is a grid of height 1.

    gain: the heatmap is multiplied by this and clipped at 1. Which cell is the centre of a long hull is not visible;
    if only one counted, confidence would be low in all of them.

    Where cores overlap, a cell belongs to the smaller shape, which would otherwise be hidden.
    """
    height, width = shape
    heatmap = np.zeros((classes, height, width), np.float32)
    owner = np.full(height * width, -1)
    strength = np.zeros(height * width)
    inside = (footprint.x >= 0) & (footprint.y >= 0) & (footprint.x < width) & (footprint.y < height)
    order = np.flatnonzero(inside)
    order = order[np.argsort(-footprint.area[order], kind="stable")]
    cos, sin = np.cos(footprint.angle), np.sin(footprint.angle)
    sides = np.stack([footprint.length, footprint.width])
    spread = np.maximum(CORE / 3 * sides / 2, MIN_SPREAD)
    core = np.maximum(CORE * sides / 2, MIN_SPREAD)
    reach_x = np.abs(core[0] * cos) + np.abs(core[1] * sin) + 2 * MIN_SPREAD
    reach_y = np.abs(core[0] * sin) + np.abs(core[1] * cos) + 2 * MIN_SPREAD
    for k in order.tolist():
        left, right = max(int(footprint.x[k] - reach_x[k]), 0), min(int(footprint.x[k] + reach_x[k]) + 1, width)
        top, bottom = max(int(footprint.y[k] - reach_y[k]), 0), min(int(footprint.y[k] + reach_y[k]) + 1, height)
        dx = np.arange(left, right) + 0.5 - footprint.x[k]
        dy = (np.arange(top, bottom) + 0.5 - footprint.y[k])[:, None]
        along, across = dx * cos[k] + dy * sin[k], dy * cos[k] - dx * sin[k]
        peak = np.minimum(gain * np.exp(-((along / spread[0, k]) ** 2 + (across / spread[1, k]) ** 2) / 2), 1)
        center_y, center_x = int(footprint.y[k]), int(footprint.x[k])
        peak[center_y - top, center_x - left] = 1  # wherever in its cell the centre lies
        window = heatmap[label[k], top:bottom, left:right]
        np.maximum(window, peak, out=window)
        within = (np.abs(along) <= core[0, k]) & (np.abs(across) <= core[1, k])
        within[center_y - top, center_x - left] = True
        rows, columns = np.nonzero(within)
        cells = (rows + top) * width + columns + left
        owner[cells] = k
        strength[cells] = peak[rows, columns]
    centers = footprint.y[order].astype(int) * width + footprint.x[order].astype(int)
    owner[centers] = order  # a shape is always regressed from its own centre
    strength[centers] = 1
    cells = np.flatnonzero(owner >= 0)
    owner, strength = owner[cells], strength[cells]
    total = np.bincount(owner, strength, minlength=len(footprint))
    return Targets(heatmap, cells // width, cells % width, owner, (strength / total[owner]).astype(np.float32))
