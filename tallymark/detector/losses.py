"""Losses of the network's outputs against the targets of a batch.

Regression losses take (n, values) predictions and targets of n cells, as the coders define them, and return one loss
for each. Offsets and lengths are in cells of the output grid.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

DICE_SMOOTHING = 16.0
"""Added to numerator and denominator of the Dice coefficient, so that batches without any object have a stable loss."""


def focal(logits: Tensor, heatmap: Tensor) -> Tensor:
    """Focal loss of a heatmap, with less weight on background near a peak (Law and Deng 2018: CornerNet)."""
    heatmap = heatmap.contiguous(memory_format=torch.channels_last)  # as convolutions leave the logits
    peaks = heatmap >= 1
    at_peaks = logits[peaks]  # few: everything else is background, whose weight is 0 there
    positive = (1 - at_peaks.sigmoid()).square() * functional.softplus(-at_peaks)
    background = (1 - heatmap).square().square()
    negative = background * logits.sigmoid().square() * functional.softplus(logits)
    return (positive.sum() + negative.sum()) / peaks.sum().clamp(min=1)


def giou(values: Tensor, targets: Tensor) -> Tensor:
    """1 - GIoU of boxes (Rezatofighi et al. 2019), given log distances to the left, top, right and bottom side."""
    own = values.clamp(-5, 8).exp()
    other = targets.exp()
    intersection = _area(torch.minimum(own, other))
    union = _area(own) + _area(other) - intersection
    hull = _area(torch.maximum(own, other))
    return 1 - intersection / union + (hull - union) / hull


def _area(distances: Tensor) -> Tensor:
    left, top, right, bottom = distances.unbind(1)
    return (left + right) * (top + bottom)


def smooth_l1(values: Tensor, targets: Tensor) -> Tensor:
    """Smooth L1 loss (Girshick 2015: Fast R-CNN), summed over the values."""
    return functional.smooth_l1_loss(values, targets, reduction="none", beta=0.1).sum(1)


def kld(values: Tensor, targets: Tensor) -> Tensor:
    """Kullback-Leibler divergence of rotated boxes as normal distributions (Yang et al. 2021: KLD).

    Given offsets of the centre, log length and width, and cosine and sine of twice the angle. An error counts relative
    to the true side along which it lies, so that a thin box must be more exact across than along.
    """
    offset = values[:, :2] - targets[:, :2]
    log_sides = values[:, 2:4].clamp(-5, 8)
    double = functional.normalize(values[:, 4:6], dim=1)
    true = functional.normalize(targets[:, 4:6], dim=1)
    # Half angles: the direction of the true box, and cos^2, sin^2 of the rotation between the two.
    angle = torch.atan2(true[:, 1], true[:, 0]) / 2
    along, across = _in_frame_of(angle, offset)
    cos_double = (double * true).sum(1)
    cos_squared = (1 + cos_double) / 2
    sin_squared = (1 - cos_double) / 2
    variance = (2 * log_sides).exp() / 4
    true_variance = (2 * targets[:, 2:4]).exp() / 4
    variance_along = variance[:, 0] * cos_squared + variance[:, 1] * sin_squared
    variance_across = variance[:, 0] * sin_squared + variance[:, 1] * cos_squared
    distance = along**2 / true_variance[:, 0] + across**2 / true_variance[:, 1]
    trace = variance_along / true_variance[:, 0] + variance_across / true_variance[:, 1]
    log_determinant = 2 * (targets[:, 2:4] - log_sides).sum(1)
    divergence = ((distance + trace + log_determinant) / 2 - 1).clamp(min=0)
    # The divergence of a square has no gradient for its angle: the smooth L1 term leads away from it.
    return torch.log1p((divergence + 1e-4).sqrt() - 1e-2) + 0.3 * smooth_l1(values, targets)


def cuboid(values: Tensor, targets: Tensor) -> Tensor:
    """1 - IoU of cuboids as if their headings agreed, plus losses of the single values.

    Given the rotated box on the ground as for `kld`, z of the centre, log height, and cosine and sine of the heading.
    Where two cuboids do not overlap, and for the rotation between them, the single values have the gradient. The
    heading counts little, since it is seldom visible, as a logistic loss against the opposite heading.
    """
    angle = torch.atan2(targets[:, 5], targets[:, 4]) / 2
    offset = values[:, :2] - targets[:, :2]
    rise = values[:, 6] - targets[:, 6]
    true_height = targets[:, 7].exp()
    apart = torch.stack([*_in_frame_of(angle, offset), rise], 1)
    own = values[:, [2, 3, 7]].clamp(-5, 8).exp()
    other = targets[:, [2, 3, 7]].exp()
    overlap = (torch.minimum(apart + own / 2, other / 2) - torch.maximum(apart - own / 2, -other / 2)).clamp(min=0)
    intersection = overlap.prod(1)
    iou = intersection / (own.prod(1) + other.prod(1) - intersection)
    vertical = torch.stack([rise / true_height, values[:, 7] - targets[:, 7]], 1)
    single = kld(values[:, :6], targets[:, :6]) + smooth_l1(vertical, torch.zeros_like(vertical))
    heading = functional.softplus(-3 * (values[:, 8:] * targets[:, 8:]).sum(1))
    return 1 - iou + 0.5 * single + 0.2 * heading


def _in_frame_of(angle: Tensor, offset: Tensor) -> tuple[Tensor, Tensor]:
    """Offsets (n, 2) along and across boxes of these angles."""
    cos = angle.cos()
    sin = angle.sin()
    return offset[:, 0] * cos + offset[:, 1] * sin, offset[:, 1] * cos - offset[:, 0] * sin


def bce_dice(logits: Tensor, coverage: Tensor, weight: Tensor) -> Tensor:
    """Binary cross-entropy plus Dice loss (Milletari et al. 2016: V-Net), since most cells are not covered.

    weight: of each cell in both.
    """
    cross_entropy = functional.binary_cross_entropy_with_logits(logits, coverage, weight)
    probability = logits.sigmoid()
    intersection = 2 * (weight * probability * coverage).sum() + DICE_SMOOTHING
    dice = intersection / ((weight * (probability**2 + coverage**2)).sum() + DICE_SMOOTHING)
    return 10 * cross_entropy + 1 - dice


def soft_cross_entropy(logits: Tensor, probabilities: Tensor) -> Tensor:
    """Cross-entropy of each image against target probabilities (n, classes) that sum to 1."""
    return -(probabilities * functional.log_softmax(logits, 1)).sum(1)


def trimmed_mean(losses: Tensor, trim: float) -> Tensor:
    """The mean without the share `trim` of the largest losses, which are often those of wrong labels."""
    kept = max(1, round(len(losses) * (1 - trim)))
    return losses.topk(kept, largest=False).values.mean()


REGRESSION_LOSSES = {"giou": giou, "smooth_l1": smooth_l1, "kld": kld, "cuboid": cuboid}
"""By the name that a coder gives."""
