"""Bootstrap confidence intervals: items are resampled with replacement, and scored again."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tallymark.core.console import progress
from tallymark.scoring.score import Score

RESAMPLES = 2_000
WEIGHTS_AT_ONCE = 250_000
"""Items times samples that are drawn at once: some megabytes."""


class Interval(NamedTuple):
    """The ends of a 95 % interval; nan where there is no score."""

    low: float
    high: float


def score_interval(score: Score, *, seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """The 95 % bootstrap interval of a score."""
    return bootstrap(score.items.height, score.totals, seed=seed, resamples=resamples)


def bootstrap(items: int, totals: Callable[[np.ndarray], np.ndarray], *, seed: int, resamples: int) -> Interval:
    """The 95 % interval of a number of items. totals: that number for each row of weights (n, items).

    The weight of an item is how often it is in a sample.
    """
    rng = np.random.default_rng(seed)
    values = []
    block = max(1, WEIGHTS_AT_ONCE // max(1, items))
    for start in progress(range(0, resamples, block), "resampling"):
        samples = min(block, resamples - start)
        drawn = rng.integers(0, max(1, items), (samples, items)) + items * np.arange(samples)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=samples * items).reshape(samples, items)
        values.append(totals(weights.astype(float)))
    every = np.concatenate(values)
    if np.isnan(every).all():
        return Interval(math.nan, math.nan)
    return Interval(*np.nanquantile(every, [0.025, 0.975]).tolist())
