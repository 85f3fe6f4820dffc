"""Neck and heads: from the features of any backbone to maps of centres, or to the classes of a whole picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from tallymark.detector.backbones import convolution, initialise
from tallymark.detector.mask_refinement import FINE

PRIOR = 0.05
"""How likely anything is found at a cell before training."""


class FPN(nn.Module):
    """Coarse features, which know what there is, added to fine ones, which know where.

    line: bands are averaged away first (and their loudest added), so that a line of time remains.
    """

    def __init__(self, channels: Sequence[int], width: int, *, line: bool = False) -> None:
        super().__init__()
        self.line = line
        self.lateral = nn.ModuleList(nn.Conv2d(count, width, 1) for count in channels)
        self.smooth = nn.ModuleList(
            nn.Sequential(*convolution(width, width), nn.ReLU(inplace=True)) for _ in channels[:-1]
        )
        initialise(self)

    def forward(self, features: list[Tensor]) -> Tensor:
        if self.line:
            features = [part.mean(2, keepdim=True) + part.amax(2, keepdim=True) for part in features]
        out, grow = self.lateral[-1](features[-1]), (1.0, 2.0) if self.line else 2.0
        for number in range(len(features) - 2, -1, -1):
            finer = self.lateral[number](features[number])
            out = self.smooth[number](finer + functional.interpolate(out, scale_factor=grow))
        return out


class CenterHead(nn.Module):
    """Heat for each class, the numbers of a code, how good they are, and whether there is anything at all.

    covers: also how much of each cell is covered. groups: of classes, each with numbers and their quality of its own,
    told from features of its own; several groups have half as many each.
    """

    def __init__(
        self, width: int, classes: int, values: int, deepest: int, *, covers: bool = False, groups: int = 1
    ) -> None:
        super().__init__()
        self.groups, own = groups, width if groups == 1 else groups * (width // 2)
        self.stem = nn.Sequential(*convolution(width, own), nn.ReLU(inplace=True))
        self.heat = nn.Conv2d(own, classes, 1)
        self.cover = nn.Conv2d(own, FINE**2, 1) if covers else None
        self.values = nn.Conv2d(own, groups * (values + 1), 1, groups=groups)
        self.presence = nn.Linear(2 * deepest, 1)
        initialise(self.stem)
        for last in (self.heat, self.values):
            nn.init.normal_(last.weight, std=0.01)
            nn.init.zeros_(cast(Tensor, last.bias))
        for likely in (self.heat, self.cover):
            if likely is not None:
                nn.init.constant_(cast(Tensor, likely.bias), math.log(PRIOR / (1 - PRIOR)))

    def forward(self, fine: Tensor, coarse: Tensor) -> dict[str, Tensor]:
        """Logits of heat, quality, presence and cover, and the values as they are, those of each group in turn."""
        stem = self.stem(fine)
        values, quality = self._apart(self.values(stem))
        pooled = torch.cat([coarse.mean((2, 3)), coarse.amax((2, 3))], 1)
        maps = {
            "heat": self.heat(stem),
            "values": values,
            "quality": quality,
            "presence": self.presence(pooled)[:, 0],
        }
        return maps if self.cover is None else maps | {"cover": functional.pixel_shuffle(self.cover(stem), FINE)}

    def _apart(self, told: Tensor) -> tuple[Tensor, Tensor]:
        """The values of all groups, and the quality of each."""
        if self.groups == 1:
            return told[:, :-1], told[:, -1:]
        parts = told.reshape(told.shape[0], self.groups, -1, *told.shape[2:])
        return parts[:, :, :-1].flatten(1, 2), parts[:, :, -1]


class ClassificationHead(nn.Module):
    """Generalised-mean pooling (between mean and maximum, learned), and a linear layer."""

    def __init__(self, inputs: int, classes: int, drop: float = 0.2) -> None:
        super().__init__()
        self.power = nn.Parameter(torch.tensor(3.0))
        self.drop = nn.Dropout(drop)
        self.linear = nn.Linear(inputs, classes)

    def forward(self, coarse: Tensor) -> Tensor:
        out: Tensor = self.linear(self.drop(self.pool(coarse)))
        return out

    def pool(self, coarse: Tensor) -> Tensor:
        """The features of a whole picture."""
        power = self.power.clamp(1, 8)
        return coarse.clamp(min=1e-4).pow(power).mean((2, 3)).pow(1 / power)
