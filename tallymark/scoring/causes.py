"""Causes of error: what the score would be without each, by the rule itself on corrected annotations (cf. TIDE)."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np
import polars as pl

from tallymark.data.annotations import Annotations, align_classes
from tallymark.geometry import Geometry
from tallymark.scoring.outcomes import BACKGROUND, CLASS, DUPLICATE, LOCALISATION, Outcomes
from tallymark.scoring.score import Score

CAUSES = {
    "loose": "a hit that is not placed well enough for higher levels is moved onto its truth",
    "localisation": "a prediction that overlaps a missed truth too little is moved onto it, or else dropped",
    "class": "a prediction of a missed truth as another class gets the right class, or else is dropped",
    "duplicate": "a second prediction of a truth is dropped",
    "background": "a prediction where there is nothing is dropped",
    "missed": "a truth that no prediction is about is dropped",
}
"""Every cause, with how it is corrected."""
ALL = "all"
"""In place of a cause: all of them corrected together."""


def score_without_causes(
    truth: Annotations[Geometry],
    predicted: Annotations[Geometry],
    score: Score,
    rule: Callable[[Annotations[Geometry], Annotations[Geometry]], Score],
) -> pl.DataFrame | None:
    """What each cause costs; None where the score has no outcomes, or is about labels of whole items.

    Parameters
    ----------
    score: of these annotations, by this rule.

    Returns
    -------
    A row for each cause, then for all of them: cause, objects, the score without it, and the gain, which is positive
    where that is better. Gains do not add up: a truth counts as found or not, whatever the number of its errors.
    """
    outcomes = score.outcomes
    if outcomes is None or not truth.shapes.localized:
        return None
    truth, predicted = align_classes(truth, predicted)
    claims = _claims(predicted, outcomes)
    objects = _objects(outcomes, claims)
    rows = []
    for cause in (*CAUSES, ALL):
        corrected = CAUSES if cause == ALL else (cause,)
        count = sum(objects[one] for one in corrected)
        value = rule(*_correct(truth, predicted, outcomes, claims, corrected)).value if count else score.value
        gain = value - score.value if score.better == "higher" else score.value - value
        rows.append((cause, count, *(number if math.isfinite(number) else None for number in (value, gain))))
    schema = {"cause": pl.String, "objects": pl.Int64, "score": pl.Float64, "gain": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _claims(predicted: Annotations[Geometry], outcomes: Outcomes) -> np.ndarray:
    """(n,) whether a badly placed or wrongly labelled prediction is the best of those about a missed truth."""
    wrong = np.isin(outcomes.prediction, (LOCALISATION, CLASS))
    rows = np.flatnonzero(wrong & ~np.append(outcomes.found, True)[outcomes.partner])
    rows = rows[np.argsort(-predicted.scores[rows], kind="stable")]
    claims = np.zeros(len(predicted), bool)
    claims[rows[np.unique(outcomes.partner[rows], return_index=True)[1]]] = True
    return claims


def _unclaimed(outcomes: Outcomes, claims: np.ndarray) -> np.ndarray:
    """(m,) whether a truth is missed, and no prediction is about it."""
    missed = ~outcomes.found
    missed[outcomes.partner[claims]] = False
    return missed


def _objects(outcomes: Outcomes, claims: np.ndarray) -> dict[str, int]:
    """The number of objects with each cause."""
    by_outcome = {"localisation": LOCALISATION, "class": CLASS, "duplicate": DUPLICATE, "background": BACKGROUND}
    counts = {cause: int((outcomes.prediction == code).sum()) for cause, code in by_outcome.items()}
    loose, missed = outcomes.loose & outcomes.hit, _unclaimed(outcomes, claims)
    return counts | {"loose": int(loose.sum()), "missed": int(missed.sum())}


def _correct(
    truth: Annotations[Geometry],
    predicted: Annotations[Geometry],
    outcomes: Outcomes,
    claims: np.ndarray,
    causes: Collection[str],
) -> tuple[Annotations[Geometry], Annotations[Geometry]]:
    """Truth and predictions without some causes of error."""
    code, nobody = outcomes.prediction, np.zeros(len(predicted), bool)
    placed = (code == LOCALISATION) if "localisation" in causes else nobody
    relabelled = (code == CLASS) if "class" in causes else nobody
    dropped = (placed | relabelled) & ~claims
    dropped |= (code == DUPLICATE) & ("duplicate" in causes)
    dropped |= (code == BACKGROUND) & ("background" in causes)
    moved = placed | (outcomes.loose & (outcomes.hit | relabelled) & ("loose" in causes))
    own = np.arange(len(predicted))
    shapes = predicted.shapes.concat(truth.shapes).take(np.where(moved, len(predicted) + outcomes.partner, own))
    label = predicted.label
    if label is not None and truth.label is not None:
        label = np.where(relabelled, np.append(truth.label, 0)[outcomes.partner], label)
    kept = ~_unclaimed(outcomes, claims) if "missed" in causes else np.ones(len(truth), bool)
    return truth.filter(kept), replace(predicted, shapes=shapes, label=label).filter(~dropped)
