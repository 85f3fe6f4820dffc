"""Reports: one page about predictions, with their score where the truth is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from tallymark.api.data import PathLike, read_folder
from tallymark.api.known_truth import AS_IT_IS, TruthChanges, read_known_truth, run_of
from tallymark.api.predictions import read_predictions, stored_candidates
from tallymark.api.score import split_options
from tallymark.core.humanize import plural
from tallymark.core.planned_outputs import refuse_outputs
from tallymark.core.problems import EVERY, BadInput, Problem, Problems
from tallymark.core.recipe import Recipe
from tallymark.core.registry import Challenge, Scoring, challenge
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.detector.coders import CODERS
from tallymark.geometry import Geometry
from tallymark.inference.candidates import Candidates
from tallymark.inference.held_out_groups import HELD_OUT_GROUPS
from tallymark.inference.postprocess import postprocess
from tallymark.inference.predictor import PredictionResult
from tallymark.reporting.report.subject import Rule, Subject
from tallymark.reporting.report.write import SCENES, write_report
from tallymark.scoring.alignment import without_unknown
from tallymark.scoring.baseline import beside_baseline
from tallymark.scoring.score import Score

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from tallymark.training.train import TrainingResult

LOWEST = 0.25
"""Predictions are shown down to this share of the score threshold, so that the slider of the page can go below it."""


def report(
    name: str,
    predictions: PathLike,
    out: PathLike,
    *,
    media: PathLike | None = None,
    truth: PathLike | None = None,
    exclude: PathLike | None = None,
    corrections: Sequence[PathLike] = (),
    figures: PathLike | None = None,
    scenes: int = SCENES,
    seed: int = 0,
    **options: object,
) -> Problems:
    """Write a page about predictions: what was found and, where the truth is known, what is right, wrong and missing.

    Parameters
    ----------
    name: the challenge.
    predictions: a submission, a file of candidates with their scores, or a run, for its held-out candidates.
    out: the page. media: the data folder with the images, recordings or sweeps, for pictures.
    truth: the official annotations, or a data folder that has them; by default those of `media`, if it has any.
    exclude: a CSV list of items and objects of the data folder to ignore. corrections: of its annotations, as a review
        page saved them. Those of the training are asked for, if the predictions are those of a run.
    figures: a folder for the charts as SVG and PNG files.
    scenes: pictures on the page, at most. seed: of the random choice among items.
    options: rule options and score options, as for `score`.

    Returns
    -------
    Items that could not be drawn.
    """
    refuse_outputs([out], filled=[figures], force=True)
    what = challenge(name)
    problems = Problems(EVERY)
    rule_options = what.parse_rule_options(split_options(what, options)[0], truth or media)
    catalog = None if media is None else problems.checked(read_folder(what, Path(media), rule_options, None, problems))
    changes = TruthChanges.of(what, exclude, corrections)
    subject = subject_of(what, predictions, catalog, truth, options, changes)
    return write_report(subject, Path(out), figures=_path(figures), scenes=scenes, seed=seed)


def subject_of(
    what: Challenge,
    predictions: PathLike,
    catalog: Catalog | None,
    truth: PathLike | None,
    options: Mapping[str, object],
    changes: TruthChanges = AS_IT_IS,
) -> Subject:
    """What a report on a file of predictions is about; the parameters are those of `report`."""
    problems = Problems(EVERY)
    rule, extra = split_options(what, options)
    rule_options = what.parse_rule_options(rule, truth if catalog is None else truth or catalog.root)
    predicted, threshold = _read(what, predictions, rule, problems)
    source = truth if truth is not None else _own_truth(catalog, predicted)
    answers = None
    notes: list[str] = []
    if source is None:
        changes.refuse_unused()
    else:
        if (run := run_of(predictions)) is not None:
            changes.refuse_missing(run)
        known = read_known_truth(what, source, rule_options, changes, problems)
        answers = problems.checked(known.answers)
        if what.sparse:
            predicted = without_unknown(predicted, known.unknown, predictions, problems)
        complete = not what.sparse or Path(predictions).is_dir() or threshold is not None
        answers, predicted, notes = _align(what, answers, predicted, str(predictions), complete=complete)
        scoring = Scoring(Path(source), answers, rule_options, rule | extra, problems, listed=complete)
        rule_options = what.complete_rule_options(scoring)
        problems.raise_if_any()
    return Subject(
        what,
        f"{what.title}: {Path(predictions).name}",
        predicted,
        answers,
        _official_rule(what, rule_options),
        catalog,
        threshold if threshold is not None else _lowest_score(predicted),
        (*problems.remarks, *notes),
    )


def export_report(
    result: PredictionResult,
    path: PathLike,
    *,
    figures: PathLike | None = None,
    scenes: int = SCENES,
    rule_options: Mapping[str, object] | None = None,
) -> Problems:
    """Write the report of a prediction, with its score where the items are labelled; returns what was not drawn."""
    what = challenge(result.metadata.challenge)
    catalog = result.catalog
    given = dict(rule_options or {})
    if result.corrected:
        predicted, threshold = result.predictions, _lowest_score(result.predictions)
    else:
        predicted, threshold = shown_predictions(result.candidates.load(), result.recipe)
    predicted = replace(predicted, classes=result.predictions.classes, items=catalog.items)
    truth, notes = None, list(result.notes)
    labelled = catalog.labelled
    if catalog.truth is not None and labelled.any() and not catalog.truth.weak:
        known = catalog.select(labelled)
        truth = known.with_truth().truth
        predicted = predicted.reindex(truth.items)
        if not labelled.all():
            share = f"{len(known)} of {plural(len(catalog), catalog.medium.noun)}"
            notes.append(f"{share} are labelled; the report is about these")
        if not len(truth):
            nouns = truth.shapes.noun[1]
            notes.insert(0, f"the annotations have no {nouns} at all: every prediction counts as wrong")
    if result.counting is not None:
        total = plural(len(result.counted), *result.counted.shapes.noun)
        threshold_of_counts = f"score threshold {result.counting.score_threshold:.3g}"
        notes.append(
            f"tables of counts have {total}, at {threshold_of_counts}, where the total of held-out items is right"
        )
    parsed = what.parse_rule_options(given, catalog.root, predicted.classes)
    rule = what.rule_on(catalog, parsed, given)
    title = f"{what.title}: {catalog.root}"
    subject = Subject(what, title, predicted, truth, _beside(what, rule), catalog, threshold, tuple(notes))
    return write_report(subject, Path(path), figures=_path(figures), scenes=scenes)


def report_training(
    name: str, result: TrainingResult, path: PathLike, rule_options: Mapping[str, object], *, scenes: int = SCENES
) -> Problems:
    """Write the report of the held-out predictions of a training."""
    what = challenge(name)
    catalog = result.evaluated
    if catalog.truth is None or catalog.truth.weak:  # clips with a yes or no have no place to show
        return Problems()
    recipe = result.tuning.recipe
    predicted, threshold = shown_predictions(result.candidates, recipe)
    truth = catalog.with_truth().truth
    predicted = replace(predicted, classes=truth.classes).reindex(truth.items)
    parsed = what.parse_rule_options(rule_options, catalog.root, truth.classes)
    rule = what.rule_on(catalog, parsed, rule_options)
    notes = ["No model was trained on the items that it is evaluated on here."]
    if result.score.value != result.tuning.score.value:
        notes.append(f"With thresholds tuned on the other folds, the score is {result.score.value:.4f}.")
    title = f"{what.title}: held-out predictions of {result.run.folder}"
    by_group = {name: one for name, one in result.score.analyses.items() if name == HELD_OUT_GROUPS}
    subject = Subject(what, title, predicted, truth, _beside(what, rule), catalog, threshold, tuple(notes), by_group)
    return write_report(subject, Path(path), scenes=scenes)


def shown_predictions(candidates: Candidates, recipe: Recipe) -> tuple[Annotations[Geometry], float | None]:
    """The predictions of a report, also some below the threshold; and the threshold, None where there is none.

    Where classes have thresholds of their own, one slider cannot stand for them: then those above them are shown.
    """
    if CODERS[recipe.task].ranked:
        return postprocess(candidates, recipe), None
    if recipe.class_thresholds:
        predicted = postprocess(candidates, recipe)
        return predicted, _lowest_score(predicted)
    lower = recipe.replace(score_threshold=LOWEST * recipe.score_threshold)
    return postprocess(candidates, lower), recipe.score_threshold


def _lowest_score(predicted: Annotations[Geometry]) -> float | None:
    """A threshold that leaves all predictions; None for labels of whole items, and where there are no scores."""
    if predicted.score is None or not predicted.shapes.localized:
        return None
    return math.floor(1000 * float(predicted.scores.min(initial=1.0))) / 1000


def _read(
    what: Challenge, path: PathLike, rule: Mapping[str, Any], problems: Problems
) -> tuple[Annotations[Geometry], float | None]:
    """Predictions with the score threshold that they were made for, where the file knows it."""
    stored = stored_candidates(what, path, problems)
    if stored is None and not problems:
        return read_predictions(what.name, path, **rule), None
    known = problems.checked(stored)
    predicted, threshold = shown_predictions(known.candidates, known.metadata.recipe)
    return replace(predicted, classes=known.metadata.classes), threshold


def _own_truth(catalog: Catalog | None, predicted: Annotations[Geometry]) -> Path | None:
    """The data folder, if it has the truth of some item that is predicted."""
    if catalog is None or catalog.truth is None or catalog.truth.weak:
        return None
    at = catalog.items.find(predicted.items.ids)
    return catalog.root if catalog.labelled[at[at >= 0]].any() else None


def _align(
    what: Challenge, truth: Annotations[Geometry], predicted: Annotations[Geometry], file: str, *, complete: bool
) -> tuple[Annotations[Geometry], Annotations[Geometry], list[str]]:
    """Truth and predictions under the same items: those of both, and notes on the others.

    complete: whether the file of predictions lists every item that was predicted, also those without any prediction.
    """
    if not complete:
        items = Items(pl.concat([truth.items.ids, predicted.items.ids]).unique(maintain_order=True))
        return truth.reindex(items), predicted.reindex(items), []
    named = predicted.items.spelled_like(truth.items) if what.suffix_optional else predicted.items
    predicted = replace(predicted, items=named)
    known = truth.items.find(named.ids) >= 0
    if what.sparse:  # the truth names recordings with calls only
        return truth.reindex(named), predicted, []
    if not known.any():
        found, expected = "no id of the truth", "predictions of items that the truth has"
        raise BadInput(Problem("no_common_id", file, found, expected, "give the truth of the same set"))
    group = truth.items.group
    kept = truth.items.find(named.ids.filter(pl.Series(known)))
    items = Items(truth.items.ids[kept], None if group is None else group[kept])
    notes = []
    if not known.all():
        notes.append(f"{int((~known).sum())} of {len(known)} predicted items have no truth, and are not shown.")
    if len(kept) < len(truth.items):
        notes.append(f"The score is that of {len(kept)} of {len(truth.items)} items with truth: others have no row.")
    return truth.reindex(items), predicted.reindex(items), notes


def _official_rule(what: Challenge, rule_options: DataclassInstance) -> Rule:
    return _beside(what, lambda truth, predicted: what.score(truth, predicted, rule_options))


def _beside(what: Challenge, rule: Rule) -> Rule:
    """A rule whose scores know that of the baseline."""

    def score(truth: Annotations[Geometry], predicted: Annotations[Geometry]) -> Score:
        return beside_baseline(rule(truth, predicted), truth, rule, what.baseline)

    return score


def _path(path: PathLike | None) -> Path | None:
    return None if path is None else Path(path)
