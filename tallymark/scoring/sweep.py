"""True positives at a range of IoU thresholds, counted for every group of objects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tallymark.geometry import Pairs, Spatial
from tallymark.scoring.matching import Match, match

IouComparison = Literal["gt", "ge"]
NONE = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Sweep:
    """Matches of predictions to truths at several IoU thresholds.

    twentieths: the thresholds in steps of 0.05: 10 means 0.50.
    hits: (groups, thresholds) true positives. truths, predictions: (groups,) numbers of objects.
    pairs: all pairs that can match. matched: (pairs, thresholds) whether they do.
    """

    twentieths: tuple[int, ...]
    hits: np.ndarray
    truths: np.ndarray
    predictions: np.ndarray
    pairs: Pairs
    matched: np.ndarray

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
    pairs = shown.pairs(predicted, shown_group, predicted_group, least=twentieths[0] / 20)
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
    )


def _level(pairs: Pairs, twentieths: tuple[int, ...], comparison: IouComparison) -> np.ndarray:
    """How many thresholds each pair passes. Compared as 20 I > k U, which is exact for whole pixels."""
    level = np.zeros(len(pairs), np.int64)
    scaled = 20 * pairs.intersection
    for k in twentieths:
        level += scaled > k * pairs.union if comparison == "gt" else scaled >= k * pairs.union
    return level
