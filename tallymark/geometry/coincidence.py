"""Shapes that a reviewer marked: read from JSON, and compared with those of a data set to find the same object."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from tallymark.geometry.base import Geometry, Spatial

COINCIDENT_IOU = 0.5
"""IoU above which two shapes are the same object."""
COINCIDENT_SECONDS = 1.5
"""Seconds within which two events are the same."""


class Coincidences(NamedTuple):
    """Pairs of shapes that may be the same object, by index; `closeness` is higher for the better pair."""

    first: np.ndarray
    second: np.ndarray
    closeness: np.ndarray


class Reviewable(Geometry, Protocol):
    """Shapes that can be marked on a page: boxes, masks, cuboids, events."""

    def from_json(self, value: object) -> Self:
        """One shape, like these, of a value in a JSON file; a `ValueError` with what is expected if it is none."""

    def coincide(self, other: Self, group: np.ndarray, other_group: np.ndarray) -> Coincidences:
        """Pairs of the same group that may be the same object."""

    def beside(self, added: Self, group: np.ndarray, added_group: np.ndarray) -> tuple[Self, np.ndarray]:
        """Shapes to be added to these, as far as there is room for them, and the indices of those that are left."""


def overlapping_shapes(first: Spatial, second: Any, group: np.ndarray, other_group: np.ndarray) -> Coincidences:
    """Pairs of one group with an IoU above one half."""
    pairs = first.pairs(second, group, other_group, COINCIDENT_IOU)
    same = pairs.iou > COINCIDENT_IOU
    return Coincidences(pairs.first[same], pairs.second[same], pairs.iou[same])


def numbers_in(value: object, expected: str, positive: Sequence[int] = ()) -> list[float]:
    """A JSON list of as many finite numbers as `expected` names; those at the indices `positive` are above 0."""
    names = expected.split()
    listed = value if isinstance(value, list) else []
    if len(listed) != len(names):
        raise ValueError(f"{len(names)} numbers: {expected}")
    numbers = [finite_number(one) for one in listed]
    if any(not numbers[at] > 0 for at in positive):
        raise ValueError(f"{' and '.join(names[at] for at in positive)} above 0")
    return numbers


def finite_number(value: object) -> float:
    """A JSON number; a `ValueError` if it is none, or not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("finite numbers")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError("finite numbers")
    return number


def match_closest(pairs: Coincidences) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of which each shape is in one at most, the closest first: the indices of both sides."""
    taken: tuple[set[int], set[int]] = (set(), set())
    chosen = []
    for at in np.argsort(-pairs.closeness, kind="stable").tolist():
        first, second = int(pairs.first[at]), int(pairs.second[at])
        if first not in taken[0] and second not in taken[1]:
            taken[0].add(first)
            taken[1].add(second)
            chosen.append((first, second))
    matched = np.array(chosen, np.int64).reshape(-1, 2)
    return matched[:, 0], matched[:, 1]
