"""From what models say to what is handed in: gate, merge, cut, and the geometry of the challenge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tallymark.core.problems import BadInput, Problem
from tallymark.core.recipe import Recipe, thresholds_by_class
from tallymark.data.annotations import Annotations
from tallymark.detector.coders import CODERS
from tallymark.geometry import Boxes, Events, Labels, RotatedBoxes
from tallymark.inference.nms import fuse_overlapping
from tallymark.inference.pipeline import Candidates

RANKED = 3
"""Labels told of a whole picture, the surest first."""


def postprocess(raw: Candidates, recipe: Recipe) -> Annotations[Any]:
    """The findings that a recipe's cut, gate and overlap leave, in the geometry of the challenge."""
    if raw.chances is not None:
        return top_k(raw, RANKED)
    return apply_thresholds(merge(raw, recipe), raw, recipe)


def top_k(raw: Candidates, count: int) -> Annotations[Labels]:
    """The likeliest distinct classes of each picture; of equal chances, the lower class id comes first."""
    chances = raw.chances
    if chances is None:
        raise ValueError("no chances to rank")
    count = min(count, chances.shape[1])
    label = np.argsort(-chances, axis=1, kind="stable")[:, :count]
    item = np.repeat(np.arange(len(raw.items)), count)
    score = np.take_along_axis(chances, label, 1).ravel()
    return Annotations.from_rows(raw.items, item, Labels(label.ravel()), label=label.ravel(), score=score)


def merge(raw: Candidates, recipe: Recipe) -> Candidates:
    """With one finding where several overlap."""
    if raw.found is None:
        raise ValueError("no candidates to merge")
    if CODERS[recipe.task].line:  # moments do not overlap, and peaks keep their distance
        return raw
    return replace(raw, found=fuse_overlapping(raw.found, recipe.fusion, recipe.nms_iou))


def apply_thresholds(merged: Candidates, raw: Candidates, recipe: Recipe) -> Annotations[Any]:
    """Only what is surer than the cut, in pictures that pass the gate, inside the pictures."""
    found, presence = merged.found, raw.presence
    if found is None or presence is None:
        raise ValueError("no candidates to keep")
    cuts = np.array(thresholds_by_class(recipe, found.classes) or [recipe.score_threshold])
    cut = cuts[found.labels] if len(cuts) > 1 else cuts[0]
    kept = found.filter((found.scores >= cut) & (presence[found.item] >= recipe.image_threshold))
    if isinstance(kept.shapes, Boxes):
        kept = _clipped(kept, raw.size)
    if isinstance(kept.shapes, Events):  # the way to a moment may lead out of the recording
        kept = replace(kept, shapes=replace(kept.shapes, time=np.clip(kept.shapes.time, 0, raw.size[kept.item, 0])))
    if isinstance(kept.shapes, RotatedBoxes):
        length, width = kept.shapes.length * recipe.mask_scale, kept.shapes.width * recipe.mask_scale
        kept = replace(kept, shapes=replace(kept.shapes, length=length, width=width))
    return CODERS[recipe.task].to_truth_geometry(kept, common_shape(raw) if recipe.task == "masks" else None)


def _clipped(found: Annotations[Boxes], size: np.ndarray) -> Annotations[Boxes]:
    width, height = size[found.item].T
    inside = replace(found, shapes=found.shapes.clip_to(width, height))
    return inside.filter((inside.shapes.width >= 1) & (inside.shapes.height >= 1))


def common_shape(raw: Candidates) -> tuple[int, int]:
    """Height and width of the pictures, which masks need to be alike."""
    known = raw.size[np.isfinite(raw.size).all(axis=1)]
    sizes = np.unique(known, axis=0)
    if len(sizes) > 1:
        other = int(np.flatnonzero((raw.size != known[0]).any(axis=1) & np.isfinite(raw.size).all(axis=1))[0])
        found, expected = "x".join(f"{side:.0f}" for side in raw.size[other]), "x".join(f"{s:.0f}" for s in known[0])
        name, remedy = raw.items.ids[other], "predict chips of one size at a time"
        raise BadInput(Problem("other_size", name, f"a picture of {found}", expected, remedy, item=name))
    if not len(sizes):
        return (1, 1)
    width, height = sizes[0].astype(int).tolist()
    return height, width
