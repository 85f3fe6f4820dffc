"""Outcomes: what became of each prediction and each truth, at the lowest level of a rule.

The categories are those of TIDE (Bolya et al., 2020). A hit is a hit of the official rule; the others say what is wrong
with a prediction that is none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from tallymark.data.annotations import Annotations
from tallymark.geometry import Geometry, Labels
from tallymark.scoring.sweep import Sweep, find_pairs

PREDICTION_OUTCOMES = ("hit", "duplicate", "localisation", "class", "background")
HIT, DUPLICATE, LOCALISATION, CLASS, BACKGROUND = range(len(PREDICTION_OUTCOMES))
TRUTH_OUTCOMES = ("found", "missed")
FOUND, MISSED = range(len(TRUTH_OUTCOMES))
LEAST_IOU = 0.1
"""IoU from which on a prediction is about an object, and badly placed; below, it is about background."""
PRECEDENCE = np.array([0, 1, 3, 2, 4])
"""Of each outcome: a duplicate and a wrong class need a larger overlap than a bad localisation, and go first."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The outcome of each of n predictions and m truths.

    prediction: (n,) codes, indices into `PREDICTION_OUTCOMES`. truth: (m,) codes, indices into `TRUTH_OUTCOMES`.
    partner: (n,) the row of the truth that a prediction is matched with, or that its outcome is about; -1 for none.
    iou: (n,) with the partner; of events, the seconds between both; nan where there is no partner.
    loose: (n,) whether a hit, or one but for its class, passes only the lower levels with its partner.
    duplicates_count: whether the rule counts duplicates as false positives.

    Predictions
    -----------
    hit: matched. duplicate: passes the level with a truth of its class that a better prediction has.
    class: passes the level with a truth of another class. localisation: overlaps a truth of its class, but too little.
    background: none of these, e.g. where there is nothing.
    """

    prediction: np.ndarray
    truth: np.ndarray
    partner: np.ndarray
    iou: np.ndarray
    loose: np.ndarray
    duplicates_count: bool = True

    @property
    def hit(self) -> np.ndarray:
        """(n,) whether each prediction is a hit."""
        return self.prediction == HIT

    @property
    def false_alarm(self) -> np.ndarray:
        """(n,) whether the rule counts each prediction as a false positive."""
        return ~self.hit & (self.duplicates_count | (self.prediction != DUPLICATE))

    @property
    def found(self) -> np.ndarray:
        """(m,) whether each truth is found."""
        return self.truth == FOUND

    @property
    def counts(self) -> pl.DataFrame:
        """A row for each outcome of predictions, then of truths: side, outcome, objects."""
        predictions = np.bincount(self.prediction, minlength=len(PREDICTION_OUTCOMES))
        truths = np.bincount(self.truth, minlength=len(TRUTH_OUTCOMES))
        sides = ["prediction"] * len(predictions) + ["truth"] * len(truths)
        outcomes = [*PREDICTION_OUTCOMES, *TRUTH_OUTCOMES]
        return pl.DataFrame({"side": sides, "outcome": outcomes, "objects": np.concatenate([predictions, truths])})


def sweep_outcomes(truth: Annotations[Geometry], predicted: Annotations[Geometry], found: Sweep) -> Outcomes:
    """Outcomes of shapes that overlap; of which class a truth must be is for the groups of the sweep to say."""
    near = find_pairs(
        found.truth_shapes, found.predicted_shapes, truth.item, predicted.item, min(LEAST_IOU, found.twentieths[0] / 20)
    )
    same = found.truth_group[near.first] == found.predicted_group[near.second]
    level = found.level(near)
    code = np.where(level > 0, np.where(same, DUPLICATE, CLASS), np.where(same, LOCALISATION, BACKGROUND))
    iou = near.iou
    order = np.lexsort((near.first, -iou, PRECEDENCE[code], near.second))
    chosen = order[np.append(True, np.diff(near.second[order]) != 0)] if len(order) else order
    prediction = np.full(len(predicted), BACKGROUND, np.int8)
    partner = np.full(len(predicted), -1)
    with_partner = np.full(len(predicted), np.nan)
    loose = np.zeros(len(predicted), bool)
    prediction[near.second[chosen]] = code[chosen]
    partner[near.second[chosen]] = near.first[chosen]
    with_partner[near.second[chosen]] = iou[chosen]
    loose[near.second[chosen]] = (code[chosen] == CLASS) & (level[chosen] < len(found.twentieths))
    rows = np.flatnonzero(found.matched[:, 0])
    first, second = found.pairs.first[rows], found.pairs.second[rows]
    prediction[second], partner[second], with_partner[second] = HIT, first, found.pairs.iou[rows]
    loose[second] = found.level(found.pairs)[rows] < len(found.twentieths)
    return Outcomes(prediction, truth_outcomes(len(truth), first), partner, with_partner, loose)


def truth_outcomes(count: int, found: np.ndarray) -> np.ndarray:
    """The codes of so many truths, of which those in the rows `found` are found."""
    outcome = np.full(count, MISSED, np.int8)
    outcome[found] = FOUND
    return outcome


def label_outcomes(truth: Annotations[Labels], predicted: Annotations[Labels]) -> Outcomes:
    """Outcomes of the labels of items: the true one is a hit, at whatever rank; others are of a wrong class."""
    row = np.full(len(truth.items), -1)
    row[truth.item] = np.arange(len(truth))
    partner = row[predicted.item]
    right = predicted.shapes.label == np.append(truth.shapes.label, -1)[partner]
    hits = np.flatnonzero(right)
    hits = hits[np.unique(predicted.item[hits], return_index=True)[1]]  # the first of equal labels
    prediction = np.where(right, DUPLICATE, np.where(partner < 0, BACKGROUND, CLASS)).astype(np.int8)
    prediction[hits] = HIT
    found = truth_outcomes(len(truth), partner[hits])
    return Outcomes(prediction, found, partner, np.full(len(partner), np.nan), np.zeros(len(partner), bool))
