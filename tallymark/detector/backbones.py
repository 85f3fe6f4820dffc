"""Backbones. Each has `channels`, of features at a quarter, an eighth, a 16th and a 32nd of its input's size."""

from __future__ import annotations

import copy
from typing import Any

from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from tallymark.core.problems import BadInput, Problem


class Backbone(nn.Module):
    """Stages that each halve the picture; the features are those of the stages in `taken`.

    shift and scale: a byte x of the picture enters as (x - shift) / scale.
    """

    inputs: int = 3
    channels: tuple[int, ...]
    stages: nn.ModuleList
    taken: tuple[int, ...]
    frozen: int = 0

    def __init__(self, shift: float = 127.0, scale: float = 64.0) -> None:
        super().__init__()
        self.shift, self.scale = shift, scale
        self._folded: tuple[nn.Module, ...] = ()  # not a module's child, so that no state dict has it
        self.register_load_state_dict_post_hook(_forget_folded)  # type: ignore[no-untyped-call]  # torch has no type

    def forward(self, picture: Tensor) -> list[Tensor]:
        features, out = (picture - self.shift) / self.scale, list[Tensor]()
        for number, stage in enumerate([*self._frozen_stages(), *self.stages[self.frozen :]]):
            features = stage(features)
            if number in self.taken:
                out.append(features)
        return out

    def freeze(self, count: int) -> None:
        """The first stages stay as they are, their running means included."""
        if count > len(self.stages):
            expected, remedy = f"at most {len(self.stages)}, the stages of the backbone", "give a smaller number"
            raise BadInput(Problem("bad_option", "recipe", f"frozen_stages={count}", expected, remedy))
        self.frozen, self._folded = count, ()
        for stage in self.stages[:count]:
            stage.requires_grad_(False)
        self.train(self.training)

    def _apply(self, *given: Any, **named: Any) -> Backbone:
        """Whatever moves the weights elsewhere."""
        self._folded = ()
        return super()._apply(*given, **named)  # type: ignore[no-untyped-call]  # torch has no type for it

    def _frozen_stages(self) -> tuple[nn.Module, ...]:
        """The stages that do not learn, with normalisations folded into convolutions: a fifth of their time."""
        if len(self._folded) != self.frozen:
            self._folded = tuple(fold(stage) for stage in self.stages[: self.frozen])
        return self._folded

    def train(self, mode: bool = True) -> Backbone:
        super().train(mode)
        for stage in self.stages[: self.frozen]:
            stage.eval()
        return self


def _forget_folded(backbone: nn.Module, keys: object) -> None:
    backbone._folded = ()  # type: ignore[assignment]  # other weights were loaded


def fold(module: nn.Module) -> nn.Module:
    """A copy that gives the same, in which every convolution has taken over the normalisation after it."""
    folded = copy.deepcopy(module).eval()
    for part in folded.modules():
        if isinstance(part, nn.Sequential):
            for number in range(len(part) - 1):
                first, second = part[number], part[number + 1]
                if isinstance(first, nn.Conv2d) and isinstance(second, nn.BatchNorm2d):
                    part[number], part[number + 1] = fuse_conv_bn_eval(first, second), nn.Identity()
    return folded.requires_grad_(False)


def convolution(
    inputs: int, outputs: int, side: int = 3, stride: int | tuple[int, int] = 1, groups: int = 1
) -> list[nn.Module]:
    """A convolution without bias, and its normalisation."""
    return [
        nn.Conv2d(inputs, outputs, side, stride, side // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]


class Residual(nn.Module):
    """Two 3x3 convolutions around which the input passes."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *convolution(inputs, outputs, 3, stride), nn.ReLU(inplace=True), *convolution(outputs, outputs)
        )
        alike = stride == 1 and inputs == outputs
        pool = [nn.AvgPool2d(stride)] if stride > 1 else []
        self.shortcut = nn.Identity() if alike else nn.Sequential(*pool, *convolution(inputs, outputs, 1))
        self.act = nn.ReLU(inplace=True)

    def forward(self, features: Tensor) -> Tensor:
        out: Tensor = self.act(self.body(features) + self.shortcut(features))
        return out


class MiniResNet(Backbone):
    """Residual blocks of plain 3x3 convolutions, the fastest kind on CPUs.

    inputs: channels. Unless they are the three of a picture, they enter as they are.
    line: for levels of sound; time is halved once less than bands are.
    """

    def __init__(self, width: int, depth: int, *, inputs: int = 3, line: bool = False) -> None:
        super().__init__(*((0.0, 1.0) if inputs != 3 else ()))
        self.channels, self.taken = (2 * width, 4 * width, 8 * width, 8 * width), (1, 2, 3, 4)
        self.inputs = inputs
        first = convolution(self.inputs, width, 3, (2, 1) if line else 2)
        stages = [nn.Sequential(*first, nn.ReLU(inplace=True))]
        before = width
        for channels in self.channels:
            blocks = [Residual(before, channels, 2)]
            blocks += [Residual(channels, channels, 1) for _ in range(depth - 1)]
            stages.append(nn.Sequential(*blocks))
            before = channels
        self.stages = nn.ModuleList(stages)


def published(inputs: int, outputs: int, side: int = 3, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    """A convolution and its normalisation, for weights that were learned with TensorFlow.

    There, a convolution that halves an even side looks one pixel further right and down than left and up. Here it has
    one more row and column, with which it looks as far to all sides; at first they are 0 (see `weights.py`).
    """
    side += stride - 1
    return [
        nn.Conv2d(inputs, outputs, side, stride, (side - 1) // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs, eps=1e-3),
    ]


class InvertedResidual(nn.Module):
    """A wide depthwise convolution between two narrow ends."""

    def __init__(self, inputs: int, outputs: int, side: int, stride: int, wider: int) -> None:
        super().__init__()
        inner = inputs * wider
        widen = [*published(inputs, inner, 1), nn.ReLU6(inplace=True)] if wider > 1 else []
        self.body = nn.Sequential(
            *widen,
            *published(inner, inner, side, stride, groups=inner),
            nn.ReLU6(inplace=True),
            *published(inner, outputs, 1),
        )
        self.alike = stride == 1 and inputs == outputs

    def forward(self, features: Tensor) -> Tensor:
        out: Tensor = self.body(features)
        return out + features if self.alike else out


LITE0 = ((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4),
         (6, 3, 1, 320, 1))  # fmt: skip
"""EfficientNet-Lite0: how much wider, kernel, stride, channels and blocks of each stage (Tan and Le 2019, Liu 2020)."""


class EfficientNetLite(Backbone):
    """EfficientNet-Lite0, for which ImageNet weights are published.

    top: with the wide last layer, from which whole pictures are classified.
    """

    def __init__(self, *, top: bool = False) -> None:
        super().__init__(127.0, 128.0)
        self.channels, self.taken = (24, 40, 112, 320), (2, 3, 5, 7)
        stages = [nn.Sequential(*published(3, 32, 3, 2), nn.ReLU6(inplace=True))]
        before = 32
        for wider, side, stride, channels, count in LITE0:
            blocks = [InvertedResidual(before, channels, side, stride, wider)]
            blocks += [InvertedResidual(channels, channels, side, 1, wider) for _ in range(count - 1)]
            stages.append(nn.Sequential(*blocks))
            before = channels
        if top:
            stages.append(nn.Sequential(*published(before, 1280, 1), nn.ReLU6(inplace=True)))
            self.channels, self.taken = (24, 40, 112, 1280), (2, 3, 5, 8)
        self.stages = nn.ModuleList(stages)


def make_backbone(
    name: str, width: int, depth: int, *, inputs: int = 3, top: bool = False, line: bool = False
) -> Backbone:
    """The backbone of that name; `top`: for whole pictures. `line`: for sound."""
    if inputs != 3 and name != "mini_resnet":
        remedy = "give backbone=plain"
        raise BadInput(Problem("bad_option", "recipe", f"backbone={name}", "plain, for all but pictures", remedy))
    backbone = (
        EfficientNetLite(top=top)
        if name == "efficientnet_lite0"
        else MiniResNet(width, depth, inputs=inputs, line=line)
    )
    initialise(backbone)
    return backbone


def initialise(module: nn.Module) -> None:
    """Random weights as He et al. (2015) draw them."""
    for part in module.modules():
        if isinstance(part, nn.Conv2d):
            nn.init.kaiming_normal_(part.weight, mode="fan_out", nonlinearity="relu")
            if part.bias is not None:
                nn.init.zeros_(part.bias)
