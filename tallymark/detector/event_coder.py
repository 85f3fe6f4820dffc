"""Events on the time axis, by their offset from a cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations
from tallymark.detector.center_coder import CenterCoder
from tallymark.detector.tta import TTATransform
from tallymark.geometry import Events, RotatedBoxes

HEAT_CELLS = 24.0
"""Cells of the heatmap that an event is drawn over, of which it fills about half."""
OFFSET_CELLS = 4.0
"""Cells per unit of the regressed offset."""


class EventCoder(CenterCoder):
    """Points in time: the offset to them. Peaks keep a minimum distance, so that candidates do not overlap."""

    geometry = Events
    values = 1
    loss = "smooth_l1"
    one_dimensional = True
    votes = False  # times are right to a fraction of what is matched
    search: ClassVar[Mapping[str, tuple[float, ...]]] = {}

    def footprint(self, shapes: Events) -> RotatedBoxes:
        every = np.ones(len(shapes))
        return RotatedBoxes(shapes.time, 0.5 * every, HEAT_CELLS * every, every, 0 * every)

    def encode(self, shapes: Events, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (shapes.time - x)[:, None] / OFFSET_CELLS

    def decode(self, x: np.ndarray, y: np.ndarray, values: np.ndarray) -> Events:
        return Events(x + OFFSET_CELLS * values[:, 0])

    def iou(self, predicted: Any, truth: Any) -> np.ndarray:
        """Events have no extent: their agreement falls off with the distance in time."""
        return np.exp(-np.abs(predicted.time - truth.time) / OFFSET_CELLS)

    def invert_tta(self, values: np.ndarray, transform: TTATransform) -> np.ndarray:
        raise ValueError("time has one direction only: tta=1")

    def to_truth_geometry(
        self, candidates: Annotations[Events], size: np.ndarray, recipe: Recipe
    ) -> Annotations[Events]:
        """Ordered by time, rounded to milliseconds."""
        order = np.lexsort((candidates.shapes.time, candidates.item))
        return Annotations.from_rows(
            candidates.items,
            candidates.item,
            Events(candidates.shapes.time[order].round(3)),
            label=candidates.labels[order],
            score=candidates.scores[order],
            classes=candidates.classes,
        )
