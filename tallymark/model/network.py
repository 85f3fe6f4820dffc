"""The network of a recipe, and what it is worth on a batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tallymark.centres.codes import CODES
from tallymark.model.backbones import make_backbone
from tallymark.model.heads import CentreHead, ClassHead, Pyramid
from tallymark.model.losses import BY_CODE, focal, soft_cross_entropy, trimmed_mean
from tallymark.model.weights import load_backbone
from tallymark.recipe import Recipe

LEVEL = {4: 0, 8: 1, 16: 2}
"""The finest features that are used, by the pixels to a cell."""


@dataclass(frozen=True)
class CentreTruth:
    """What the centre head should see in a batch: heat, and for each cell that tells a shape its numbers."""

    shapes: Any
    heat: Tensor
    picture: Tensor
    y: Tensor
    x: Tensor
    values: Tensor
    weight: Tensor
    present: Tensor

    def to(self, device: torch.device, non_blocking: bool = False) -> CentreTruth:
        """The same on a device, but for the shapes, which are compared by NumPy."""
        moved = {
            name: value.to(device, non_blocking=non_blocking)
            for name, value in vars(self).items()
            if isinstance(value, Tensor)
        }
        return replace(self, **moved)


class Centres(nn.Module):
    """Finds the centres of things on a grid, and tells their shapes."""

    def __init__(self, recipe: Recipe, classes: int) -> None:
        super().__init__()
        self.trim = 0.0
        self.code = CODES[recipe.finds]
        self.backbone = make_backbone(recipe.backbone, recipe.width, recipe.depth)
        channels = self.backbone.channels
        self.neck = Pyramid(channels[LEVEL[recipe.stride] :], recipe.neck)
        self.head = CentreHead(recipe.neck, classes, self.code.values, channels[-1])

    def forward(self, pictures: Tensor) -> dict[str, Tensor]:
        features = self.backbone(pictures)
        maps: dict[str, Tensor] = self.head(self.neck(features[-len(self.neck.aside) :]), features[-1])
        return maps

    def readout(self, pictures: Tensor) -> dict[str, Tensor]:
        """The maps as probabilities, which is what a model file gives."""
        maps = self(pictures)
        return {name: part if name == "values" else part.sigmoid() for name, part in maps.items()}

    def loss(self, maps: dict[str, Tensor], truth: CentreTruth) -> dict[str, Tensor]:
        """The parts of the loss by name."""
        at = (truth.picture, slice(None), truth.y, truth.x)
        values, quality = maps["values"][at].float(), maps["quality"][at][:, 0].float()
        count = truth.weight.sum().clamp(min=1)
        wrong = BY_CODE[self.code.loss](values, truth.values)
        overlap = self._overlap(values, truth)
        good = functional.binary_cross_entropy_with_logits(quality, overlap, reduction="none")
        return {
            "heat": focal(maps["heat"].float(), truth.heat),
            "shape": SHAPE[self.code.loss] * (wrong * truth.weight).sum() / count,
            "quality": (good * truth.weight).sum() / count,
            "presence": 0.25 * functional.binary_cross_entropy_with_logits(maps["presence"].float(), truth.present),
        }

    @torch.no_grad()
    def begin(self, truth: CentreTruth) -> None:
        """Before anything is learned, tell the mean shape: it takes long to get there by small steps."""
        if len(truth.values):
            self.head.values.bias[: self.code.values] = truth.values.mean(0)  # type: ignore[index]  # it has a bias

    def _overlap(self, values: Tensor, truth: CentreTruth) -> Tensor:
        """How well each told shape fits the true one, by the geometry's own overlap."""
        x, y = (truth.x + 0.5).numpy(force=True), (truth.y + 0.5).numpy(force=True)
        told = self.code.decode(x, y, values.detach().numpy(force=True).astype(float))
        every = np.arange(len(x))
        shared, union = told.overlap(truth.shapes, every, every)
        return torch.from_numpy(np.divide(shared, union, out=np.zeros(len(x)), where=union > 0)).to(values)


SHAPE = {"sides": 5.0, "plain": 0.5}
"""How much the loss of the shape counts against that of the heat."""


class Classes(nn.Module):
    """Tells what is in a whole picture."""

    def __init__(self, recipe: Recipe, classes: int) -> None:
        super().__init__()
        self.trim = 0.0
        self.backbone = make_backbone(recipe.backbone, recipe.width, recipe.depth, top=True)
        self.head = ClassHead(self.backbone.channels[-1], classes)

    def forward(self, pictures: Tensor) -> dict[str, Tensor]:
        return {"classes": self.head(self.backbone(pictures)[-1])}

    def readout(self, pictures: Tensor) -> dict[str, Tensor]:
        return {"classes": self(pictures)["classes"].softmax(1)}

    def begin(self, chances: Tensor) -> None:
        """There is nothing to know beforehand."""

    def loss(self, maps: dict[str, Tensor], chances: Tensor) -> dict[str, Tensor]:
        return {"classes": trimmed_mean(soft_cross_entropy(maps["classes"].float(), chances), self.trim)}


Network = Centres | Classes


def make_network(recipe: Recipe, classes: int) -> Network:
    """The network of a recipe, with random weights but for those that the recipe names."""
    torch.manual_seed(recipe.seed)
    network = Classes(recipe, classes) if recipe.finds == "labels" else Centres(recipe, classes)
    load_backbone(network.backbone, recipe.weights)
    network.backbone.freeze(recipe.frozen)
    return network
