"""The network of a recipe, and what it is worth on a batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tallymark.centres.codes import CODES
from tallymark.model.backbones import make_backbone
from tallymark.model.heads import CentreHead, ClassHead, Pyramid
from tallymark.model.losses import BY_CODE, focal, soft_cross_entropy, trimmed_mean
from tallymark.model.weights import load_backbone
from tallymark.problems import BadInput, Problem
from tallymark.recipe import Recipe

PLANE = (4, 8, 16)
LINE = (2, 4, 8, 16)
"""The pixels to a cell that each level of features offers: on a plane, and on a line of time."""


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
        line, strides = self.code.line, LINE if self.code.line else PLANE
        if recipe.stride not in strides:
            expected, remedy = " or ".join(map(str, strides)), f"give e.g. stride={strides[0]}"
            raise BadInput(Problem("bad_option", "recipe", f"stride={recipe.stride}", expected, remedy))
        self.backbone = make_backbone(recipe.backbone, recipe.width, recipe.depth, line=line)
        channels = self.backbone.channels
        self.neck = Pyramid(channels[strides.index(recipe.stride) :], recipe.neck, line=line)
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
        overlap = self._likeness(values, truth)
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

    def _likeness(self, values: Tensor, truth: CentreTruth) -> Tensor:
        """How well each told shape fits the true one, by the code's own measure."""
        x, y = (truth.x + 0.5).numpy(force=True), (truth.y + 0.5).numpy(force=True)
        told = self.code.decode(x, y, values.detach().numpy(force=True).astype(float))
        return torch.from_numpy(self.code.likeness(told, truth.shapes)).to(values)


SHAPE = {"sides": 5.0, "plain": 0.5, "turned": 2.0}
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
