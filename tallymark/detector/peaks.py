"""Peaks: where the heat is highest among its neighbours."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np


class Peaks(NamedTuple):
    """The class, the cell and the heat of each peak, the hottest first."""

    label: np.ndarray
    y: np.ndarray
    x: np.ndarray
    heat: np.ndarray


def find_peaks(heat: np.ndarray, least: float, most: int, reach: int = 1) -> Peaks:
    """Cells of (classes, height, width) that are as hot as all within `reach` cells of them, and as `least`.

    Of cells that are equally hot, only the first is a peak: a cell must be hotter than those in the rows above it, and
    to the left. That depends on its neighbours alone, so that it makes no difference where a window ends.
    """
    down = min(reach, heat.shape[1] - 1)
    around = np.ones((2 * down + 1, 2 * reach + 1), np.uint8)
    before = around.copy()
    before.ravel()[around.size // 2 :] = 0
    found = []
    for number, layer in enumerate(heat):
        peak = (layer >= cv2.dilate(layer, around)) & (layer > cv2.dilate(layer, before))
        at = np.flatnonzero(peak & (layer >= least))
        found.append((np.full(len(at), number), at, layer.ravel()[at]))
    label, at, value = (np.concatenate(column) for column in zip(*found, strict=True))
    if len(value) > most:  # most of them need not be sorted
        hot = np.flatnonzero(value >= np.partition(value, -most)[-most])
        label, at, value = label[hot], at[hot], value[hot]
    order = np.argsort(-value, kind="stable")[:most]
    return Peaks(label[order], *np.divmod(at[order], heat.shape[2]), value[order])
