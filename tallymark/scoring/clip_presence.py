"""Evaluation of clips with a yes or no: how well the scores rank clips with an event above those without.

The time of the event in the clip is not known, so times of predictions do not count.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tallymark.data.annotations import Annotations
from tallymark.geometry import Events
from tallymark.scoring.score import Score, item_table

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

CERTAIN = 0.5
"""Probability from which on a clip counts as one with an event."""


def clip_score(
    challenge: str, truth: Annotations[Events], predicted: Annotations[Events], rule_options: DataclassInstance
) -> Score:
    """AUC, the area under the ROC curve, with accuracy, precision and recall of clips beside it.

    The score of a clip is the highest in it, 0 if nothing was predicted. A clip counts as found if anything was, or,
    where predictions are probabilities of whole clips, if that is at least 0.5.
    """
    present = truth.counts > 0
    scores = predicted.highest_scores
    found = scores >= CERTAIN if predicted.weak else predicted.counts > 0
    tp, fp = (present & found).sum(), (~present & found).sum()
    fn, tn = (present & ~found).sum(), (~present & ~found).sum()
    value = area_under_roc(scores[present], scores[~present])
    precision = float(tp / (tp + fp)) if tp + fp else 0.0
    recall = float(tp / (tp + fn)) if tp + fn else 0.0
    details = {
        "auc": value,
        "accuracy": float((tp + tn) / len(present)) if len(present) else math.nan,
        "tp": int(tp), "fp": int(fp), "fn": int(fn), "tn": int(tn),
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall) if precision + recall else 0.0,
    }  # fmt: skip
    specificity = float(tn / (tn + fp)) if tn + fp else 0.0
    return Score(
        challenge,
        value,
        "higher",
        rule_options,
        item_table(truth, predicted, np.where(present, scores, 1 - scores)),
        total=lambda weight: area_under_roc(scores[present], scores[~present], weight[present], weight[~present]),
        counts=pl.DataFrame({"tp": [int(tp)], "fp": [int(fp)], "fn": [int(fn)], "tn": [int(tn)]}),
        details=details,
        lines=_lines(details, len(present)),
        without="a ranking needs clips with and without an event",
        objective=(recall + specificity) / 2,
    )


def area_under_roc(
    positive: np.ndarray,
    negative: np.ndarray,
    positive_weight: np.ndarray | None = None,
    negative_weight: np.ndarray | None = None,
) -> float:
    """The share of pairs of a positive and a negative in which the positive has the higher score; ties count half."""
    own = np.ones(len(positive)) if positive_weight is None else positive_weight.astype(float)
    other = np.ones(len(negative)) if negative_weight is None else negative_weight.astype(float)
    pairs = own.sum() * other.sum()
    if not pairs:
        return math.nan
    order = np.argsort(negative, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(other[order])])
    ordered = negative[order]
    lower = below[np.searchsorted(ordered, positive, "left")]
    up_to = below[np.searchsorted(ordered, positive, "right")]
    return float((own * (lower + up_to) / 2).sum() / pairs)


def _lines(details: dict[str, float], clips: int) -> tuple[str, ...]:
    return (
        f"clips with a yes or no: {clips}, scored by presence and not by time",
        f"AUC: {details['auc']}",
        f"Accuracy: {details['accuracy']}",
        f"Precision: {details['precision']}",
        f"Recall: {details['recall']}",
    )
