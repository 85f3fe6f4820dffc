"""Post-processing: candidates to predictions, by fusion, thresholds, and the geometry of the challenge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tallymark.core.recipe import Recipe, thresholds_by_class
from tallymark.data.annotations import Annotations, concat_items
from tallymark.detector.coders import CODERS
from tallymark.inference.candidates import Candidates, CandidateSource
from tallymark.inference.nms import fuse_overlapping


def postprocess(candidates: Candidates, recipe: Recipe) -> Annotations[Any]:
    """The predictions that a recipe's fusion and thresholds leave."""
    return apply_thresholds(fuse(candidates, recipe), recipe)


def postprocess_parts(source: CandidateSource, recipe: Recipe, classes: tuple[str, ...]) -> Annotations[Any]:
    """The same for candidates that may be on disk: some items at a time. classes: names of the labels."""
    predictions = concat_items([postprocess(part, recipe) for part in source.parts()])
    return replace(predictions, items=source.items, classes=classes)


def fuse(candidates: Candidates, recipe: Recipe) -> Candidates:
    """One candidate where several of one object overlap."""
    if not candidates.objects.shapes.overlaps:
        return candidates
    return replace(candidates, objects=fuse_overlapping(candidates.objects, recipe.fusion, recipe.nms_iou))


def apply_thresholds(fused: Candidates, recipe: Recipe) -> Annotations[Any]:
    """What reaches the thresholds of its class and of its item, clipped to the item, in the challenge's geometry."""
    coder = CODERS[recipe.task]
    objects = fused.objects
    if not coder.ranked:
        objects = objects.filter(_reach_thresholds(fused, recipe))
        shapes, kept = objects.shapes.clip(fused.size[objects.item])
        objects = replace(objects.filter(np.isin(np.arange(len(objects)), kept)), shapes=shapes)
    return coder.to_truth_geometry(objects, fused.size, recipe)


def _reach_thresholds(candidates: Candidates, recipe: Recipe) -> np.ndarray:
    objects = candidates.objects
    by_class = np.array(thresholds_by_class(recipe, objects.classes) or [recipe.score_threshold])
    threshold = by_class[objects.labels] if len(by_class) > 1 else by_class[0]
    reached: np.ndarray = (objects.scores >= threshold) & (candidates.presence[objects.item] >= recipe.image_threshold)
    return reached
