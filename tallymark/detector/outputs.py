"""What networks give, and what is read from it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

Outputs = dict[str, np.ndarray]
"""Maps of one tile by name: heat (classes, h, w), values, quality, presence (a number), cover; or classes (n,)."""


class TileCandidates(NamedTuple):
    """The candidates of a tile: n positions in cells, their regressed values (n, v), scores and class numbers.

    presence: the probability that the tile has any object at all.
    """

    x: np.ndarray
    y: np.ndarray
    values: np.ndarray
    score: np.ndarray
    label: np.ndarray
    presence: float = 0.0


def no_candidates(values: int) -> TileCandidates:
    none = np.empty(0)
    return TileCandidates(none, none, np.empty((0, values)), none, none)
