"""Pieces that the peers share: the usual greedy matching, and reading without checks."""

from __future__ import annotations

import numpy as np
import polars as pl


def plain_greedy_counts(iou: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """The same as `greedy_counts`, as public notebooks do it: at every threshold, one prediction after the other."""
    hits = np.zeros(len(thresholds), int)
    for step, threshold in enumerate(thresholds):
        free = np.ones(iou.shape[1], bool)
        for row in iou:
            candidates = np.where(free, row, -1.0)
            best = candidates.argmax()
            if candidates[best] > threshold:
                free[best] = False
                hits[step] += 1
    return hits


def greedy_counts(iou: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Hits at each threshold for an (m predictions, n truths) matrix, predictions in order of confidence.

    Tuned: only pairs above the lowest threshold are compared. We know of no public script that does this.
    """
    candidates: dict[int, list[tuple[float, int]]] = {}
    for row, column in np.argwhere(iou > thresholds[0]).tolist():
        candidates.setdefault(row, []).append((-iou[row, column], column))
    hits = np.zeros(len(thresholds), int)
    for step, threshold in enumerate(thresholds.tolist()):
        taken: set[int] = set()
        for pairs in candidates.values():
            for negative, column in sorted(pairs):
                if -negative > threshold and column not in taken:
                    taken.add(column)
                    hits[step] += 1
                    break
    return hits


def read_text(path: str) -> pl.DataFrame:
    return pl.read_csv(path, infer_schema=False)


def split_numbers(cells: pl.Series, dtype: type[pl.Float64] | type[pl.Int64], separator: str = " ") -> np.ndarray:
    """All numbers of a column of strings, one after the other, without any check."""
    return cells.drop_nulls().str.split(separator).explode().cast(dtype, strict=False).to_numpy()
