"""Tuning: the cuts, the gate and the overlap that score best by the official rule, on items not trained with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations, concat_items
from tallymark.detector.coders import CODERS
from tallymark.inference.pipeline import Candidates, concat_candidates
from tallymark.inference.postprocess import apply_thresholds, merge, postprocess
from tallymark.scoring.score import Score

THRESHOLDS = tuple(k / 50 for k in range(4, 41))
COARSE_THRESHOLDS = THRESHOLDS[3::4]
CLASS_THRESHOLDS = THRESHOLDS[::2]
NMS_IOUS = (0.3, 0.4, 0.5, 0.6, 0.7)
MASK_SCALES = (1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3)
APART = {"cuboids": (0.05, 0.1, 0.2, 0.3, 0.4)}
"""Overlaps of what cannot stand in one place with another."""
IMAGE_THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)

Rule = Callable[[Annotations[Any], Annotations[Any]], Score]


@dataclass(frozen=True, eq=False)
class Tuning:
    """The recipe with the best settings, its score, and the whole curve: a row for each setting tried."""

    recipe: Recipe
    score: Score
    curve: pl.DataFrame


def tune(raw: Candidates, truth: Annotations[Any], recipe: Recipe, rule: Rule, *, thorough: bool = True) -> Tuning:
    """Try settings on predictions of items with known truth.

    thorough: overlaps and gates too, not only one cut; then, where there are several classes, a cut for each of them.
    """
    if raw.chances is not None:
        score = rule(truth, postprocess(raw, recipe))
        return Tuning(recipe, score, pl.DataFrame({"score": [score.value]}))
    overlaps = APART.get(recipe.task, NMS_IOUS) if thorough and not CODERS[recipe.task].line else (recipe.nms_iou,)
    gates = IMAGE_THRESHOLDS if thorough and recipe.task == "masks" else (recipe.image_threshold,)
    cuts = THRESHOLDS if thorough else COARSE_THRESHOLDS
    rows = list(_curve(raw, truth, recipe, rule, overlaps, gates, cuts))
    curve = pl.DataFrame(rows, schema=["nms_iou", "image_threshold", "score_threshold", "score"], orient="row")
    steady = _steady(np.array([row[3] for row in rows]).reshape(len(overlaps), len(gates), len(cuts)))
    before = rule(truth, postprocess(raw, recipe))
    if np.isnan(steady).all():  # the rule has no number for these items, so nothing is better than anything
        return Tuning(recipe, before, curve)
    best = np.nanargmax if before.better == "higher" else np.nanargmin
    overlap, gate, cut = (float(value) for value in rows[int(best(steady))][:3])
    chosen = recipe.replace(nms_iou=overlap, image_threshold=gate, score_threshold=cut, class_thresholds="")
    if thorough and recipe.task == "masks":
        chosen, more = _tune_size(raw, truth, chosen, rule, best)
        curve = pl.concat([curve.with_columns(mask_scale=pl.lit(float(recipe.mask_scale))), more], how="diagonal")
    if thorough and raw.found is not None and len(raw.found.classes) > 1:
        chosen, more = _tune_classes(raw, truth, chosen, rule, best)
        curve = pl.concat([curve.with_columns(pl.lit("").alias("class")), more], how="diagonal")
    return Tuning(chosen, rule(truth, postprocess(raw, chosen)), curve)


def _tune_size(
    raw: Candidates, truth: Annotations[Any], recipe: Recipe, rule: Rule, best: Callable[[np.ndarray], np.intp]
) -> tuple[Recipe, pl.DataFrame]:
    """How much larger masks should be than they were told, with the other settings as they are."""
    merged = merge(raw, recipe)
    scores = [rule(truth, apply_thresholds(merged, raw, recipe.replace(mask_scale=grow))).value for grow in MASK_SCALES]
    fixed = {
        "nms_iou": recipe.nms_iou,
        "image_threshold": recipe.image_threshold,
        "score_threshold": recipe.score_threshold,
    }
    curve = pl.DataFrame(
        [{**fixed, "score": score, "mask_scale": grow} for grow, score in zip(MASK_SCALES, scores, strict=True)]
    )
    return recipe.replace(mask_scale=MASK_SCALES[int(best(_steady(np.array(scores))))]), curve


def _tune_classes(
    raw: Candidates, truth: Annotations[Any], recipe: Recipe, rule: Rule, best: Callable[[np.ndarray], np.intp]
) -> tuple[Recipe, pl.DataFrame]:
    """A cut for each class, the commonest first, with those of the others as they are by then."""
    if raw.found is None:
        raise ValueError("no candidates to cut")
    merged, names = merge(raw, recipe), raw.found.classes
    found = np.bincount(raw.found.labels, minlength=len(names)) > 0
    common = np.argsort(-np.bincount(truth.labels, minlength=len(names))[: len(names)], kind="stable")
    cuts, rows = dict[str, float](), []
    for name in (names[kind] for kind in common.tolist() if found[kind]):
        tried = [recipe.replace(class_thresholds=_listed(cuts | {name: cut})) for cut in CLASS_THRESHOLDS]
        scores = [rule(truth, apply_thresholds(merged, raw, one)).value for one in tried]
        rows += [(name, cut, score) for cut, score in zip(CLASS_THRESHOLDS, scores, strict=True)]
        cuts[name] = CLASS_THRESHOLDS[int(best(_steady(np.array(scores))))]
    curve = pl.DataFrame(
        rows, schema={"class": pl.String, "score_threshold": pl.Float64, "score": pl.Float64}, orient="row"
    )
    return recipe.replace(class_thresholds=_listed(cuts)), curve


def _listed(cuts: dict[str, float]) -> str:
    return ", ".join(f"{name} {cut:g}" for name, cut in cuts.items())


def _steady(scores: np.ndarray) -> np.ndarray:
    """A single lucky setting does not win: each counts with its neighbours along the cut, the last axis."""
    wide = np.pad(scores, [(0, 0)] * (scores.ndim - 1) + [(1, 1)], mode="edge")
    steady: np.ndarray = (wide[..., :-2] + 2 * wide[..., 1:-1] + wide[..., 2:]) / 4
    return steady


def cross_tuned(parts: Sequence[Candidates], truths: Sequence[Annotations[Any]], recipe: Recipe, rule: Rule) -> Score:
    """The score when each part is settled by what was tuned on the others, so that no item helps itself."""
    settled = []
    for number, part in enumerate(parts):
        others = [k for k in range(len(parts)) if k != number]
        truth = concat_items([truths[k] for k in others])
        settled.append(
            postprocess(part, tune(concat_candidates([parts[k] for k in others]), truth, recipe, rule).recipe)
        )
    return rule(concat_items(truths), concat_items(settled))


def _curve(
    raw: Candidates,
    truth: Annotations[Any],
    recipe: Recipe,
    rule: Rule,
    overlaps: tuple[float, ...],
    gates: tuple[float, ...],
    cuts: tuple[float, ...],
) -> Iterator[tuple[float, float, float, float]]:
    for overlap in overlaps:
        merged = merge(raw, recipe.replace(nms_iou=overlap))
        for gate, cut in product(gates, cuts):
            kept = apply_thresholds(merged, raw, recipe.replace(image_threshold=gate, score_threshold=cut))
            yield overlap, gate, cut, rule(truth, kept).value
