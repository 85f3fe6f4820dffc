"""True positives at a range of IoU thresholds, counted for every group of objects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from tallymark.geometry import Pairs, Spatial
from tallymark.scoring.matching import Match, match

IouComparison = Literal["gt", "ge"]
NONE = np.empty(0, np.int64)
TOGETHER = 1 << 17
"""Objects whose pairs are searched at once."""


@dataclass(frozen=True, eq=False)
class Sweep:
    """Matches of predictions to truths at several IoU thresholds.

    twentieths: the thresholds in steps of 0.05: 10 means 0.50.
    hits: (groups, thresholds) true positives. truths, predictions: (groups,) numbers of objects.
    pairs: all pairs that can match. matched: (pairs, thresholds) whether they do.
    The others are what was matched: the shapes, their groups, and how an IoU is compared with a threshold.
    """

    twentieths: tuple[int, ...]
    hits: np.ndarray
    truths: np.ndarray
    predictions: np.ndarray
    pairs: Pairs
    matched: np.ndarray
    truth_shapes: Spatial
    predicted_shapes: Spatial
    truth_group: np.ndarray
    predicted_group: np.ndarray
    comparison: IouComparison

    def level(self, pairs: Pairs) -> np.ndarray:
        """How many of the thresholds each pair passes, whether it is one of these pairs or not."""
        return _level(pairs, self.twentieths, self.comparison)

    def pool(self, groups: int) -> Sweep:
        """The counts of `groups` larger groups, each the sum of equally many consecutive ones."""
        each = len(self.truths) // max(groups, 1)
        hits = self.hits.reshape(groups, each, len(self.twentieths)).sum(axis=1)
        truths, predictions = (counts.reshape(groups, each).sum(axis=1) for counts in (self.truths, self.predictions))
        return replace(self, hits=hits, truths=truths, predictions=predictions)


def sweep(
    truth: Spatial,
    predicted: Spatial,
    truth_group: np.ndarray,
    predicted_group: np.ndarray,
    groups: int,
    *,
    twentieths: tuple[int, ...],
    confidence: np.ndarray,
    comparison: IouComparison = "gt",
    mode: Match = "best_unmatched",
) -> Sweep:
    """Match the predictions of every group to its truths, the highest confidence first, at every threshold."""
    # Without predictions nothing is measured: a baseline must not cost time.
    shown, shown_group = (truth, truth_group) if len(predicted) else (truth.take(NONE), truth_group[NONE])
    pairs = find_pairs(shown, predicted, shown_group, predicted_group, twentieths[0] / 20)
    level = _level(pairs, twentieths, comparison)
    matched = match(pairs, level, len(twentieths), -confidence, mode)
    group = truth_group[pairs.first]
    return Sweep(
        twentieths,
        np.stack([np.bincount(group[at_one], minlength=groups) for at_one in matched.T], axis=1),
        np.bincount(truth_group, minlength=groups),
        np.bincount(predicted_group, minlength=groups),
        pairs,
        matched,
        truth,
        predicted,
        truth_group,
        predicted_group,
        comparison,
    )


def find_pairs(
    truth: Spatial, predicted: Spatial, truth_group: np.ndarray, predicted_group: np.ndarray, least: float
) -> Pairs:
    """Pairs of the same group; of many objects, some groups at a time: the search needs several times their memory."""
    ordered = not any((group[1:] < group[:-1]).any() for group in (truth_group, predicted_group))
    if len(truth) <= TOGETHER or not ordered:
        return truth.pairs(predicted, truth_group, predicted_group, least)
    cuts = np.unique(truth_group[TOGETHER::TOGETHER])  # groups that begin a block
    ends = [
        np.concatenate([[0], np.searchsorted(group, cuts), [len(group)]]) for group in (truth_group, predicted_group)
    ]
    found = []
    for (i, j), (i_end, j_end) in pairwise(zip(*ends, strict=True)):
        own, other = np.arange(i, i_end), np.arange(j, j_end)
        some = truth.take(own).pairs(predicted.take(other), truth_group[own], predicted_group[other], least)
        found.append((some.first + i, some.second + j, some.intersection, some.union))
    return Pairs(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def _level(pairs: Pairs, twentieths: tuple[int, ...], comparison: IouComparison) -> np.ndarray:
    """How many thresholds each pair passes. Compared as 20 I > k U, which is exact for whole pixels."""
    level = np.zeros(len(pairs), np.int64)
    scaled = 20 * pairs.intersection
    for k in twentieths:
        level += scaled > k * pairs.union if comparison == "gt" else scaled >= k * pairs.union
    return level
