"""Training targets of a batch: of the centre head for detection, and class probabilities for classification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from tallymark.core.recipe import Recipe
from tallymark.detector.mask_refinement import FINE, draw_balance, draw_coverage
from tallymark.detector.targets import draw_targets

if TYPE_CHECKING:
    from tallymark.detector.center_coder import CenterCoder
    from tallymark.modalities.sample import Sample

HEATMAP_GAIN = 1.6
"""Factor on the heatmap of shapes that are refined by their coverage: their exact centre matters less."""


@dataclass(frozen=True)
class CenterTargets:
    """Targets of the centre head for a batch of n images, with m cells from which a shape is regressed.

    shapes: the true shape of each cell, in cells of the grid. heatmap: (n, classes, height, width), from 0 to 1.
    image, y, x: (m,) image and position of each cell. values: (m, values) as the coder encodes the shape.
    weight: (m,) sums to 1 over the cells of a shape. presence: (n,) 1 where an image has any object.
    label: (m,) class of each cell. coverage: (n, 1, FINE * height, FINE * width), where the coder predicts it; balance:
        weights of its cells, by which all objects count alike.
    """

    shapes: Any
    heatmap: Tensor
    image: Tensor
    y: Tensor
    x: Tensor
    values: Tensor
    weight: Tensor
    presence: Tensor
    label: Tensor
    coverage: Tensor | None = None
    balance: Tensor | None = None

    def to(self, device: torch.device, non_blocking: bool = False) -> CenterTargets:
        """All tensors on a device; shapes stay NumPy columns."""
        moved = {
            name: value.to(device, non_blocking=non_blocking)
            for name, value in vars(self).items()
            if isinstance(value, Tensor)
        }
        return replace(self, **moved)


def center_targets(samples: Sequence[Sample], coder: CenterCoder, classes: int, recipe: Recipe) -> CenterTargets:
    """The targets of the centre head, on the grid of the recipe's stride."""
    height, width = (side // recipe.stride for side in samples[0].extent)
    height = 1 if coder.one_dimensional else height
    gain = HEATMAP_GAIN if coder.predicts_coverage else 1.0
    drawn, shapes, coverages, balances = [], [], [], []
    for sample in samples:
        scaled: Any = sample.shapes.scale(1 / recipe.stride)
        footprint = coder.footprint(scaled)
        targets = draw_targets(footprint, sample.label, classes, (height, width), gain)
        if coder.predicts_coverage:
            coverages.append(draw_coverage(footprint.scale(FINE), (FINE * height, FINE * width)))
            balances.append(draw_balance(footprint.scale(FINE), (FINE * height, FINE * width)))
        drawn.append(targets)
        shapes.append(scaled.take(targets.object))
    joined = shapes[0]
    for more in shapes[1:]:
        joined = joined.concat(more)
    x = np.concatenate([one.x for one in drawn])
    y = np.concatenate([one.y for one in drawn])
    result = CenterTargets(
        shapes=joined,
        heatmap=torch.from_numpy(np.stack([one.heatmap for one in drawn])),
        image=torch.from_numpy(np.repeat(np.arange(len(drawn)), [len(one.x) for one in drawn])),
        y=torch.from_numpy(y),
        x=torch.from_numpy(x),
        values=torch.from_numpy(coder.encode(joined, x + 0.5, y + 0.5).astype(np.float32)),
        weight=torch.from_numpy(np.concatenate([one.weight for one in drawn])),
        presence=torch.from_numpy(np.array([float(one.heatmap.max(initial=0) >= 1) for one in drawn], np.float32)),
        label=torch.from_numpy(
            np.concatenate([sample.label[one.object] for sample, one in zip(samples, drawn, strict=True)])
        ),
    )
    if not coverages:
        return result
    coverage, balance = (torch.from_numpy(np.stack(maps)) for maps in (coverages, balances))
    return replace(result, coverage=coverage, balance=balance)


def label_targets(samples: Sequence[Sample], classes: int, recipe: Recipe) -> Tensor:
    """Class probabilities (n, classes) of whole images, with label smoothing (Szegedy et al. 2016)."""
    probabilities = np.zeros((len(samples), classes), np.float32)
    for row, sample in zip(probabilities, samples, strict=True):
        np.add.at(row, sample.label, sample.weight)
    smoothing = recipe.label_smoothing
    return torch.from_numpy(probabilities * (1 - smoothing) + smoothing / classes)
