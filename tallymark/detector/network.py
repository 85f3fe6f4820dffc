"""The network of a recipe, and what it is worth on a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from tallymark.core.problems import BadInput, Problem
from tallymark.core.recipe import Recipe
from tallymark.detector.backbones import make_backbone
from tallymark.detector.coders import CODERS
from tallymark.detector.encoders import make_encoder
from tallymark.detector.heads import FPN, CenterHead, ClassificationHead
from tallymark.detector.losses import SHAPE_LOSSES, bce_dice, focal, soft_cross_entropy, trimmed_mean
from tallymark.detector.weights import load_weights

PLANE = (4, 8, 16)
LINE = (2, 4, 8, 16)
"""The pixels to a cell that each level of features offers: on a plane, and on a line of time."""


@dataclass(frozen=True)
class CenterTargets:
    """What the centre head should see in a batch: heat, and for each cell that tells a shape its numbers.

    label: the class that each of these cells tells. cover: how much of each cell is covered, where the code asks.
    """

    shapes: Any
    heat: Tensor
    picture: Tensor
    y: Tensor
    x: Tensor
    values: Tensor
    weight: Tensor
    present: Tensor
    label: Tensor
    cover: Tensor | None = None

    def to(self, device: torch.device, non_blocking: bool = False) -> CenterTargets:
        """The same on a device, but for the shapes, which are compared by NumPy."""
        moved = {
            name: value.to(device, non_blocking=non_blocking)
            for name, value in vars(self).items()
            if isinstance(value, Tensor)
        }
        return replace(self, **moved)


class CenterDetector(nn.Module):
    """Finds the centres of things on a grid, and tells their shapes."""

    def __init__(self, recipe: Recipe, classes: int, groups: Sequence[int] = ()) -> None:
        super().__init__()
        self.trim, self.begun = 0.0, False
        self.code = CODERS[recipe.task]
        of_class = torch.tensor(groups or [0] * classes)
        self.register_buffer("group", of_class, persistent=False)
        self.group: Tensor
        line, strides = self.code.one_dimensional, LINE if self.code.one_dimensional else PLANE
        if recipe.stride not in strides:
            expected, remedy = " or ".join(map(str, strides)), f"give e.g. stride={strides[0]}"
            raise BadInput(Problem("bad_option", "recipe", f"stride={recipe.stride}", expected, remedy))
        if line and recipe.tta != 1:
            expected, remedy = "tta=1: time has one direction only", "leave it out"
            raise BadInput(Problem("bad_option", "recipe", f"tta={recipe.tta}", expected, remedy))
        self.reader = make_encoder(recipe)
        self.backbone = make_backbone(
            recipe.backbone, recipe.width, recipe.depth, inputs=self.reader.channels, line=line
        )
        channels = self.backbone.channels
        self.neck = FPN(channels[strides.index(recipe.stride) :], recipe.neck, line=line)
        covers, count = self.code.predicts_coverage, int(of_class.max()) + 1
        self.head = CenterHead(recipe.neck, classes, self.code.values, channels[-1], covers=covers, groups=count)

    def forward(self, pictures: Tensor) -> dict[str, Tensor]:
        features = self.backbone(self.reader(pictures))
        maps: dict[str, Tensor] = self.head(self.neck(features[-len(self.neck.lateral) :]), features[-1])
        return maps

    def readout(self, pictures: Tensor) -> dict[str, Tensor]:
        """The maps as probabilities, which is what a model file gives."""
        maps = self(pictures)
        return {name: part if name == "values" else part.sigmoid() for name, part in maps.items()}

    def loss(self, maps: dict[str, Tensor], truth: CenterTargets) -> dict[str, Tensor]:
        """The parts of the loss by name."""
        group = self.group[truth.label]
        own = group[:, None] * self.code.values + torch.arange(self.code.values, device=group.device)
        values = maps["values"][truth.picture[:, None], own, truth.y[:, None], truth.x[:, None]].float()
        quality = maps["quality"][truth.picture, group, truth.y, truth.x].float()
        count = truth.weight.sum().clamp(min=1)
        wrong = SHAPE_LOSSES[self.code.loss](values, truth.values)
        overlap = self._likeness(values, truth)
        good = functional.binary_cross_entropy_with_logits(quality, overlap, reduction="none")
        parts = {
            "heat": focal(maps["heat"].float(), truth.heat),
            "shape": SHAPE[self.code.loss] * (wrong * truth.weight).sum() / count,
            "quality": (good * truth.weight).sum() / count,
            "presence": 0.25 * functional.binary_cross_entropy_with_logits(maps["presence"].float(), truth.present),
        }
        return parts if truth.cover is None else parts | {"cover": bce_dice(maps["cover"].float(), truth.cover)}

    @torch.no_grad()
    def begin(self, truth: CenterTargets) -> None:
        """Before anything is learned, tell the mean shape: it takes long to get there by small steps."""
        bias = cast(Tensor, self.head.values.bias).view(self.head.groups, -1)
        group = self.group[truth.label]
        for number in range(self.head.groups):
            own = truth.values[group == number]
            own = own if len(own) else truth.values
            if len(own):
                bias[number, : self.code.values] = own.mean(0)

    def _likeness(self, values: Tensor, truth: CenterTargets) -> Tensor:
        """How well each told shape fits the true one, by the code's own measure."""
        x, y = (truth.x + 0.5).numpy(force=True), (truth.y + 0.5).numpy(force=True)
        told = self.code.decode(x, y, values.detach().numpy(force=True).astype(float))
        return torch.from_numpy(self.code.iou(told, truth.shapes)).to(values)


SHAPE = {"giou": 5.0, "smooth_l1": 0.5, "kld": 2.0, "cuboid": 2.0}
"""How much the loss of the shape counts against that of the heat."""


class Classifier(nn.Module):
    """Tells what is in a whole picture."""

    def __init__(self, recipe: Recipe, classes: int) -> None:
        super().__init__()
        self.trim, self.begun = 0.0, False
        self.reader = make_encoder(recipe)
        self.backbone = make_backbone(recipe.backbone, recipe.width, recipe.depth, top=True)
        self.head = ClassificationHead(self.backbone.channels[-1], classes)

    def forward(self, pictures: Tensor) -> dict[str, Tensor]:
        return {"classes": self.head(self.backbone(pictures)[-1])}

    def readout(self, pictures: Tensor) -> dict[str, Tensor]:
        return {"classes": self(pictures)["classes"].softmax(1)}

    def begin(self, chances: Tensor) -> None:
        """There is nothing to know beforehand."""

    def loss(self, maps: dict[str, Tensor], chances: Tensor) -> dict[str, Tensor]:
        return {"classes": trimmed_mean(soft_cross_entropy(maps["classes"].float(), chances), self.trim)}


Network = CenterDetector | Classifier


def make_network(recipe: Recipe, classes: int, groups: Sequence[int] = ()) -> Network:
    """The network of a recipe, with random weights but for those that the recipe names.

    groups: the group of each class; one for all unless given.
    """
    torch.manual_seed(recipe.seed)
    network = Classifier(recipe, classes) if recipe.task == "labels" else CenterDetector(recipe, classes, groups)
    network.begun = load_weights(network, network.backbone, recipe.weights)
    network.backbone.freeze(recipe.frozen_stages)
    return network
