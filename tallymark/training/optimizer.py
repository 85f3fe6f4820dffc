"""The optimiser: AdamW (Loshchilov and Hutter 2019) with parameter groups."""

from __future__ import annotations

from typing import Any

import torch

from tallymark.core.recipe import Recipe
from tallymark.detector.network import Network


def make_optimizer(network: Network[Any], recipe: Recipe) -> torch.optim.AdamW:
    """AdamW. The backbone has a learning rate of its own; biases and normalisation have no weight decay."""
    groups = []
    for in_backbone in (True, False):
        for decays in (True, False):
            parameters = [
                weight
                for name, weight in network.named_parameters()
                if weight.requires_grad and name.startswith("backbone.") == in_backbone and (weight.ndim > 1) == decays
            ]
            if parameters:
                scale = recipe.backbone_lr_scale if in_backbone else 1
                groups.append(
                    {
                        "params": parameters,
                        "peak_lr": recipe.learning_rate * scale,
                        "weight_decay": recipe.weight_decay if decays else 0.0,
                    }
                )
    return torch.optim.AdamW(groups, lr=recipe.learning_rate, fused=True)
