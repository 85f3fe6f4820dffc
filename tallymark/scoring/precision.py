"""Average precision: the area under the envelope of the precision-recall curve."""

from __future__ import annotations

import numpy as np


def average_precision(hit: np.ndarray, group: np.ndarray, truths: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The average precision of every group; nan for groups without truths.

    Parameters
    ----------
    hit, group: for each prediction whether it is matched, and its group; sorted by group, then by descending score.
    truths: the (weighted) number of truths of each group.
    weight: how often each prediction counts (1, or its multiplicity in a bootstrap sample).
    """
    start = np.searchsorted(group, np.arange(len(truths)))
    hits = _running_sum(hit * weight, start, group)
    predictions = _running_sum(weight, start, group)
    precision = np.divide(hits, predictions, out=np.zeros(len(hits)), where=predictions > 0)
    envelope = _reverse_running_maximum(precision, group)
    area = np.bincount(group, weights=np.where(hit, weight * envelope, 0), minlength=len(truths))
    return np.divide(area, truths, out=np.full(len(truths), np.nan), where=truths > 0)


def _running_sum(values: np.ndarray, start: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Running sums that restart in every group."""
    total = np.cumsum(values)
    before: np.ndarray = np.append(0, total)[start]
    return total - before[group]


def _reverse_running_maximum(values: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The largest value from each position to the end of its group, with a doubling distance in every step."""
    highest = values.copy()
    step = 1
    while step < len(values):
        same = group[step:] == group[:-step]
        if not same.any():
            break
        np.maximum(highest[:-step], highest[step:], out=highest[:-step], where=same)
        step *= 2
    return highest
