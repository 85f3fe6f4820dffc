"""The learning-rate schedule: a linear warm-up, then a cosine (Loshchilov and Hutter 2017)."""

from __future__ import annotations

import math

import torch

FLOOR = 0.01
"""The smallest factor, at the beginning and at the end."""


def learning_rate_factor(done: float, warmup: float) -> float:
    """Factor on the peak learning rate after the share `done` of a training, of which `warmup` is the warm-up."""
    if done < warmup:
        return max(done / warmup, FLOOR)
    decayed = min((done - warmup) / max(1 - warmup, 1e-9), 1)
    return FLOOR + (1 - FLOOR) * (1 + math.cos(math.pi * decayed)) / 2


def set_learning_rate(optimizer: torch.optim.Optimizer, done: float, warmup: float) -> None:
    """Set the learning rate of each parameter group, which has its own peak."""
    factor = learning_rate_factor(done, warmup)
    for group in optimizer.param_groups:
        group["lr"] = group["peak_lr"] * factor
