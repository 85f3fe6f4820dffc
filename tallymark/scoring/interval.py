"""Bootstrap confidence intervals: items are resampled with replacement, and scored again."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tallymark.core.console import progress
from tallymark.scoring.score import Score

RESAMPLES = 2_000


class Interval(NamedTuple):
    """The ends of a 95 % interval; nan where there is no score."""

    low: float
    high: float


def score_interval(score: Score, *, seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """The 95 % bootstrap interval of a score."""
    return bootstrap(score.items.height, score.total, seed=seed, resamples=resamples)


def bootstrap(items: int, total: Callable[[np.ndarray], float], *, seed: int, resamples: int) -> Interval:
    """The 95 % interval of a number of items, `total(weight)`, when item i counts weight[i] times."""
    rng = np.random.default_rng(seed)
    values = np.empty(resamples)
    for sample in progress(range(resamples), "resampling"):
        values[sample] = total(np.bincount(rng.integers(0, max(1, items), items), minlength=items))
    if np.isnan(values).all():
        return Interval(math.nan, math.nan)
    return Interval(*np.nanquantile(values, [0.025, 0.975]).tolist())
