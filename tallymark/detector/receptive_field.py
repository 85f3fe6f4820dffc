"""Architecture constants of the network, and the receptive field that follows from them. Needs no torch.

`MiniResNet`, `FPN` and `CenterHead` are built from these constants, so that the receptive field is always theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tallymark.detector.strides import TIME_STRIDES

KERNEL_SIZE = 3
"""Side of every convolution of MiniResNet, FPN and CenterHead that is not 1 x 1."""
STAGES = 4
"""Stages of a backbone after its stem; the features of each are an output."""
STAGE_STRIDE = 2
BLOCK_CONVOLUTIONS = 2
"""Convolutions of a residual block."""
PLANE_STEM_STRIDE = (2, 2)
TIME_STEM_STRIDE = (2, 1)
"""Stride of the first convolution along rows and columns; of a spectrogram, along frequency and time."""


class Convolution(NamedTuple):
    """Kernel size and stride along one axis."""

    kernel_size: int = KERNEL_SIZE
    stride: int = 1


def receptive_field(layers: Iterable[Convolution], jump: int = 1) -> int:
    """Input positions to either side on which an output of consecutive convolutions depends.

    jump: input positions between neighbouring inputs of the first layer.
    """
    reach = 0
    for layer in layers:
        reach += layer.kernel_size // 2 * jump
        jump *= layer.stride
    return reach


def mini_resnet_layers(depth: int, stem_stride: int) -> list[Convolution]:
    """The convolutions on the longest path through `MiniResNet`, along one axis."""
    layers = [Convolution(stride=stem_stride)]
    for _ in range(STAGES):
        layers += [Convolution(stride=STAGE_STRIDE)]
        layers += [Convolution()] * (depth * BLOCK_CONVOLUTIONS - 1)
    return layers


def audio_receptive_field(depth: int, stride: int) -> int:
    """Frames to either side of a frame on which the outputs for it depend.

    That is the receptive field of the backbone, of the FPN's smoothing convolution at every level finer than the
    coarsest, and of the head; and one cell of the coarsest level more, because upsampling repeats its cells.
    """
    backbone = receptive_field(mini_resnet_layers(depth, TIME_STEM_STRIDE[1]))
    levels = TIME_STRIDES[TIME_STRIDES.index(stride) :]
    smoothing = sum(receptive_field([Convolution()], level) for level in levels[:-1])
    head = receptive_field([Convolution()], stride)
    return backbone + smoothing + head + levels[-1]
