"""The lyft rules: the text's mean of TP / (TP + FP + FN), and the two other numbers that are called "Lyft mAP"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from tallymark.core import options as options_module
from tallymark.data.annotations import Annotations, align_classes
from tallymark.geometry import Cuboids
from tallymark.scoring.matching import Match
from tallymark.scoring.precision import average_precision
from tallymark.scoring.score import (
    Score,
    critical_success,
    fill_empty,
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
    """Points that the text leaves open, with what we take it to say.

    metric: `text` as written; `sdk`: per class over the whole set, area under the precision envelope;
        `mlebench`: the same per sample, over the classes of that sample's truth.
    class_mode: (text) a hit needs the same class; `agnostic` does not ask; `per_class_mean` scores each class alone.
    iou_comparison, match, empty_image: as for wheat; the last two for `text` only.
    unknown_class: a class that is not one of the nine is refused, or kept as one that nothing matches.
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
    return (
        _text(truth, predicted, rule_options)
        if rule_options.metric == "text"
        else _precision(truth, predicted, rule_options)
    )


def _text(truth: Annotations[Cuboids], predicted: Annotations[Cuboids], rule_options: RuleOptions) -> Score:
    agnostic = rule_options.class_mode == "agnostic"
    found = _sweep(truth, predicted, rule_options, rule_options.match, 1 if agnostic else len(truth.classes))
    if rule_options.class_mode == "per_class_mean":
        value = _mean_where_any(critical_success(found).reshape(len(truth.items), len(truth.classes)))
    else:
        value = critical_success(found.pool(len(truth.items)))
    classes = None if agnostic else _class_table(truth, predicted, found, None)
    return swept_score(
        "lyft", rule_options, truth, predicted, found, fill_empty(value, rule_options.empty_image), classes
    )


def _precision(truth: Annotations[Cuboids], predicted: Annotations[Cuboids], rule_options: RuleOptions) -> Score:
    """The two average-precision metrics. Each prediction goes to its best truth, or misses if that is taken."""
    items, kinds = len(truth.items), len(truth.classes)
    found = _sweep(truth, predicted, rule_options, "best_overall", kinds)
    by_sample = rule_options.metric == "mlebench"
    truths = np.bincount(_group(truth, kinds), minlength=items * kinds)
    group = _group(predicted, kinds) if by_sample else predicted.labels
    # Ties in confidence: order of the ids, then of the string, so that the order of rows does not matter.
    id_rank = truth.items.ids.rank("ordinal").to_numpy()[predicted.item]
    order = np.lexsort((id_rank, -predicted.scores, group))
    group, item = group[order], predicted.item[order]
    hit = np.zeros((len(TWENTIETHS), len(predicted)), bool)
    rows = np.flatnonzero(found.matched.any(axis=1))  # one pair for each prediction at most, under best_overall
    hit[:, np.argsort(order)[found.pairs.second[rows]]] = found.matched[rows].T

    def per_class(weight: np.ndarray) -> np.ndarray:
        """The average precision of each (sample and) class, mean over thresholds."""
        expected = truths * np.repeat(weight, kinds)
        if not by_sample:
            expected = expected.reshape(items, kinds).sum(axis=0)
        return np.mean([average_precision(at_one, group, expected, weight[item]) for at_one in hit], axis=0)

    ones = np.ones(items)
    precision = per_class(ones)
    if by_sample:
        value = _mean_where_any(precision.reshape(items, kinds))

        def total(weight: np.ndarray) -> float:
            # The published grader has no number as soon as one sample has no truth.
            drawn = value[weight > 0]
            return float("nan") if np.isnan(drawn).any() else weighted_mean(value, weight)
    else:
        value = np.full(items, np.nan)

        def total(weight: np.ndarray) -> float:
            return float(_mean_where_any(per_class(weight)[None])[0])

    return Score(
        "lyft",
        total(ones),
        "higher",
        rule_options,
        item_table(truth, predicted, value),
        total=total,
        counts=threshold_counts(found),
        classes=_class_table(truth, predicted, found, None if by_sample else precision),
        without="a sample has no truth, and then the published grader has no number"
        if by_sample
        else "there is no truth",
        find_pairs=lambda: pair_table(truth, predicted, found),
    )


def _sweep(
    truth: Annotations[Cuboids], predicted: Annotations[Cuboids], rule_options: RuleOptions, match: Match, kinds: int
) -> Sweep:
    """Match within each item and class (`kinds` classes; 1: classes do not matter)."""
    return sweep(
        truth.shapes,
        predicted.shapes,
        _group(truth, kinds),
        _group(predicted, kinds),
        len(truth.items) * kinds,
        twentieths=TWENTIETHS,
        confidence=predicted.scores,
        comparison=rule_options.iou_comparison,
        mode=match,
    )


def _group(annotations: Annotations[Cuboids], kinds: int) -> np.ndarray:
    return annotations.item if kinds == 1 else annotations.item * kinds + annotations.labels


def _mean_where_any(values: np.ndarray) -> np.ndarray:
    """The mean of each row's values that are not nan; nan for a row of none."""
    counted = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        mean: np.ndarray = np.where(counted, values, 0).sum(axis=1) / counted.sum(axis=1)
    return mean


def _class_table(
    truth: Annotations[Cuboids], predicted: Annotations[Cuboids], found: Sweep, precision: np.ndarray | None
) -> pl.DataFrame:
    kinds = len(truth.classes)
    hits = found.hits.reshape(len(truth.items), kinds, len(TWENTIETHS)).sum(axis=0)
    table = pl.DataFrame(
        {
            "class": truth.classes,
            "truths": np.bincount(truth.labels, minlength=kinds),
            "predictions": np.bincount(predicted.labels, minlength=kinds),
            **{f"tp_{5 * k}": hits[:, TWENTIETHS.index(k)] for k in (10, 14, 18)},
        }
    )
    if precision is not None:
        table = table.with_columns(pl.Series("ap", precision).fill_nan(None))
    return table.filter((pl.col("truths") > 0) | (pl.col("predictions") > 0))
