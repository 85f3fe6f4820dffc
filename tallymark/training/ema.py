"""Exponential moving average (EMA) of the weights, which predicts better than the trained weights themselves."""

from __future__ import annotations

from itertools import chain
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from tallymark.detector.network import Network

WARMUP = 9
"""Updates by which the decay is delayed: at update t it is at most t / (t + WARMUP)."""


class EMA(AveragedModel):
    """A copy of a network whose weights follow the trained ones.

    decay: of the average after its warm-up. interpolation: share of the initial weights in the average. Weights between
    those of a pretrained network and the fine-tuned ones are often better than either (Wortsman et al. 2022: WiSE-FT).
    """

    def __init__(self, network: Network[Any], decay: float, interpolation: float = 0.0) -> None:
        super().__init__(network, use_buffers=True)
        self.decay = decay
        self.interpolation = interpolation
        self.initial: list[Tensor] = []
        self.module.eval().requires_grad_(False)
        self._weights, self._counters = _tensors(self.module)

    @property
    def network(self) -> Network[Any]:
        """The network with the averaged weights."""
        return cast("Network[Any]", self.module)

    @property
    def updates(self) -> int:
        """Updates since `start`."""
        return int(self.n_averaged) - 1

    def start(self, network: nn.Module) -> None:
        """Begin with the weights of a network, once it is initialised."""
        self.update_parameters(network)  # the first update copies them
        if self.interpolation:
            self.initial = [value.clone() for value in _tensors(network)[0]]

    @torch.no_grad()
    def update_parameters(self, network: nn.Module) -> None:
        """Move the averaged weights towards those of a network; its counters are copied."""
        weights, counters = _tensors(network)
        count = int(self.n_averaged)
        decay = min(self.decay, count / (count + WARMUP))
        if self.initial:
            pairs = zip(weights, self.initial, strict=True)
            weights = [value.lerp(initial, self.interpolation) for value, initial in pairs]
        for own, value in zip(self._weights, weights, strict=True):
            own.lerp_(value, 1 - decay)
        for own, value in zip(self._counters, counters, strict=True):
            own.copy_(value)
        self.n_averaged += 1

    def get_extra_state(self) -> list[Tensor]:
        """For checkpoints."""
        return self.initial

    def set_extra_state(self, state: list[Tensor]) -> None:
        self.initial = state


def _tensors(network: nn.Module) -> tuple[list[Tensor], list[Tensor]]:
    """Weights and running statistics of a network, and its counters, which are integers."""
    tensors = [value.detach() for value in chain(network.parameters(), network.buffers())]
    return [one for one in tensors if one.is_floating_point()], [one for one in tensors if not one.is_floating_point()]
