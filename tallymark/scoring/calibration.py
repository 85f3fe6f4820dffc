"""Calibration: whether scores are probabilities, so that of predictions with score 0.8 four in five are hits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

BINS = 10


@dataclass(frozen=True, eq=False)
class Calibration:
    """The reliability table, and the expected calibration error (Guo et al., 2017).

    table: a row for each bin of scores with a prediction: low, high, predictions, score (their mean), hits, and share,
        that of hits.
    error: the mean over predictions of |share - score| of their bins.
    """

    table: pl.DataFrame
    error: float


def calibration(scores: np.ndarray | None, hit: np.ndarray, bins: int = BINS) -> Calibration | None:
    """The calibration of n scores, given which predictions are right, e.g. `~outcomes.false_alarm`.

    scores: nan where one is not known. Without any, or with one outside 0 to 1, which is no probability, there is
        nothing to calibrate: None.
    bins: how many of equal width.
    """
    if scores is None:
        return None
    known = ~np.isnan(scores)
    scores, hit = scores[known], hit[known]
    if not len(scores) or scores.min() < 0 or scores.max() > 1:
        return None
    own = np.minimum((scores * bins).astype(np.int64), bins - 1)
    predictions = np.bincount(own, minlength=bins)
    used = np.flatnonzero(predictions)
    mean = np.bincount(own, scores, bins)[used] / predictions[used]
    hits = np.bincount(own[hit], minlength=bins)[used]
    share = hits / predictions[used]
    table = pl.DataFrame(
        {
            "low": used / bins,
            "high": (used + 1) / bins,
            "predictions": predictions[used],
            "score": mean,
            "hits": hits,
            "share": share,
        }
    )
    return Calibration(table, float(np.average(np.abs(share - mean), weights=predictions[used])))
