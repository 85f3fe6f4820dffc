"""The moving average of the weights."""

from __future__ import annotations

import pytest
import torch

from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.training.ema import EMA
from tallymark.training.network import make_network

RECIPE = ImageRecipe().replace(task="labels", width=4)


@pytest.mark.parametrize("interpolation", [0.0, 0.3, 1.0])
def test_a_share_of_the_initial_weights_stays(interpolation: float) -> None:
    network = make_network(RECIPE, 3)
    ema = EMA(network, 0.9, interpolation)
    ema.start(network)
    weight = network.head.linear.weight
    first = weight.detach().clone()
    with torch.no_grad():
        weight.add_(1)
    for _ in range(300):
        ema.update_parameters(network)
    assert ema.updates == 300
    averaged = ema.network.state_dict()["head.linear.weight"]
    assert torch.allclose(averaged, first + 1 - interpolation, atol=1e-4)


def test_the_decay_is_warmed_up() -> None:
    """Update t has a decay of t / (t + 9), up to that of the recipe."""
    network = make_network(RECIPE, 3)
    ema = EMA(network, 0.15)
    with torch.no_grad():
        network.head.linear.bias.fill_(0)
    ema.start(network)
    with torch.no_grad():
        network.head.linear.bias.fill_(1)
    ema.update_parameters(network)
    averaged = ema.network.state_dict()["head.linear.bias"]
    assert torch.allclose(averaged, torch.full((3,), 1 - 1 / 10))
    ema.update_parameters(network)
    assert torch.allclose(averaged, torch.full((3,), 1 - 1 / 10 * 0.15))


def test_running_statistics_are_averaged_and_counters_copied() -> None:
    network = make_network(RECIPE, 3).train()
    ema = EMA(network, 0.5)
    ema.start(network)
    inputs = torch.rand(4, 3, 32, 32) * 255
    with torch.no_grad():
        network(inputs)
        network(inputs)
    ema.update_parameters(network)
    own, trained = ema.network.state_dict(), network.state_dict()
    mean = "backbone.stages.0.1.running_mean"
    torch.testing.assert_close(own[mean], 0.9 * trained[mean])
    assert own["backbone.stages.0.1.num_batches_tracked"] == 2


def test_a_checkpoint_restores_it() -> None:
    network, other = make_network(RECIPE, 3), make_network(RECIPE.replace(seed=1), 3)
    ema, restored = EMA(network, 0.9, 0.2), EMA(other, 0.9, 0.2)
    ema.start(network)
    for _ in range(2):
        ema.update_parameters(other)
    restored.load_state_dict(ema.state_dict())
    for one in (ema, restored):
        one.update_parameters(other)
    assert restored.updates == 3
    state = restored.network.state_dict()
    assert all(torch.equal(value, state[name]) for name, value in ema.network.state_dict().items())
