"""Neck and heads: from the features of any backbone to the maps of a centre detector, or to the classes of an image."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from tallymark.detector.backbones import conv_bn, init_weights
from tallymark.detector.mask_refinement import FINE

PRIOR = 0.05
"""Probability of an object at a cell, and of its coverage, before training (Lin et al. 2017: Focal Loss)."""


class FPN(nn.Module):
    """Feature pyramid (Lin et al. 2017): coarse features, which know what, are added to fine ones, which know where.

    channels: of the features, the finest level first. width: channels of the output, at the finest level.
    one_dimensional: frequencies are pooled first (mean plus maximum), so that only time remains.
    """

    def __init__(self, channels: Sequence[int], width: int, *, one_dimensional: bool = False) -> None:
        super().__init__()
        self.one_dimensional = one_dimensional
        self.lateral = nn.ModuleList(nn.Conv2d(count, width, 1) for count in channels)
        self.smooth = nn.ModuleList(nn.Sequential(*conv_bn(width, width), nn.ReLU(inplace=True)) for _ in channels[:-1])
        init_weights(self)

    def forward(self, features: list[Tensor]) -> Tensor:
        if self.one_dimensional:
            features = [level.mean(2, keepdim=True) + level.amax(2, keepdim=True) for level in features]
        scale = (1.0, 2.0) if self.one_dimensional else 2.0
        out = self.lateral[-1](features[-1])
        for number in range(len(features) - 2, -1, -1):
            finer = self.lateral[number](features[number])
            out = self.smooth[number](finer + functional.interpolate(out, scale_factor=scale))
        return out


class CenterHead(nn.Module):
    """A heatmap per class, regression and its quality, and the presence of any object (Zhou et al. 2019: CenterNet).

    width: channels of the neck. values: numbers that a coder regresses per object.
    presence_channels: of the coarsest features. coverage: whether the covered share of every cell is predicted too.
    groups: of classes, each with a regression of its own from features of its own; with several groups, each has half
        as many features (Yin et al. 2021: CenterPoint).
    """

    def __init__(
        self, width: int, classes: int, values: int, presence_channels: int, *, coverage: bool = False, groups: int = 1
    ) -> None:
        super().__init__()
        self.groups = groups
        channels = width if groups == 1 else groups * (width // 2)
        self.stem = nn.Sequential(*conv_bn(width, channels), nn.ReLU(inplace=True))
        self.heatmap = nn.Conv2d(channels, classes, 1)
        self.coverage = nn.Conv2d(channels, FINE**2, 1) if coverage else None
        self.regression = nn.Conv2d(channels, groups * (values + 1), 1, groups=groups)
        self.presence = nn.Linear(2 * presence_channels, 1)
        init_weights(self.stem)
        for last in (self.heatmap, self.regression):
            nn.init.normal_(last.weight, std=0.01)
            nn.init.zeros_(cast(Tensor, last.bias))
        for likely in (self.heatmap, self.coverage):
            if likely is not None:
                nn.init.constant_(cast(Tensor, likely.bias), math.log(PRIOR / (1 - PRIOR)))

    def forward(self, fine: Tensor, coarse: Tensor) -> dict[str, Tensor]:
        """Logits of heat, quality, presence and cover; values as they are, those of each group in turn."""
        stem = self.stem(fine)
        values, quality = self._split(self.regression(stem))
        pooled = torch.cat([coarse.mean((2, 3)), coarse.amax((2, 3))], 1)
        outputs = {
            "heat": self.heatmap(stem),
            "values": values,
            "quality": quality,
            "presence": self.presence(pooled)[:, 0],
        }
        if self.coverage is None:
            return outputs
        return outputs | {"cover": functional.pixel_shuffle(self.coverage(stem), FINE)}

    def _split(self, regression: Tensor) -> tuple[Tensor, Tensor]:
        """The values of all groups, and the quality of each."""
        if self.groups == 1:
            return regression[:, :-1], regression[:, -1:]
        parts = regression.reshape(regression.shape[0], self.groups, -1, *regression.shape[2:])
        return parts[:, :, :-1].flatten(1, 2), parts[:, :, -1]


class ClassificationHead(nn.Module):
    """Generalised-mean pooling with a learned exponent (Radenović et al. 2018), dropout and a linear layer.

    channels: of each level, the last one last. The levels before may have values of either sign: of these, each channel
    gives its mean and its root mean square.
    """

    def __init__(self, channels: Sequence[int], classes: int, dropout: float = 0.2) -> None:
        super().__init__()
        self.power = nn.Parameter(torch.tensor(3.0))
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(2 * sum(channels[:-1]) + channels[-1], classes)

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        out: Tensor = self.linear(self.dropout(self.pool(features)))
        return out

    def pool(self, features: Sequence[Tensor]) -> Tensor:
        """The features (n, channels) of whole images."""
        *levels, last = features
        pooled = [part for level in levels for part in (level.mean((2, 3)), _root_mean_square(level))]
        power = self.power.clamp(1, 8)
        return torch.cat([*pooled, last.clamp(min=1e-4).pow(power).mean((2, 3)).pow(1 / power)], 1)


def _root_mean_square(level: Tensor) -> Tensor:
    return level.square().mean((2, 3)).clamp(min=1e-8).sqrt()
