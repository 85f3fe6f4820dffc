"""Depthwise convolutions: outputs and gradients in bf16 beside those of a plain convolution in single precision."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from tallymark.detector import depthwise
from tallymark.detector.depthwise import DepthwiseConv2d

CHANNELS = 8
SHAPES = [(3, 1, 1), (5, 1, 2), (3, 2, 1), (4, 2, 1), (6, 2, 2), (7, 1, 3)]
"""Side of the kernel, stride and padding."""


def run(layer: nn.Module, inputs: Tensor, *, bf16: bool) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        outputs: Tensor = layer(inputs)
    outputs.float().square().sum().backward()
    return outputs.detach()


def gradient(one: Tensor) -> Tensor:
    assert one.grad is not None
    return one.grad


def error(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


@pytest.mark.parametrize(("kernel_size", "stride", "padding"), SHAPES)
@pytest.mark.parametrize("size", [(16, 16), (11, 14)])
def test_gradients_in_bf16_are_those_of_single_precision(
    kernel_size: int, stride: int, padding: int, size: tuple[int, int]
) -> None:
    torch.manual_seed(0)
    layer = DepthwiseConv2d(CHANNELS, kernel_size, stride, padding)
    batch = torch.randn(2, CHANNELS, *size).bfloat16().float()
    with torch.no_grad():
        layer.weight.copy_(layer.weight.bfloat16())
    inputs, plain = batch.clone().requires_grad_(), batch.clone().requires_grad_()
    weight = layer.weight.detach().clone().requires_grad_()

    outputs = run(layer, inputs, bf16=True)
    expected = functional.conv2d(plain, weight, None, stride, padding, groups=CHANNELS)
    expected.square().sum().backward()

    assert outputs.dtype == torch.bfloat16
    assert layer.weight.dtype == gradient(layer.weight).dtype == torch.float32
    assert error(outputs.float(), expected.detach()) < 0.01
    assert error(gradient(inputs), gradient(plain)) < 0.01
    assert error(gradient(layer.weight), gradient(weight)) < 0.01


def test_the_first_layer_needs_no_gradient_of_its_inputs() -> None:
    layer = DepthwiseConv2d(CHANNELS, 5, 1, 2)
    run(layer, torch.randn(2, CHANNELS, 8, 8), bf16=True)
    assert gradient(layer.weight).abs().sum() > 0


@pytest.mark.parametrize("why", ["fp32", "frozen", "no gradients"])
def test_it_is_a_plain_convolution_otherwise(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for the export of a model, whose graph has no gradients."""
    monkeypatch.delattr(depthwise, "_Convolution")
    layer = DepthwiseConv2d(CHANNELS, 5, 1, 2).requires_grad_(why != "frozen")
    inputs = torch.randn(2, CHANNELS, 8, 8)
    with torch.set_grad_enabled(why != "no gradients"), torch.autocast("cpu", torch.bfloat16, enabled=why != "fp32"):
        outputs = layer(inputs)
    assert outputs.dtype == (torch.float32 if why == "fp32" else torch.bfloat16)


def test_weights_have_the_names_and_shapes_of_a_plain_convolution() -> None:
    plain = nn.Conv2d(CHANNELS, CHANNELS, 5, padding=2, groups=CHANNELS, bias=False)
    own = DepthwiseConv2d(CHANNELS, 5, 1, 2)
    own.load_state_dict(plain.state_dict())
    inputs = torch.randn(1, CHANNELS, 9, 9)
    assert torch.equal(own(inputs), plain(inputs))
