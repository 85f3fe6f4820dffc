"""What moves the weights: AdamW, a rate that rises and falls, and an average of the weights on the way."""

from __future__ import annotations

import copy
import math

import torch
from torch import Tensor, nn

from tallymark.core.recipe import Recipe
from tallymark.detector.network import Network


def make_optimizer(network: Network, recipe: Recipe) -> torch.optim.AdamW:
    """The backbone learns at a share of the rate, and only matrices decay. Each group keeps its own height."""
    groups = []
    for in_backbone in (True, False):
        for decays in (True, False):
            chosen = [
                weight
                for name, weight in network.named_parameters()
                if weight.requires_grad and name.startswith("backbone.") == in_backbone and (weight.ndim > 1) == decays
            ]
            if chosen:
                height = recipe.learning_rate * (recipe.backbone_lr_scale if in_backbone else 1)
                groups.append(
                    {"params": chosen, "height": height, "weight_decay": recipe.weight_decay if decays else 0.0}
                )
    return torch.optim.AdamW(groups, lr=recipe.learning_rate)


def set_learning_rate(optimizer: torch.optim.Optimizer, done: float, warmup: float) -> float:
    """Rise in a straight line, then fall along a cosine to a hundredth; returns the share of the height."""
    if done < warmup:
        share = max(done / warmup, 0.01)
    else:
        fallen = min((done - warmup) / max(1 - warmup, 1e-9), 1)
        share = 0.01 + 0.99 * (1 + math.cos(math.pi * fallen)) / 2
    for group in optimizer.param_groups:
        group["lr"] = group["height"] * share
    return share


class EMA:
    """A copy of the network whose weights follow the trained ones slowly; it predicts better than they do.

    anchor: how much of what it began with stays in it. Between the two lie weights that err less than either
    (Wortsman et al. 2022), where the first were good for something.
    """

    def __init__(self, network: Network, keep: float, anchor: float = 0.0) -> None:
        self.network = copy.deepcopy(network).eval().requires_grad_(False)
        self.keep, self.anchor, self.steps = keep, anchor, 0
        self.first: dict[str, Tensor] = {}

    def begin(self, network: nn.Module) -> None:
        """What the network is like before it learns."""
        self.network.load_state_dict(network.state_dict())
        if self.anchor:
            self.first = {name: value.clone() for name, value in network.state_dict().items()}

    @torch.no_grad()
    def follow(self, network: nn.Module) -> None:
        """One step after the trained weights, a larger one at the beginning."""
        self.steps += 1
        keep = min(self.keep, self.steps / (self.steps + 9))
        own = self.network.state_dict()
        for name, value in network.state_dict().items():
            if value.dtype.is_floating_point:
                aim = value.lerp(self.first[name], self.anchor) if self.first else value
                own[name].lerp_(aim, 1 - keep)
            else:
                own[name].copy_(value)
