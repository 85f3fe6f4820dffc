"""Depthwise convolutions that can be trained in bf16 on a CPU.

PyTorch's kernels for CPUs are fast in bf16 but for two gradients: that of a depthwise kernel larger than 3 x 3, and
that of the inputs where the stride is 2. They make an EfficientNet-Lite slower in bf16 than in fp32.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

FAST_KERNEL = 3
"""Side of the kernels whose gradient is fast."""


class DepthwiseConv2d(nn.Conv2d):
    """A convolution of each channel by itself, with square kernels and one stride and padding for both axes."""

    def __init__(self, channels: int, kernel_size: int, stride: int, padding: int) -> None:
        super().__init__(channels, channels, kernel_size, stride, padding, groups=channels, bias=False)

    def forward(self, inputs: Tensor) -> Tensor:
        if not self._trained_in_bf16(inputs):
            return super().forward(inputs)
        inputs, weight = inputs.bfloat16(), self.weight.bfloat16()  # autocast does not look into such a function
        outputs: Tensor = _Convolution.apply(inputs, weight, self.stride[0], self.padding[0])  # type: ignore[no-untyped-call]  # torch's stubs lack it
        return outputs

    def _trained_in_bf16(self, inputs: Tensor) -> bool:
        if inputs.device.type != "cpu" or not torch.is_grad_enabled() or not self.weight.requires_grad:
            return False
        return torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.bfloat16


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(inputs: Tensor, weight: Tensor, stride: int, padding: int) -> Tensor:
        return functional.conv2d(inputs, weight, None, stride, padding, groups=len(weight))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, int, int], output: Tensor) -> None:
        batch, weight, ctx.stride, ctx.padding = inputs
        ctx.save_for_backward(batch, weight)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor, None, None]:
        inputs, weight = ctx.saved_tensors
        grad = grads[0].contiguous(memory_format=torch.channels_last)
        of_inputs = None
        if ctx.needs_input_grad[0]:
            of_inputs = _input_gradient(grad, inputs, weight, ctx.stride, ctx.padding)
        return of_inputs, _weight_gradient(grad, inputs, weight, ctx.stride, ctx.padding), None, None


def _input_gradient(grad: Tensor, inputs: Tensor, weight: Tensor, stride: int, padding: int) -> Tensor:
    if stride == 1:
        return _gradients(grad, inputs, weight, stride, padding, inputs=True)
    return _gradients(grad.float(), inputs.float(), weight.float(), stride, padding, inputs=True).to(inputs.dtype)


def _weight_gradient(grad: Tensor, inputs: Tensor, weight: Tensor, stride: int, padding: int) -> Tensor:
    """The gradient of the kernel in parts: in its 3 x 3 values from (y, x) on, it is the gradient of a 3 x 3 kernel
    that sees the inputs from (y, x) on.
    """
    side = weight.shape[-1]
    if side <= FAST_KERNEL:
        return _gradients(grad, inputs, weight, stride, padding, inputs=False)
    padded = functional.pad(inputs, (padding, padding, padding, padding))
    height, width = (stride * (cells - 1) + FAST_KERNEL for cells in grad.shape[2:])
    gradient = torch.empty_like(weight)
    part = weight.new_empty(len(weight), 1, FAST_KERNEL, FAST_KERNEL)
    for y, x in product(_corners(side), _corners(side)):
        seen = padded[:, :, y : y + height, x : x + width]
        own = _gradients(grad, seen, part, stride, 0, inputs=False)
        gradient[:, :, y : y + FAST_KERNEL, x : x + FAST_KERNEL] = own
    return gradient


def _corners(side: int) -> Iterator[int]:
    """Where parts begin that cover a side; the last one may overlap the one before it, with the same gradient."""
    yield from range(0, side - FAST_KERNEL, FAST_KERNEL)
    yield side - FAST_KERNEL


def _gradients(grad: Tensor, batch: Tensor, weight: Tensor, stride: int, padding: int, *, inputs: bool) -> Tensor:
    """The gradient of the inputs, or that of the weight."""
    wanted = [inputs, not inputs, False]
    strides, paddings, dilations = [stride, stride], [padding, padding], [1, 1]
    gradients: tuple[Tensor, ...] = torch.ops.aten.convolution_backward(
        grad, batch, weight, None, strides, paddings, dilations, False, [0, 0], len(weight), wanted
    )
    return gradients[0 if inputs else 1]
