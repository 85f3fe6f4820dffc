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
        super().__init__(network, multi_avg_fn=self._average, use_buffers=True)
        self.decay = decay
        self.interpolation = interpolation
        self.initial: list[Tensor] = []
        self.module.eval().requires_grad_(False)

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
            tensors = chain(network.parameters(), network.buffers())
            self.initial = [value.detach().clone() for value in tensors if value.is_floating_point()]

    @torch.no_grad()
    def _average(self, averaged: Any, current: Any, updates: Tensor | int) -> None:
        """Move averaged tensors, all of one type, towards the current ones."""
        if not averaged[0].is_floating_point():
            for own, value in zip(averaged, current, strict=True):
                own.copy_(value)
            return
        count = int(updates)
        decay = min(self.decay, count / (count + WARMUP))
        if self.initial:
            pairs = zip(current, self.initial, strict=True)
            current = [value.lerp(initial, self.interpolation) for value, initial in pairs]
        for own, value in zip(averaged, current, strict=True):
            own.lerp_(value, 1 - decay)

    def get_extra_state(self) -> list[Tensor]:
        """For checkpoints."""
        return self.initial

    def set_extra_state(self, state: list[Tensor]) -> None:
        self.initial = state
