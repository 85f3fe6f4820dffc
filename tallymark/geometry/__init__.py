"""The shapes that things have: columns of numbers with units, and how much two of them overlap."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from tallymark.geometry.boxes import Boxes
from tallymark.geometry.cuboids import Cuboids
from tallymark.geometry.events import Events
from tallymark.geometry.labels import Labels
from tallymark.geometry.masks import Masks
from tallymark.geometry.pairs import Pairs
from tallymark.geometry.rotated_boxes import RotatedBoxes

__all__ = ["Boxes", "Cuboids", "Events", "Geometry", "Labels", "Masks", "Pairs", "RotatedBoxes", "Solid"]


class Geometry(Protocol):
    """n shapes of one kind."""

    def __len__(self) -> int: ...

    def take(self, index: np.ndarray) -> Any: ...

    def concat(self, other: Any) -> Any: ...


class Solid(Geometry, Protocol):
    """Shapes that overlap: boxes, rotated boxes, masks, cuboids."""

    def overlap(self, other: Any, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...

    def pairs(self, other: Any, group: np.ndarray, other_group: np.ndarray, least: float = 0.0) -> Pairs: ...
