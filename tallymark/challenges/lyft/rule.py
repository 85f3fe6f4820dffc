"""The lyft rules: the mean of TP / (TP + FP + FN) of the text, and the two metrics that are called "Lyft mAP"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tallymark.core import options as options_module
from tallymark.data.annotations import Annotations, align_classes
from tallymark.geometry import Cuboids
from tallymark.scoring.by_class import class_table, item_and_class, mean_of_rows
from tallymark.scoring.matches import EMPTY_VALUES, CountFormula
from tallymark.scoring.matching import Match
from tallymark.scoring.outcomes import sweep_outcomes
from tallymark.scoring.precision import average_precision
from tallymark.scoring.score import (
    Score,
    counted_score,
    item_table,
    pair_table,
    swept_score,
    threshold_counts,
    weighted_mean,
)
from tallymark.scoring.sweep import IouComparison, Sweep, sweep

TWENTIETHS = tuple(range(10, 20))
"""The text: "(0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)"."""


@dataclass(frozen=True)
class RuleOptions(options_module.RuleOptions):
    """Points that the official text leaves open.

    metric: `text` as written; `sdk`: average precision per class over the whole set; `mlebench`: average precision per
        sample, over the classes of that sample's truth.
    class_mode: (text) a match needs the same class; `agnostic` ignores classes; `per_class_mean` averages over classes.
    iou_comparison: a match needs an IoU greater than (`gt`) the threshold, or at least equal (`ge`).
    match: (text) a prediction takes the best unmatched truth, or misses if the best overall is taken.
    empty_image: (text) a sample without truth and predictions is skipped, or scores one or zero.
    unknown_class: a class other than the nine is an error, or kept as one that matches nothing.
    """

    metric: Literal["text", "mlebench", "sdk"] = "text"
    class_mode: Literal["within", "agnostic", "per_class_mean"] = "within"
    iou_comparison: IouComparison = "gt"
    match: Match = "best_unmatched"
    empty_image: Literal["skip", "one", "zero"] = "skip"
    unknown_class: Literal["error", "keep"] = "error"


def score(truth: Annotations[Cuboids], predicted: Annotations[Cuboids], rule_options: RuleOptions) -> Score:
    """Score predictions that list the same items as the truth."""
    truth, predicted = align_classes(truth, predicted)
    by_text = rule_options.metric == "text"
    return (_score_by_text if by_text else _score_by_ap)(truth, predicted, rule_options)


def _score_by_text(truth: Annotations[Cuboids], predicted: Annotations[Cuboids], rule_options: RuleOptions) -> Score:
    agnostic = rule_options.class_mode == "agnostic"
    found = _sweep(truth, predicted, rule_options, rule_options.match, 1 if agnostic else len(truth.classes))
    table = None if agnostic else class_table(truth, predicted, found)
    empty = EMPTY_VALUES[rule_options.empty_image]
    if rule_options.class_mode != "per_class_mean":
        formula = CountFormula(1, 1, 1, empty=empty)
        return counted_score("lyft", rule_options, truth, predicted, found, formula, table)
    value = mean_of_rows(CountFormula(1, 1, 1).by_group(found).reshape(len(truth.items), len(truth.classes)))
    value = np.where(np.isnan(value), empty, value)
    return swept_score("lyft", rule_options, truth, predicted, found, value, table)


def _score_by_ap(truth: Annotations[Cuboids], predicted: Annotations[Cuboids], rule_options: RuleOptions) -> Score:
    """The two average-precision metrics. A prediction matches its best truth, or misses if that one is taken."""
    items = len(truth.items)
    classes = len(truth.classes)
    found = _sweep(truth, predicted, rule_options, "best_overall", classes)
    by_sample = rule_options.metric == "mlebench"
    truths = np.bincount(item_and_class(truth, classes), minlength=items * classes)
    group = item_and_class(predicted, classes) if by_sample else predicted.labels
    # Ties in confidence are broken by id, then by position in the row, so that the order of rows does not matter.
    id_rank = truth.items.ids.rank("ordinal").to_numpy()[predicted.item]
    order = np.lexsort((id_rank, -predicted.scores, group))
    group, item = group[order], predicted.item[order]
    hit = np.zeros((len(TWENTIETHS), len(predicted)), bool)
    rows = np.flatnonzero(found.matched.any(axis=1))  # at most one pair per prediction, under best_overall
    hit[:, np.argsort(order)[found.pairs.second[rows]]] = found.matched[rows].T

    def per_class(weight: np.ndarray) -> np.ndarray:
        """The average precision of each (sample and) class, averaged over thresholds."""
        expected = truths * np.repeat(weight, classes)
        if not by_sample:
            expected = expected.reshape(items, classes).sum(axis=0)
        return np.mean([average_precision(at_one, group, expected, weight[item]) for at_one in hit], axis=0)

    ones = np.ones(items)
    precision = per_class(ones)
    if by_sample:
        value = mean_of_rows(precision.reshape(items, classes))

        def total(weight: np.ndarray) -> float:
            # The published grader returns no score if any sample has no truth.
            drawn = value[weight > 0]
            return float("nan") if np.isnan(drawn).any() else weighted_mean(value, weight)
    else:
        value = np.full(items, np.nan)

        def total(weight: np.ndarray) -> float:
            return float(mean_of_rows(per_class(weight)[None])[0])

    return Score(
        "lyft",
        total(ones),
        "higher",
        rule_options,
        item_table(truth, predicted, value),
        total=total,
        counts=threshold_counts(found),
        classes=class_table(truth, predicted, found, None if by_sample else precision),
        without="a sample has no truth: the published grader has no score then" if by_sample else "there is no truth",
        find_pairs=lambda: pair_table(truth, predicted, found),
        find_outcomes=lambda: sweep_outcomes(truth, predicted, found),
    )


def _sweep(
    truth: Annotations[Cuboids], predicted: Annotations[Cuboids], rule_options: RuleOptions, match: Match, classes: int
) -> Sweep:
    """Match within each item and class; with 1 class, across classes."""
    return sweep(
        truth.shapes,
        predicted.shapes,
        item_and_class(truth, classes),
        item_and_class(predicted, classes),
        len(truth.items) * classes,
        twentieths=TWENTIETHS,
        confidence=predicted.scores,
        comparison=rule_options.iou_comparison,
        mode=match,
    )
