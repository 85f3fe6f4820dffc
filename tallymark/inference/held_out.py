"""Held-out items: settings tuned on their candidates, and the score, the recall curve and the counts that follow."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from tallymark.core.recipe import Recipe
from tallymark.core.registry import NOTHING_FOUND, Baseline
from tallymark.data.annotations import Annotations, concat_items
from tallymark.data.folds import Folds
from tallymark.detector.coders import CODERS
from tallymark.geometry import Geometry
from tallymark.inference.candidates import Candidates, concat_candidates
from tallymark.inference.counting import CountCalibration, calibrate_counts
from tallymark.inference.held_out_groups import HELD_OUT_GROUPS, score_groups
from tallymark.inference.postprocess import postprocess
from tallymark.inference.recall_curve import RecallCurve, measure_recall
from tallymark.inference.tuning import Rule, Tuning, cross_tune, tune
from tallymark.scoring.baseline import beside_baseline
from tallymark.scoring.calibration import calibration
from tallymark.scoring.score import Score


@dataclass(frozen=True, eq=False)
class HeldOutResult:
    """What the candidates of held-out items lead to.

    candidates, truth: of the items of all folds. tuning: on all of them.
    score: of the tuned settings, or, with several folds, of each fold under settings tuned on the others.
    curve: recall against false positives per hour, for event detection.
    counting: how detections are counted; None where there is nothing to count.
    """

    candidates: Candidates
    truth: Annotations[Geometry]
    tuning: Tuning
    score: Score
    curve: RecallCurve | None
    counting: CountCalibration | None


def evaluate_held_out(
    parts: Sequence[Candidates],
    truths: Sequence[Annotations[Geometry]],
    recipe: Recipe,
    rule: Rule,
    baseline: Baseline = NOTHING_FOUND,
    *,
    fixed: Collection[str] = (),
    folds: Folds | None = None,
) -> HeldOutResult:
    """Tune a recipe on the candidates of each fold, whose truth is known.

    fixed: the fields that are not tuned. folds: whose groups were left out one by one, for the score of each group.
    """
    candidates, truth = concat_candidates(parts), concat_items(truths)
    tuning = tune(candidates, truth, recipe, rule, fixed=fixed)

    def finish(score: Score, candidates: Candidates, truth: Annotations[Geometry]) -> Score:
        score = beside_baseline(score, truth, rule, baseline)
        if score.objective is None:
            return score
        return _ranked(score, rule(truth, postprocess(candidates, recipe.replace(score_threshold=0.0))))

    if len(parts) == 1:  # there is nothing else to tune on, and the score is that of the tuned items themselves
        score = finish(tuning.score, candidates, truth)
    else:
        crossed = cross_tune(parts, truths, recipe, rule, fixed=fixed)
        score = finish(crossed.score, candidates, truth)
        if folds is not None:
            group = folds.group_of(candidates.items)
            table = score_groups(
                candidates,
                truth,
                crossed,
                group,
                lambda own, known, predicted: finish(rule(known, predicted), own, known),
            )
            score = replace(score, analyses={**score.analyses, HELD_OUT_GROUPS: table})
    if score.ranking is not None:
        score = replace(score, details=score.details | _calibration_errors(score, truth, candidates, recipe, rule))
    timed = CODERS[recipe.task].one_dimensional and not truth.weak
    curve = measure_recall(candidates, truth, recipe, rule) if timed else None
    if curve is not None:
        score = replace(score, details=score.details | curve.quoted())
    return HeldOutResult(candidates, truth, tuning, score, curve, calibrate_counts(candidates, truth, tuning.recipe))


def _calibration_errors(
    tuned: Score, truth: Annotations[Geometry], candidates: Candidates, recipe: Recipe, rule: Rule
) -> dict[str, float]:
    """The expected calibration error of the most probable classes, without the tuned temperature and with it."""
    plain = rule(truth, postprocess(candidates, recipe.replace(temperature=1.0)))
    errors = {}
    for name, score in (("calibration_error_untuned", plain), ("calibration_error", tuned)):
        ranking = score.ranking
        found = None if ranking is None else calibration(ranking.probability, ranking.rank == 1)
        if found is not None:
            errors[name] = found.error
    return errors


def _ranked(tuned: Score, ranked: Score) -> Score:
    """A score that ranks items, of all candidates, with the counts at the tuned threshold."""
    details = tuned.details | {name: value for name, value in ranked.details.items() if value == ranked.value}
    return replace(
        tuned,
        value=ranked.value,
        items=ranked.items,
        total=ranked.total,
        find_totals=ranked.find_totals,
        details=details,
        lines=(),
    )
