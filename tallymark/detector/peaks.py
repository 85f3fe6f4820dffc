"""Local maxima of heatmaps."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np


class Peaks(NamedTuple):
    """Class, cell and value of each local maximum, the highest first."""

    label: np.ndarray
    y: np.ndarray
    x: np.ndarray
    heat: np.ndarray


Region = tuple[float, float, float, float]
"""Left, top, right and bottom of a part of a heatmap, in cells."""


def find_peaks(
    heatmap: np.ndarray, threshold: float, limit: int, distance: int = 1, inside: Region | None = None
) -> Peaks:
    """Cells of (classes, height, width) that are at least `threshold` and the maximum within `distance` cells.

    Of equal neighbours only the first is a peak: a cell must be higher than those in the rows above it, and to the
    left. That depends on the neighbours alone, so that it makes no difference where a tile ends.
    limit: at most so many peaks. inside: only those with their centre in this region, right and bottom excluded.
    """
    down = min(distance, heatmap.shape[1] - 1)
    around = np.ones((2 * down + 1, 2 * distance + 1), np.uint8)
    before = around.copy()
    before.ravel()[around.size // 2 :] = 0
    columns = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, heatmap.dtype))]
    for number in np.flatnonzero(heatmap.max(axis=(1, 2)) >= threshold).tolist():  # of many classes, some
        layer = heatmap[number]
        peak = (layer >= cv2.dilate(layer, around)) & (layer > cv2.dilate(layer, before))
        cell = np.flatnonzero(peak & (layer >= threshold))
        columns.append((np.full(len(cell), number), cell, layer.ravel()[cell]))
    label, cell, value = (np.concatenate(column) for column in zip(*columns, strict=True))
    y, x = np.divmod(cell, heatmap.shape[2])
    if inside is not None:  # before the limit, so that peaks outside take no place of others
        left, top, right, bottom = (edge - 0.5 for edge in inside)
        kept = np.flatnonzero((x >= left) & (x < right) & (y >= top) & (y < bottom))
        label, y, x, value = label[kept], y[kept], x[kept], value[kept]
    if len(value) > limit:  # most of them need not be sorted
        high = np.flatnonzero(value >= np.partition(value, -limit)[-limit])
        label, y, x, value = label[high], y[high], x[high], value[high]
    order = np.argsort(-value, kind="stable")[:limit]
    return Peaks(label[order], y[order], x[order], value[order])
