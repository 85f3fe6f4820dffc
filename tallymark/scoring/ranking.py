"""Rankings: places with ties, bootstrap intervals, and which neighbours cannot be told apart.

All functions are pure. Resampled scores are (resamples, entries): in each row, every entry was scored on the same
sample of items, so that differences are paired.
"""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np

Better = Literal["higher", "lower"]
DIGITS = 12
"""Decimals to which scores are compared: sums of the same numbers in another order are a tie."""
LEVEL = (0.025, 0.975)
"""The ends of a 95 % interval."""


def ranked_order(values: np.ndarray, better: Better) -> np.ndarray:
    """The indices of the values, the best first; equal ones in their own order, nan last."""
    rounded = np.round(values, DIGITS)
    return np.argsort(np.where(np.isnan(rounded), np.inf, -rounded if better == "higher" else rounded), kind="stable")


def places(values: np.ndarray, better: Better) -> np.ndarray:
    """The place of each value, 1 for the best; ties share a place, and the next one is as far on: 1, 2, 2, 4.

    0 for nan, which has no place.
    """
    rounded = np.round(values, DIGITS)
    keys = np.sort(-rounded if better == "higher" else rounded)  # nan last
    place = np.searchsorted(keys, -rounded if better == "higher" else rounded) + 1
    return np.where(np.isnan(rounded), 0, place)


def draw_weights(resamples: int, chosen: np.ndarray, seed: int) -> np.ndarray:
    """How often each item counts in each bootstrap sample of the chosen ones: (resamples, items).

    chosen: (items,) whether an item can be drawn; as many are drawn as there are, with replacement.
    """
    index = np.flatnonzero(chosen)
    rng = np.random.default_rng(seed)
    weights = np.zeros((resamples, len(chosen)), np.float32)
    for row in weights if len(index) else ():
        row[:] = np.bincount(index[rng.integers(0, len(index), len(index))], minlength=len(chosen))
    return weights


def intervals(resampled: np.ndarray) -> np.ndarray:
    """The 95 % interval of each column: (entries, 2); nan where no sample has a score."""
    if not resampled.size:
        return np.empty((resampled.shape[1], 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without any number
        return np.nanquantile(resampled, LEVEL, axis=0).T


def indistinguishable(resampled: np.ndarray) -> list[tuple[int, int]]:
    """The longest runs of neighbours, all pairs of which cannot be told apart: first and last position, from 0 on.

    resampled: in ranked order. Two entries can be told apart if the 95 % interval of their paired difference does not
    contain 0. Runs may overlap: 1 and 2, and 2 and 3, can be alike though 1 and 3 are not.
    """
    entries = resampled.shape[1]
    last = np.empty(entries, np.int64)
    for first in reversed(range(entries)):
        reach = entries - 1 if first == entries - 1 else int(last[first + 1])  # beyond, others are apart already
        span = intervals(resampled[:, first + 1 : reach + 1] - resampled[:, [first]])
        apart = np.flatnonzero((span[:, 0] > 0) | (span[:, 1] < 0))
        last[first] = first + int(apart[0]) if len(apart) else reach
    runs = list(enumerate(last.tolist()))
    return [(first, end) for first, end in runs if end > first and (first == 0 or end > runs[first - 1][1])]


def verdicts(resampled: np.ndarray, place: np.ndarray) -> list[str]:
    """What the ranking says and what it does not, in sentences; `place`: of each entry, in ranked order."""
    if len(place) < 2:
        return []
    runs = indistinguishable(resampled)
    if not runs:
        return ["All places can be told apart."]
    sentences = [] if runs[0][0] == 0 else ["Place 1 is clearly ahead of all others."]
    ranges = [(int(place[first]), int(place[end])) for first, end in runs]
    alike = [f"{low}-{high}" for low, high in dict.fromkeys(ranges) if low < high]
    sentences += [f"Place {low} is shared." for low, high in dict.fromkeys(ranges) if low == high]
    if alike:
        more = f"; nor can places {', '.join(alike[1:])}" if alike[1:] else ""
        sentences.append(f"Places {alike[0]} cannot be told apart{more}.")
    return sentences
