"""Greedy matching of predictions to truth, vectorized over all items and thresholds."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tallymark.geometry import Pairs

Match = Literal["best_unmatched", "best_overall", "first_unmatched"]
ROUNDS = 32
"""Vectorized rounds of a greedy matching; more are needed of crowds at one place, where each matches one pair."""


def greedy_match(prediction: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The indices of the candidate pairs (prediction, truth) that a greedy matching selects.

    The pairs are sorted: by the rank of their prediction, and for one prediction by preference. In every round, each
    prediction proposes the first of its remaining pairs; it is matched if no prediction of higher rank has a remaining
    pair with the same truth. The result is that of the sequential algorithm, in a few vectorized rounds; what is left
    after these is matched sequentially.
    """
    truths, truth = np.unique(truth, return_inverse=True)
    remaining = np.arange(len(prediction))
    matched = []
    for _ in range(ROUNDS):
        if not len(remaining):
            break
        left, right = prediction[remaining], truth[remaining]
        is_first = np.append(True, left[1:] != left[:-1])
        proposal, index = np.flatnonzero(is_first), np.cumsum(is_first) - 1
        earliest = np.full(len(truths), len(remaining))
        np.minimum.at(earliest, right, np.arange(len(remaining)))
        accepted = proposal[left[earliest[right[proposal]]] == left[proposal]]
        matched.append(remaining[accepted])
        truth_is_matched = np.zeros(len(truths), bool)
        truth_is_matched[right[accepted]] = True
        prediction_is_matched = np.zeros(len(proposal), bool)
        prediction_is_matched[index[accepted]] = True
        remaining = remaining[~truth_is_matched[right] & ~prediction_is_matched[index]]
    matched.append(remaining[_one_by_one(prediction[remaining], truth[remaining])])
    return np.sort(np.concatenate(matched))


def _one_by_one(prediction: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The pairs that `greedy_match` selects, as positions, by going through them in their order."""
    predictions, truths = set[int](), set[int]()
    matched = []
    for pair, (own, other) in enumerate(zip(prediction.tolist(), truth.tolist(), strict=True)):
        if own not in predictions and other not in truths:
            predictions.add(own)
            truths.add(other)
            matched.append(pair)
    return np.array(matched, np.int64)


def match(pairs: Pairs, level: np.ndarray, steps: int, rank: np.ndarray, mode: Match) -> np.ndarray:
    """Match predictions (`pairs.second`) to truths (`pairs.first`) at several thresholds.

    Parameters
    ----------
    level: for each pair, how many of the `steps` thresholds (from the lowest on) its IoU passes.
    rank: for each prediction, a number that is lower the earlier it is matched (ties: order of the rows).
    mode: which truth a prediction is matched to: the one with the largest IoU of those unmatched, or of all, or the
        first unmatched one.

    Returns
    -------
    (pairs, steps) booleans: whether the pair is matched at the threshold.
    """
    first, second = pairs.first, pairs.second
    preference = np.zeros(len(pairs)) if mode == "first_unmatched" else -pairs.iou
    kept = np.flatnonzero(level > 0)
    if mode == "best_overall":
        kept = kept[np.lexsort((first[kept], preference[kept], second[kept]))]
        kept = kept[np.append(True, np.diff(second[kept]) != 0)] if len(kept) else kept
    unique = _is_unique(first[kept]) & _is_unique(second[kept])
    uncontested, contested = kept[unique], kept[~unique]
    order = np.lexsort((first[contested], preference[contested], second[contested], rank[second[contested]]))
    contested = contested[order]
    matched = np.zeros((len(pairs), steps), bool)
    matched[uncontested] = np.arange(steps) < level[uncontested, None]
    for step in range(steps):
        passing = contested[level[contested] > step]
        matched[passing[greedy_match(second[passing], first[passing])], step] = True
    return matched


def _is_unique(values: np.ndarray) -> np.ndarray:
    """Whether each value occurs once."""
    unique: np.ndarray = np.bincount(values)[values] == 1 if len(values) else np.empty(0, bool)
    return unique
