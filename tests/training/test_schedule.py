"""The learning rate rises linearly and falls along a cosine."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.training.network import make_network
from tallymark.training.optimizer import make_optimizer
from tallymark.training.schedule import learning_rate_factor, set_learning_rate


def test_the_factor_by_hand() -> None:
    done = [0.0, 0.05, 0.1, 0.55, 1.0, 2.0]
    factors = [learning_rate_factor(share, 0.1) for share in done]
    assert factors == pytest.approx([0.01, 0.5, 1.0, 0.505, 0.01, 0.01])
    assert (np.diff([learning_rate_factor(share, 0.1) for share in np.linspace(0.1, 1, 50)]) < 0).all()
    assert learning_rate_factor(0.0, 0.0) == 1
    assert learning_rate_factor(0.5, 1.0) == 0.5


def test_parameter_groups_have_their_own_peak_and_decay() -> None:
    recipe = ImageRecipe().replace(width=4, neck=8, learning_rate=0.01, backbone_lr_scale=0.1, weight_decay=0.05)
    network = make_network(recipe, 1)
    optimizer = make_optimizer(network, recipe)
    set_learning_rate(optimizer, 0.05, 0.1)
    groups = [(group["lr"], group["weight_decay"]) for group in optimizer.param_groups]
    assert groups == [pytest.approx(pair) for pair in [(5e-4, 0.05), (5e-4, 0), (5e-3, 0.05), (5e-3, 0)]]
    assert sum(len(group["params"]) for group in optimizer.param_groups) == len(list(network.parameters()))
    flat = [weight for group in optimizer.param_groups if not group["weight_decay"] for weight in group["params"]]
    assert all(isinstance(weight, torch.Tensor) and weight.ndim <= 1 for weight in flat)
