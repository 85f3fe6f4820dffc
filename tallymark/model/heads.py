"""Neck and heads: from the features of any backbone to maps of centres, or to the classes of a whole picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from tallymark.model.backbones import convolution, initialise

PRIOR = 0.05
"""How likely anything is found at a cell before training."""


class Pyramid(nn.Module):
    """Coarse features, which know what there is, added to fine ones, which know where.

    line: bands are averaged away first (and their loudest added), so that a line of time remains.
    """

    def __init__(self, channels: Sequence[int], width: int, *, line: bool = False) -> None:
        super().__init__()
        self.line = line
        self.aside = nn.ModuleList(nn.Conv2d(count, width, 1) for count in channels)
        self.smooth = nn.ModuleList(
            nn.Sequential(*convolution(width, width), nn.ReLU(inplace=True)) for _ in channels[:-1]
        )
        initialise(self)

    def forward(self, features: list[Tensor]) -> Tensor:
        if self.line:
            features = [part.mean(2, keepdim=True) + part.amax(2, keepdim=True) for part in features]
        out, grow = self.aside[-1](features[-1]), (1.0, 2.0) if self.line else 2.0
        for number in range(len(features) - 2, -1, -1):
            finer = self.aside[number](features[number])
            out = self.smooth[number](finer + functional.interpolate(out, scale_factor=grow))
        return out


class CentreHead(nn.Module):
    """Heat for each class, the numbers of a code, how good they are, and whether there is anything at all."""

    def __init__(self, width: int, classes: int, values: int, deepest: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(*convolution(width, width), nn.ReLU(inplace=True))
        self.heat = nn.Conv2d(width, classes, 1)
        self.values = nn.Conv2d(width, values + 1, 1)
        self.presence = nn.Linear(2 * deepest, 1)
        initialise(self.stem)
        for last in (self.heat, self.values):
            nn.init.normal_(last.weight, std=0.01)
            nn.init.zeros_(cast(Tensor, last.bias))
        nn.init.constant_(cast(Tensor, self.heat.bias), math.log(PRIOR / (1 - PRIOR)))

    def forward(self, fine: Tensor, coarse: Tensor) -> dict[str, Tensor]:
        """Logits of heat, quality and presence, and the values as they are."""
        stem = self.stem(fine)
        values = self.values(stem)
        pooled = torch.cat([coarse.mean((2, 3)), coarse.amax((2, 3))], 1)
        return {
            "heat": self.heat(stem),
            "values": values[:, :-1],
            "quality": values[:, -1:],
            "presence": self.presence(pooled)[:, 0],
        }


class ClassHead(nn.Module):
    """Generalised-mean pooling (between mean and maximum, learned), and a linear layer."""

    def __init__(self, inputs: int, classes: int, drop: float = 0.2) -> None:
        super().__init__()
        self.power = nn.Parameter(torch.tensor(3.0))
        self.drop = nn.Dropout(drop)
        self.linear = nn.Linear(inputs, classes)

    def forward(self, coarse: Tensor) -> Tensor:
        power = self.power.clamp(1, 8)
        pooled = coarse.clamp(min=1e-4).pow(power).mean((2, 3)).pow(1 / power)
        out: Tensor = self.linear(self.drop(pooled))
        return out
