"""Probe: what models find in a single image, for the search of the scale that images are shown at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tallymark.core.recipe import Recipe, head_groups_of
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.detector.coders import CODERS
from tallymark.inference.nms import fuse_overlapping
from tallymark.inference.pipeline import Model, ensemble
from tallymark.modalities import modality_of
from tallymark.modalities.base import Probe, ProbedObjects
from tallymark.modalities.image.resize import pad_to_blocks


def probe_with(models: Sequence[Model], recipe: Recipe, classes: tuple[str, ...]) -> Probe:
    """A function that gives the objects which models find in an image, without test-time augmentation."""
    coder = CODERS[recipe.task]
    alone = recipe.without_tta()
    groups = np.array(head_groups_of(recipe, classes), np.int64)
    peak_distance = modality_of(recipe).peak_distance(recipe)

    def probe(image: np.ndarray) -> ProbedObjects:
        height, width = image.shape[:2]
        outputs = ensemble(pad_to_blocks(image), models, alone)
        read = coder.read_outputs(outputs, (0, 0, width, height), recipe, groups, peak_distance)
        shapes = coder.decode(read.x, read.y, read.values.astype(float)).scale(recipe.stride)
        item = np.zeros(len(read.x), np.int64)
        label = read.label.astype(np.int64)
        candidates = Annotations.from_rows(Items.of([""]), item, shapes, label=label, score=read.score)
        fused = fuse_overlapping(candidates, recipe.fusion, recipe.nms_iou)
        return ProbedObjects(np.sqrt(fused.shapes.area), fused.scores)

    return probe
