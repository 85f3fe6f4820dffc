"""Losses: how wrong the network's maps are, given the targets."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def focal(logits: Tensor, heat: Tensor) -> Tensor:
    """Of every cell, weighted by how surprising it is; cells near a centre count less as background (CornerNet)."""
    likely, unlikely = functional.logsigmoid(logits), functional.logsigmoid(-logits)
    chance = logits.sigmoid()
    peak = (heat >= 1).to(logits.dtype)
    there = peak * (1 - chance) ** 2 * likely
    nowhere = (1 - peak) * (1 - heat) ** 4 * chance**2 * unlikely
    return -(there + nowhere).sum() / peak.sum().clamp(min=1)


def sides(values: Tensor, wanted: Tensor) -> Tensor:
    """1 - GIoU of boxes around the same place, given the logarithms of the ways to their four sides."""
    own, other = values.clamp(-5, 8).exp(), wanted.exp()
    shared = _area(torch.minimum(own, other))
    union = _area(own) + _area(other) - shared
    around = _area(torch.maximum(own, other))
    return 1 - shared / union + (around - union) / around


def _area(ways: Tensor) -> Tensor:
    left, top, right, bottom = ways.unbind(1)
    return (left + right) * (top + bottom)


def plain(values: Tensor, wanted: Tensor) -> Tensor:
    """The absolute differences, summed over the numbers of a code."""
    return functional.smooth_l1_loss(values, wanted, reduction="none", beta=0.1).sum(1)


def soft_cross_entropy(logits: Tensor, chances: Tensor) -> Tensor:
    """Of each picture, against chances that sum to 1."""
    return -(chances * functional.log_softmax(logits, 1)).sum(1)


def trimmed_mean(losses: Tensor, trim: float) -> Tensor:
    """The mean without the largest: what a network finds hardest to learn is often labelled wrongly."""
    kept = max(1, round(len(losses) * (1 - trim)))
    return losses.topk(kept, largest=False).values.mean()


BY_CODE = {"sides": sides, "plain": plain}
