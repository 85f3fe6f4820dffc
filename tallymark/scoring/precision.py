"""Average precision: the area under the envelope of the precision-recall curve."""

from __future__ import annotations

import numpy as np


def average_precision(hit: np.ndarray, group: np.ndarray, truths: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The average precision of every group; nan for groups without truths.

    Parameters
    ----------
    hit, group: of each prediction, whether it is matched and where it belongs; sorted by group, then from the most
        to the least confident.
    truths: the (weighted) number of truths of each group.
    weight: how often each prediction counts (1, or a bootstrap's multiplicity).
    """
    start = np.searchsorted(group, np.arange(len(truths)))
    hits, seen = _running(hit * weight, start, group), _running(weight, start, group)
    precision = np.divide(hits, seen, out=np.zeros(len(hits)), where=seen > 0)
    envelope = _highest_from_here(precision, group)
    area = np.bincount(group, weights=np.where(hit, weight * envelope, 0), minlength=len(truths))
    return np.divide(area, truths, out=np.full(len(truths), np.nan), where=truths > 0)


def _running(values: np.ndarray, start: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Running sums that begin anew in every group."""
    total = np.cumsum(values)
    before: np.ndarray = np.append(0, total)[start]
    return total - before[group]


def _highest_from_here(values: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The greatest value from each place to the end of its group, by looking twice as far in every step."""
    highest = values.copy()
    step = 1
    while step < len(values):
        same = group[step:] == group[:-step]
        if not same.any():
            break
        np.maximum(highest[:-step], highest[step:], out=highest[:-step], where=same)
        step *= 2
    return highest
