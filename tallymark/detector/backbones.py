"""Backbones. Each has the `channels` of its features at a quarter, an eighth, a 16th and a 32nd of the input's size.

For whole images, the features are those of the last stages in place of these.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, Self, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from tallymark.core.problems import BadInput, Problem
from tallymark.detector.depthwise import DepthwiseConv2d
from tallymark.detector.published import published_backbones
from tallymark.detector.receptive_field import (
    BLOCK_CONVOLUTIONS,
    KERNEL_SIZE,
    PLANE_STEM_STRIDE,
    STAGE_STRIDE,
    STAGES,
    TIME_STEM_STRIDE,
)


class Backbone(nn.Module):
    """Consecutive stages; the features are the outputs of those in `out_stages`.

    mean, std: a value x of the input enters as (x - mean) / std. published: the name under which ImageNet weights of
    it are published, if they are.
    """

    published: str = ""
    channels: tuple[int, ...]
    stages: nn.ModuleList
    out_stages: tuple[int, ...]
    frozen_stages: int = 0

    def __init__(self, mean: float = 127.0, std: float = 64.0) -> None:
        super().__init__()
        self.mean = mean
        self.std = std
        self._folded: tuple[nn.Module, ...] = ()  # a tuple hides its modules from the state dict
        self.register_load_state_dict_post_hook(_forget_folded)  # type: ignore[no-untyped-call]  # torch has no type

    def forward(self, inputs: Tensor) -> list[Tensor]:
        features = (inputs - self.mean) / self.std
        outputs = list[Tensor]()
        for number, stage in enumerate([*self._frozen(), *self.stages[self.frozen_stages :]]):
            features = stage(features)
            if number in self.out_stages:
                outputs.append(features)
        return outputs

    @property
    def parts(self) -> Sequence[Backbone]:
        """The networks with published weights of their own that it consists of."""
        return [self]

    def freeze(self, count: int) -> None:
        """Exclude the first stages from training, their batch statistics included."""
        if count > len(self.stages):
            expected = f"at most {len(self.stages)}, the stages of the backbone"
            problem = Problem("bad_option", "recipe", f"frozen_stages={count}", expected, "give a smaller number")
            raise BadInput(problem)
        self.frozen_stages = count
        self._folded = ()
        for stage in self.stages[:count]:
            stage.requires_grad_(False)
        self.train(self.training)

    def _apply(self, *given: Any, **named: Any) -> Self:
        """Called by whatever moves the weights to another device or type."""
        self._folded = ()
        return super()._apply(*given, **named)  # type: ignore[no-untyped-call]  # torch has no type for it

    def _frozen(self) -> tuple[nn.Module, ...]:
        """The frozen stages with batch normalisation folded into convolutions, which saves a fifth of their time."""
        if len(self._folded) != self.frozen_stages:
            self._folded = tuple(fold_batch_norm(stage) for stage in self.stages[: self.frozen_stages])
        return self._folded

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        for stage in self.stages[: self.frozen_stages]:
            stage.eval()
        return self


def _forget_folded(backbone: nn.Module, keys: object) -> None:
    """Other weights were loaded."""
    backbone._folded = ()  # type: ignore[assignment]  # of a backbone


def fold_batch_norm(module: nn.Module) -> nn.Module:
    """A copy with the same outputs, in which every convolution includes the batch normalisation after it."""
    folded = copy.deepcopy(module).eval()
    for part in folded.modules():
        if isinstance(part, nn.Sequential):
            for number in range(len(part) - 1):
                first = part[number]
                second = part[number + 1]
                if isinstance(first, nn.Conv2d) and isinstance(second, nn.BatchNorm2d):
                    part[number] = fuse_conv_bn_eval(first, second)
                    part[number + 1] = nn.Identity()
    return folded.requires_grad_(False)


def conv_bn(
    in_channels: int, out_channels: int, kernel_size: int = KERNEL_SIZE, stride: int | tuple[int, int] = 1
) -> list[nn.Module]:
    """A convolution without bias, and batch normalisation."""
    return [
        nn.Conv2d(in_channels, out_channels, kernel_size, stride, kernel_size // 2, bias=False),
        nn.BatchNorm2d(out_channels),
    ]


class Residual(nn.Module):
    """The basic block of a ResNet, with average pooling in a shortcut that halves (He et al. 2016, 2019)."""

    def __init__(self, in_channels: int, out_channels: int, stride: int) -> None:
        super().__init__()
        layers = conv_bn(in_channels, out_channels, KERNEL_SIZE, stride)
        for _ in range(BLOCK_CONVOLUTIONS - 1):
            layers += [nn.ReLU(inplace=True), *conv_bn(out_channels, out_channels)]
        self.body = nn.Sequential(*layers)
        same = stride == 1 and in_channels == out_channels
        pool = [nn.AvgPool2d(stride)] if stride > 1 else []
        self.shortcut = nn.Identity() if same else nn.Sequential(*pool, *conv_bn(in_channels, out_channels, 1))
        self.act = nn.ReLU(inplace=True)

    def forward(self, features: Tensor) -> Tensor:
        out: Tensor = self.act(self.body(features) + self.shortcut(features))
        return out


class MiniResNet(Backbone):
    """A small ResNet of plain 3 x 3 convolutions, the fastest kind on CPUs.

    width: channels of the stem. depth: residual blocks per stage.
    in_channels: of the input; unless these are the three of an image, values enter as they are.
    last: for whole images, how many of the last stages are features; 0 for those of a detector.
    one_dimensional: for spectrograms: the stem does not halve time.
    """

    def __init__(
        self, width: int, depth: int, *, in_channels: int = 3, last: int = 0, one_dimensional: bool = False
    ) -> None:
        super().__init__(*((0.0, 1.0) if in_channels != 3 else ()))
        widths = (2 * width, 4 * width, 8 * width, 8 * width)
        self.channels = widths[-last:]  # 0: all
        self.out_stages = tuple(range(1, STAGES + 1))[-last:]
        stem = conv_bn(in_channels, width, KERNEL_SIZE, TIME_STEM_STRIDE if one_dimensional else PLANE_STEM_STRIDE)
        stages = [nn.Sequential(*stem, nn.ReLU(inplace=True))]
        before = width
        for channels in widths:
            blocks = [Residual(before, channels, STAGE_STRIDE)]
            blocks += [Residual(channels, channels, 1) for _ in range(depth - 1)]
            stages.append(nn.Sequential(*blocks))
            before = channels
        self.stages = nn.ModuleList(stages)


def tensorflow_conv_bn(
    in_channels: int, out_channels: int, kernel_size: int = 3, stride: int = 1, *, depthwise: bool = False
) -> list[nn.Module]:
    """A convolution and batch normalisation for weights that were trained with TensorFlow.

    With TensorFlow's `same` padding, a convolution of stride 2 pads an even side by one pixel more on the right and at
    the bottom. Here its kernel has one more row and column instead, which are 0 at first (see `weights.py`).
    """
    kernel_size += stride - 1
    padding = (kernel_size - 1) // 2
    convolution = (
        DepthwiseConv2d(in_channels, kernel_size, stride, padding)
        if depthwise
        else nn.Conv2d(in_channels, out_channels, kernel_size, stride, padding, bias=False)
    )
    return [convolution, nn.BatchNorm2d(out_channels, eps=1e-3)]


class InvertedResidual(nn.Module):
    """A depthwise convolution between two 1 x 1 ones that widen and narrow (Sandler et al. 2018: MobileNetV2)."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = in_channels * expansion
        widen = [*tensorflow_conv_bn(in_channels, inner, 1), nn.ReLU6(inplace=True)] if expansion > 1 else []
        self.body = nn.Sequential(
            *widen,
            *tensorflow_conv_bn(inner, inner, kernel_size, stride, depthwise=True),
            nn.ReLU6(inplace=True),
            *tensorflow_conv_bn(inner, out_channels, 1),
        )
        self.has_shortcut = stride == 1 and in_channels == out_channels

    def forward(self, features: Tensor) -> Tensor:
        out: Tensor = self.body(features)
        return out + features if self.has_shortcut else out


LITE_STAGES = ((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3),
               (6, 5, 2, 192, 4), (6, 3, 1, 320, 1))  # fmt: skip
"""EfficientNet-Lite0: expansion, kernel size, stride, channels and blocks of each stage (Tan and Le 2019, Liu 2020)."""
LITE_SCALES = {"efficientnet_lite0": (1.0, 1.0), "efficientnet_lite1": (1.0, 1.1), "efficientnet_lite2": (1.1, 1.2)}
"""Factors on the channels and on the blocks of the stages of each EfficientNet-Lite."""
LITE_STEM, LITE_TOP = 32, 1280
"""Channels before the first and after the last stage, the same in all of them."""


class EfficientNetLite(Backbone):
    """An EfficientNet-Lite, for which ImageNet weights are published.

    name: of `LITE_SCALES`. last: for whole images, how many of the last stages are features, of which the very last is
        a 1 x 1 convolution; 0 for those of a detector, without that convolution.
    """

    def __init__(self, name: str = "efficientnet_lite0", *, last: int = 0) -> None:
        super().__init__(127.0, 128.0)
        self.published = name
        width, depth = LITE_SCALES[name]
        stages = [nn.Sequential(*tensorflow_conv_bn(3, LITE_STEM, 3, 2), nn.ReLU6(inplace=True))]
        widths = [LITE_STEM]
        for number, (expansion, kernel_size, stride, channels, count) in enumerate(LITE_STAGES):
            inner = number not in (0, len(LITE_STAGES) - 1)  # the first and the last stage do not get deeper
            blocks = math.ceil(count * depth) if inner else count
            widths.append(_multiple_of_8(channels * width))
            shape = [(widths[-2], stride)] + [(widths[-1], 1)] * (blocks - 1)
            stages.append(
                nn.Sequential(*(InvertedResidual(one, widths[-1], kernel_size, step, expansion) for one, step in shape))
            )
        if last:
            stages.append(nn.Sequential(*tensorflow_conv_bn(widths[-1], LITE_TOP, 1), nn.ReLU6(inplace=True)))
            widths.append(LITE_TOP)
        self.out_stages = tuple(range(len(stages)))[-last:] if last else (2, 3, 5, len(stages) - 1)
        self.channels = tuple(widths[number] for number in self.out_stages)
        self.stages = nn.ModuleList(stages)


def _multiple_of_8(channels: float) -> int:
    """The nearest multiple of 8, half of one up, as the published networks have their channels."""
    return int(channels + 4) // 8 * 8


class SideBySide(Backbone):
    """Several backbones with the same strides, whose features are put together: an ensemble with one head."""

    def __init__(self, branches: Sequence[Backbone]) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)
        self.channels = tuple(map(sum, zip(*(branch.channels for branch in branches), strict=True)))

    @property
    def parts(self) -> Sequence[Backbone]:
        return cast("Sequence[Backbone]", self.branches)

    @property
    def stages(self) -> nn.ModuleList:  # type: ignore[override]  # the stages of each
        return self.parts[0].stages

    def forward(self, inputs: Tensor) -> list[Tensor]:
        return [torch.cat(level, 1) for level in zip(*(part(inputs) for part in self.parts), strict=True)]

    def freeze(self, count: int) -> None:
        for part in self.parts:
            part.freeze(count)
        self.frozen_stages = count


def make_backbone(
    name: str, width: int, depth: int, *, in_channels: int = 3, last: int = 0, one_dimensional: bool = False
) -> Backbone:
    """The backbone of that name with random weights.

    last: for whole images, how many of the last stages are features. one_dimensional: for audio.
    """
    backbone: Backbone
    if name == "mini_resnet":
        backbone = MiniResNet(width, depth, in_channels=in_channels, last=last, one_dimensional=one_dimensional)
    elif in_channels == 3:
        branches = [EfficientNetLite(one, last=last) for one in published_backbones(name)]
        backbone = branches[0] if len(branches) == 1 else SideBySide(branches)
    else:
        expected = "mini_resnet, for all inputs but images"
        raise BadInput(Problem("bad_option", "recipe", f"backbone={name}", expected, "give backbone=mini_resnet"))
    init_weights(backbone)
    return backbone


def init_weights(module: nn.Module) -> None:
    """Random weights after He et al. 2015: Delving Deep into Rectifiers."""
    for part in module.modules():
        if isinstance(part, nn.Conv2d):
            nn.init.kaiming_normal_(part.weight, mode="fan_out", nonlinearity="relu")
            if part.bias is not None:
                nn.init.zeros_(part.bias)
