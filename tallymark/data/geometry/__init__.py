"""The shapes that things have: columns of numbers with units, and how much two of them overlap."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from tallymark.data.geometry.box import Boxes
from tallymark.data.geometry.cuboid import Cuboids
from tallymark.data.geometry.instant import Instants
from tallymark.data.geometry.label import Labels
from tallymark.data.geometry.mask import Masks
from tallymark.data.geometry.pairs import Pairs
from tallymark.data.geometry.rotated import RotatedBoxes

__all__ = ["Boxes", "Cuboids", "Geometry", "Instants", "Labels", "Masks", "Pairs", "RotatedBoxes", "Solid"]


class Geometry(Protocol):
    """n shapes of one kind."""

    def __len__(self) -> int: ...

    def take(self, index: np.ndarray) -> Any: ...

    def joined(self, other: Any) -> Any: ...


class Solid(Geometry, Protocol):
    """Shapes that overlap: boxes, rotated boxes, masks, cuboids."""

    def overlap(self, other: Any, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...

    def pairs(self, other: Any, group: np.ndarray, other_group: np.ndarray, least: float = 0.0) -> Pairs: ...
