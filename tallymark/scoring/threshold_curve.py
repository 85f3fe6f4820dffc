"""The score, precision, recall and counts at every score threshold, from one matching."""

from __future__ import annotations

import numpy as np
import polars as pl

from tallymark.scoring.matches import Matches
from tallymark.scoring.shares import share


def threshold_curve(matches: Matches) -> pl.DataFrame:
    """A row for each score of a true or false positive, the lowest first, as the threshold.

    Columns
    -------
    score_threshold; score, by the rule; tp, fp, fn, precision, recall and f1 at the lowest level; and fp_per_hour,
    where the hours are known. Precision is null where nothing is predicted, recall where there is no truth.
    """
    item, score, tp, fp = _entries(matches)
    order = np.argsort(-score, kind="stable")
    score, tp, fp = score[order], tp[order], fp[order]
    last = np.flatnonzero(np.append(score[1:] != score[:-1], True)) if len(score) else order
    value = _pooled(matches, tp, fp) if matches.formula.pooled else _means(matches, item[order], tp, fp)
    hits, false = np.cumsum(tp[:, 0])[last], np.cumsum(fp[:, 0])[last]
    missed = int(matches.truths.sum()) - hits
    curve = pl.DataFrame(
        {
            "score_threshold": score[last],
            "score": pl.Series(value[last], dtype=pl.Float64).fill_nan(None),
            "tp": hits,
            "fp": false,
            "fn": missed,
            "precision": share(hits, hits + false),
            "recall": share(hits, hits + missed),
            "f1": share(2 * hits, 2 * hits + false + missed),
        }
    )
    if matches.hours:
        curve = curve.with_columns(fp_per_hour=pl.col("fp") / matches.hours)
    return curve.reverse()


def thin_curve(curve: pl.DataFrame, points: int, better: str = "higher") -> pl.DataFrame:
    """At most so many rows of a curve and the one with the best score, evenly over the thresholds, to be drawn."""
    threshold = curve["score_threshold"].to_numpy()
    if len(threshold) <= points:
        return curve
    rows = np.searchsorted(threshold, np.linspace(threshold[0], threshold[-1], points))
    best = curve["score"].arg_max() if better == "higher" else curve["score"].arg_min()
    return curve[np.unique(rows if best is None else np.append(rows, best))]


def _entries(matches: Matches) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Item and score of each true and false positive, and at which levels (n, levels) it is the one or the other."""
    item = np.concatenate([matches.tp_item, matches.fp_item])
    score = np.concatenate([matches.tp_score, matches.fp_score])
    bits = np.concatenate([matches.tp_levels, matches.fp_levels])
    counts = (bits[:, None] >> np.arange(len(matches.levels), dtype=np.uint32) & 1).astype(np.int64)
    true = (np.arange(len(item)) < len(matches.tp_item))[:, None]
    return item, score, counts * true, counts * ~true


def _pooled(matches: Matches, tp: np.ndarray, fp: np.ndarray) -> np.ndarray:
    """The score after each entry, from the counts of all items."""
    hits = np.cumsum(tp, axis=0)
    return matches.formula.values(hits, np.cumsum(fp, axis=0), matches.truths.sum() - hits).mean(axis=1)


def _means(matches: Matches, item: np.ndarray, tp: np.ndarray, fp: np.ndarray) -> np.ndarray:
    """The score after each entry, the mean over items: each entry changes the value of its own item only."""
    order = np.argsort(item, kind="stable")
    start = np.searchsorted(item[order], item[order])
    hits, false = (_running_sums(counts[order], start) for counts in (tp, fp))
    truths = matches.truths[:, None]
    after = matches.formula.values(hits, false, truths[item[order]] - hits).mean(axis=1)
    nothing = np.zeros((len(truths), len(matches.levels)), np.int64)
    begin = matches.formula.values(nothing, nothing, truths - nothing).mean(axis=1)
    first = start == np.arange(len(start))
    before = np.where(first, begin[item[order]], np.roll(after, 1))
    total, counted = np.empty((2, len(item)))  # an item that does not count is nan, and begins to count later
    total[order] = np.nan_to_num(after) - np.nan_to_num(before)
    counted[order] = np.isnan(before).astype(float) - np.isnan(after)
    with np.errstate(invalid="ignore"):
        return (np.nansum(begin) + np.cumsum(total)) / ((~np.isnan(begin)).sum() + np.cumsum(counted))


def _running_sums(counts: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Sums of the rows of an item up to each row; its rows begin at `start`."""
    total = np.cumsum(counts, axis=0)
    sums: np.ndarray = total - (total[start] - counts[start])
    return sums
