"""Targets: the heat that a network should see, and the cells from which a shape should be told."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallymark.geometry import RotatedBoxes

CORE = 0.54
"""The share of a shape's sides that its heat covers, and from which it is told."""
NARROWEST = 0.55
"""The smallest spread of heat, in cells: a tiny thing still warms its own cell's neighbours."""


@dataclass(frozen=True, eq=False)
class Targets:
    """heat: (classes, height, width), 1 at the middle of a shape and falling off around it.

    Cells (y[k], x[k]) tell the shape number object[k]; weight[k] sums to 1 over the cells of a shape.
    """

    heat: np.ndarray
    y: np.ndarray
    x: np.ndarray
    object: np.ndarray
    weight: np.ndarray


def draw_targets(
    ground: RotatedBoxes, label: np.ndarray, classes: int, shape: tuple[int, int], blunt: float = 1.0
) -> Targets:
    """Heat and core of shapes given in cells; a line of time is a grid of height 1.

    blunt: heat is multiplied by this and cut off at 1. Nobody can see which cell is the middle of a long hull; if only
    one counts, the heat is low in all of them.

    Where cores meet, a cell belongs to the smaller shape, which would otherwise be hidden.
    """
    height, width = shape
    heat = np.zeros((classes, height, width), np.float32)
    owner = np.full(height * width, -1)
    strength = np.zeros(height * width)
    inside = (ground.x >= 0) & (ground.y >= 0) & (ground.x < width) & (ground.y < height)
    order = np.flatnonzero(inside)
    order = order[np.argsort(-ground.area[order], kind="stable")]
    cos, sin = np.cos(ground.angle), np.sin(ground.angle)
    spread = np.maximum(CORE / 3 * np.stack([ground.length, ground.width]) / 2, NARROWEST)
    core = np.maximum(CORE * np.stack([ground.length, ground.width]) / 2, NARROWEST)
    reach_x = np.abs(core[0] * cos) + np.abs(core[1] * sin) + 2 * NARROWEST
    reach_y = np.abs(core[0] * sin) + np.abs(core[1] * cos) + 2 * NARROWEST
    for k in order.tolist():
        left, right = max(int(ground.x[k] - reach_x[k]), 0), min(int(ground.x[k] + reach_x[k]) + 1, width)
        top, bottom = max(int(ground.y[k] - reach_y[k]), 0), min(int(ground.y[k] + reach_y[k]) + 1, height)
        dx = np.arange(left, right) + 0.5 - ground.x[k]
        dy = (np.arange(top, bottom) + 0.5 - ground.y[k])[:, None]
        along, across = dx * cos[k] + dy * sin[k], dy * cos[k] - dx * sin[k]
        warmth = np.minimum(blunt * np.exp(-((along / spread[0, k]) ** 2 + (across / spread[1, k]) ** 2) / 2), 1)
        at_y, at_x = int(ground.y[k]), int(ground.x[k])
        warmth[at_y - top, at_x - left] = 1  # the cell that holds the middle is a peak, wherever in it the middle is
        window = heat[label[k], top:bottom, left:right]
        np.maximum(window, warmth, out=window)
        within = (np.abs(along) <= core[0, k]) & (np.abs(across) <= core[1, k])
        within[at_y - top, at_x - left] = True
        rows, columns = np.nonzero(within)
        cells = (rows + top) * width + columns + left
        owner[cells], strength[cells] = k, warmth[rows, columns]
    middles = ground.y[order].astype(int) * width + ground.x[order].astype(int)
    owner[middles], strength[middles] = order, 1  # whatever lies there too, a shape is told from its own middle
    cells = np.flatnonzero(owner >= 0)
    owner, strength = owner[cells], strength[cells]
    total = np.bincount(owner, strength, minlength=len(ground))
    return Targets(heat, cells // width, cells % width, owner, (strength / total[owner]).astype(np.float32))
