"""Tuning: the thresholds and the NMS overlap that score best by the official rule, on items held out from training."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations, concat_items
from tallymark.detector.coders import CODERS
from tallymark.inference.candidates import Candidates, concat_candidates
from tallymark.inference.postprocess import apply_thresholds, fuse, postprocess
from tallymark.inference.temperature import log_losses
from tallymark.scoring.ranked_matches import item_labels
from tallymark.scoring.score import Score

THRESHOLDS = tuple(k / 50 for k in range(4, 41))
COARSE_THRESHOLDS = THRESHOLDS[3::4]
CLASS_THRESHOLDS = THRESHOLDS[::2]
GRID = ("nms_iou", "image_threshold", "score_threshold")
"""The fields that are tuned together; others follow one by one."""

Rule = Callable[[Annotations[Any], Annotations[Any]], Score]
"""An official rule: truth and predictions to a score."""


@dataclass(frozen=True, eq=False)
class Tuning:
    """The recipe with the best settings, its score, and the curve: a row for each setting tried."""

    recipe: Recipe
    score: Score
    curve: pl.DataFrame


def tune(
    candidates: Candidates,
    truth: Annotations[Any],
    recipe: Recipe,
    rule: Rule,
    *,
    thorough: bool = True,
    fixed: Collection[str] = (),
) -> Tuning:
    """Try settings on the candidates of items with known truth.

    fixed: fields that stay as they are in the recipe; with a fixed score threshold, classes have none of their own.
    thorough: also the fields in the coder's search space, and, where there are several classes, a threshold for each.
    Otherwise only one score threshold, coarsely, as checkpoint selection needs it. A ranking has no thresholds, but a
    temperature.
    """
    coder = CODERS[recipe.task]
    space = {name: values for name, values in coder.search.items() if thorough and name not in fixed}
    if coder.ranked:
        return _tune_temperature(candidates, truth, recipe, rule, space.get("temperature", (recipe.temperature,)))
    search = Search(candidates, truth, rule)
    thresholds = THRESHOLDS if thorough else COARSE_THRESHOLDS
    tried = {
        "nms_iou": space.get("nms_iou", (recipe.nms_iou,)),
        "image_threshold": space.get("image_threshold", (recipe.image_threshold,)),
        "score_threshold": (recipe.score_threshold,) if "score_threshold" in fixed else thresholds,
    }
    before = rule(truth, postprocess(candidates, recipe))
    # Class thresholds of an earlier tuning would hide every other score threshold.
    start = recipe if "class_thresholds" in fixed else recipe.replace(class_thresholds="")
    rows = search.grid(start, tried)
    curve = pl.DataFrame(rows, schema=[*GRID, "score"], orient="row")
    smoothed = smooth(np.array([row[3] for row in rows]).reshape([len(values) for values in tried.values()]))
    if np.isnan(smoothed).all():  # the rule has no number for these items, so no setting is better than another
        return Tuning(recipe, before, curve)
    best = np.nanargmax if before.better == "higher" else np.nanargmin
    chosen = dict(zip(GRID, map(float, rows[int(best(smoothed))][:3]), strict=True))
    tuned = start.replace(**chosen)
    if "mask_scale" in space:
        tuned, more = _tune_mask_scale(search, tuned, space["mask_scale"], best)
        curve = pl.concat([curve.with_columns(mask_scale=pl.lit(float(recipe.mask_scale))), more], how="diagonal")
    by_class = thorough and not {"score_threshold", "class_thresholds"} & set(fixed)
    if by_class and len(candidates.objects.classes) > 1:
        tuned, more = _tune_classes(search, tuned, best)
        curve = pl.concat([curve.with_columns(pl.lit("").alias("class")), more], how="diagonal")
    return Tuning(tuned, rule(truth, postprocess(candidates, tuned)), curve)


@dataclass(frozen=True, eq=False)
class Search:
    """Scores of one set of candidates under several settings."""

    candidates: Candidates
    truth: Annotations[Any]
    rule: Rule
    _fused: dict[float, Candidates] = field(default_factory=dict)

    def grid(self, recipe: Recipe, tried: dict[str, tuple[float, ...]]) -> list[tuple[float, float, float, float]]:
        """A row for each combination; candidates are fused once for each overlap."""
        rows = []
        for nms_iou in tried["nms_iou"]:
            fused = self.fuse(recipe.replace(nms_iou=nms_iou))
            for image_threshold, threshold in product(tried["image_threshold"], tried["score_threshold"]):
                changed = recipe.replace(image_threshold=image_threshold, score_threshold=threshold)
                score = self.rule(self.truth, apply_thresholds(fused, changed)).tuned_by
                rows.append((nms_iou, image_threshold, threshold, score))
        return rows

    def each(self, recipes: Sequence[Recipe]) -> np.ndarray:
        """The score of each recipe; all have one way of fusion."""
        fused = self.fuse(recipes[0])
        return np.array([self.rule(self.truth, apply_thresholds(fused, recipe)).tuned_by for recipe in recipes])

    def fuse(self, recipe: Recipe) -> Candidates:
        """Fused candidates, kept for the next question, which is mostly about the same overlap."""
        if recipe.nms_iou not in self._fused:
            self._fused.clear()
            self._fused[recipe.nms_iou] = fuse(self.candidates, recipe)
        return self._fused[recipe.nms_iou]


def _tune_temperature(
    candidates: Candidates, truth: Annotations[Any], recipe: Recipe, rule: Rule, temperatures: tuple[float, ...]
) -> Tuning:
    """The temperature at which the true labels are most probable; the score is the same at all of them."""
    losses = log_losses(candidates.probabilities, item_labels(truth), temperatures)
    best = recipe.temperature if np.isnan(losses).all() else temperatures[int(np.argmin(losses))]
    tuned = recipe.replace(temperature=best)
    score = rule(truth, postprocess(candidates, tuned))
    curve = {"temperature": temperatures, "log_loss": losses, "score": [score.value] * len(losses)}
    return Tuning(tuned, score, pl.DataFrame(curve))


def _tune_mask_scale(
    search: Search, recipe: Recipe, scales: tuple[float, ...], best: Callable[[np.ndarray], np.intp]
) -> tuple[Recipe, pl.DataFrame]:
    """How much larger masks should be than predicted, with the other settings as they are."""
    scores = search.each([recipe.replace(mask_scale=scale) for scale in scales])
    fixed = recipe.at("postprocessing")
    rows = [
        {**{name: fixed[name] for name in GRID}, "score": score, "mask_scale": scale}
        for scale, score in zip(scales, scores.tolist(), strict=True)
    ]
    return recipe.replace(mask_scale=scales[int(best(smooth(scores)))]), pl.DataFrame(rows)


def _tune_classes(search: Search, recipe: Recipe, best: Callable[[np.ndarray], np.intp]) -> tuple[Recipe, pl.DataFrame]:
    """A threshold for each class, the most frequent first, with those of the others as they are by then."""
    objects = search.candidates.objects
    names = objects.classes
    predicted = np.bincount(objects.labels, minlength=len(names)) > 0
    frequency = np.bincount(search.truth.labels, minlength=len(names))[: len(names)]
    thresholds = dict[str, float]()
    rows = []
    for label in np.argsort(-frequency, kind="stable").tolist():
        if not predicted[label]:
            continue
        name = names[label]
        tried = [recipe.replace(class_thresholds=_listed(thresholds | {name: one})) for one in CLASS_THRESHOLDS]
        scores = search.each(tried)
        rows += [(name, one, score) for one, score in zip(CLASS_THRESHOLDS, scores.tolist(), strict=True)]
        thresholds[name] = CLASS_THRESHOLDS[int(best(smooth(scores)))]
    schema = {"class": pl.String, "score_threshold": pl.Float64, "score": pl.Float64}
    return recipe.replace(class_thresholds=_listed(thresholds)), pl.DataFrame(rows, schema=schema, orient="row")


def _listed(thresholds: dict[str, float]) -> str:
    return ", ".join(f"{name} {threshold:g}" for name, threshold in thresholds.items())


def smooth(scores: np.ndarray) -> np.ndarray:
    """Each score averaged with its neighbours along the last axis, so that no single lucky setting wins."""
    wide = np.pad(scores, [(0, 0)] * (scores.ndim - 1) + [(1, 1)], mode="edge")
    averaged: np.ndarray = (wide[..., :-2] + 2 * wide[..., 1:-1] + wide[..., 2:]) / 4
    return averaged


@dataclass(frozen=True, eq=False)
class CrossTuning:
    """Parts that are post-processed by settings tuned on the others.

    recipes: of each part. sizes: the number of items in each. predictions, score: of all together.
    """

    recipes: tuple[Recipe, ...]
    sizes: tuple[int, ...]
    predictions: Annotations[Any]
    score: Score

    @property
    def item_thresholds(self) -> np.ndarray:
        """(n,) the score threshold of each item."""
        return np.repeat([float(recipe.score_threshold) for recipe in self.recipes], self.sizes)


def cross_tune(
    parts: Sequence[Candidates],
    truths: Sequence[Annotations[Any]],
    recipe: Recipe,
    rule: Rule,
    *,
    fixed: Collection[str] = (),
) -> CrossTuning:
    """Post-process each part by settings tuned on the others, so that none tunes itself."""
    recipes = []
    predictions = []
    for number, part in enumerate(parts):
        others = [k for k in range(len(parts)) if k != number]
        candidates = concat_candidates([parts[k] for k in others])
        tuning = tune(candidates, concat_items([truths[k] for k in others]), recipe, rule, fixed=fixed)
        recipes.append(tuning.recipe)
        predictions.append(postprocess(part, tuning.recipe))
    together = concat_items(predictions)
    sizes = tuple(len(part.items) for part in parts)
    return CrossTuning(tuple(recipes), sizes, together, rule(concat_items(truths), together))
