"""Losses: how wrong the network's maps are, given the targets."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

FEW = 16.0
"""Cells that are added to what is covered, so that a batch with nothing in it is not a matter of its last cell."""


def focal(logits: Tensor, heat: Tensor) -> Tensor:
    """Of every cell, weighted by how surprising it is; cells near a centre count less as background (CornerNet)."""
    likely, unlikely = functional.logsigmoid(logits), functional.logsigmoid(-logits)
    chance = logits.sigmoid()
    peak = (heat >= 1).to(logits.dtype)
    there = peak * (1 - chance) ** 2 * likely
    nowhere = (1 - peak) * (1 - heat) ** 4 * chance**2 * unlikely
    return -(there + nowhere).sum() / peak.sum().clamp(min=1)


def giou(values: Tensor, wanted: Tensor) -> Tensor:
    """1 - GIoU of boxes around the same place, given the logarithms of the ways to their four sides."""
    own, other = values.clamp(-5, 8).exp(), wanted.exp()
    shared = _area(torch.minimum(own, other))
    union = _area(own) + _area(other) - shared
    around = _area(torch.maximum(own, other))
    return 1 - shared / union + (around - union) / around


def _area(ways: Tensor) -> Tensor:
    left, top, right, bottom = ways.unbind(1)
    return (left + right) * (top + bottom)


def smooth_l1(values: Tensor, wanted: Tensor) -> Tensor:
    """The absolute differences, summed over the numbers of a code."""
    return functional.smooth_l1_loss(values, wanted, reduction="none", beta=0.1).sum(1)


def kld(values: Tensor, wanted: Tensor) -> Tensor:
    """How far two turned rectangles are apart, given the ways to their centres, logarithms of sides, and 2 x angle.

    As normal distributions with their centre and spread (Yang et al.: KLD, 2021): an error counts in proportion to the
    true side along which it lies, so that a thin ship must be told more exactly across than along.
    """
    way, giou, double = values[:, :2] - wanted[:, :2], values[:, 2:4].clamp(-5, 8), values[:, 4:6]
    double, true = functional.normalize(double, dim=1), functional.normalize(wanted[:, 4:6], dim=1)
    # Half angles: the direction of the true rectangle, and cos^2, sin^2 of the turn between the two.
    angle = torch.atan2(true[:, 1], true[:, 0]) / 2
    cos, sin = angle.cos(), angle.sin()
    along, across = way[:, 0] * cos + way[:, 1] * sin, way[:, 1] * cos - way[:, 0] * sin
    turn = (double * true).sum(1)
    same, other = (1 + turn) / 2, (1 - turn) / 2
    own, size = (2 * giou).exp() / 4, (2 * wanted[:, 2:4]).exp() / 4
    spread_along = own[:, 0] * same + own[:, 1] * other
    spread_across = own[:, 0] * other + own[:, 1] * same
    apart = along**2 / size[:, 0] + across**2 / size[:, 1]
    ratio = spread_along / size[:, 0] + spread_across / size[:, 1]
    volume = 2 * (wanted[:, 2:4] - giou).sum(1)
    divergence = ((apart + ratio + volume) / 2 - 1).clamp(min=0)
    # A square has no direction: the numbers themselves lead away from it.
    return torch.log1p((divergence + 1e-4).sqrt() - 1e-2) + 0.3 * smooth_l1(values, wanted)


def cuboid(values: Tensor, wanted: Tensor) -> Tensor:
    """How far two volumes are apart: 1 - IoU as if they stood along one line, and how wrong each number is.

    Where they do not overlap, and for the turn between them, it is the numbers that lead: the ground as turned
    rectangles, the heights in proportion to the true one, and, since it is seldom known, a little of the heading: how
    surely it is the true one rather than its opposite.
    """
    angle = torch.atan2(wanted[:, 5], wanted[:, 4]) / 2
    cos, sin = angle.cos(), angle.sin()
    way = values[:, :2] - wanted[:, :2]
    rise, tall = values[:, 6] - wanted[:, 6], wanted[:, 7].exp()
    apart = torch.stack([way[:, 0] * cos + way[:, 1] * sin, way[:, 1] * cos - way[:, 0] * sin, rise], 1)
    own, other = values[:, [2, 3, 7]].clamp(-5, 8).exp(), wanted[:, [2, 3, 7]].exp()
    shared = (torch.minimum(apart + own / 2, other / 2) - torch.maximum(apart - own / 2, -other / 2)).clamp(min=0)
    both = shared.prod(1)
    iou = both / (own.prod(1) + other.prod(1) - both)
    heights = torch.stack([rise / tall, values[:, 7] - wanted[:, 7]], 1)
    numbers = kld(values[:, :6], wanted[:, :6]) + smooth_l1(heights, torch.zeros_like(heights))
    heading = functional.softplus(-3 * (values[:, 8:] * wanted[:, 8:]).sum(1))
    return 1 - iou + 0.5 * numbers + 0.2 * heading


def bce_dice(logits: Tensor, cover: Tensor) -> Tensor:
    """Of every cell, and of all together by Dice, since most cells are not covered."""
    each = functional.binary_cross_entropy_with_logits(logits, cover)
    chance = logits.sigmoid()
    dice = (2 * (chance * cover).sum() + FEW) / ((chance**2).sum() + (cover**2).sum() + FEW)
    return 10 * each + 1 - dice


def soft_cross_entropy(logits: Tensor, chances: Tensor) -> Tensor:
    """Of each picture, against chances that sum to 1."""
    return -(chances * functional.log_softmax(logits, 1)).sum(1)


def trimmed_mean(losses: Tensor, trim: float) -> Tensor:
    """The mean without the largest: what a network finds hardest to learn is often labelled wrongly."""
    kept = max(1, round(len(losses) * (1 - trim)))
    return losses.topk(kept, largest=False).values.mean()


SHAPE_LOSSES = {"giou": giou, "smooth_l1": smooth_l1, "kld": kld, "cuboid": cuboid}
