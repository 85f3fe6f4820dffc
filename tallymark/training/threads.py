"""Threads of a training: one for tiny networks, else as many as cores are free.

Threads of one operation wait for one another, so that a training with more threads than free cores starves: on two
cores, a tiny training takes 9.0 s with two threads and 9.7 s with one; beside another busy process 37.6 s and 10.2 s.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from tallymark.core.resources import observe_cores
from tallymark.detector.network import Network
from tallymark.training.batches import Batches
from tallymark.training.devices import Rank

TINY_GFLOPS = 4.0
"""Networks are tiny if the forward pass of a batch takes fewer operations: a second thread gains next to nothing.

The `tiny` presets take 0.2 to 2, the `small` ones 5 to 21. The size of the work decides, not a measured time, so that
the same training always has the same number of threads.
"""
MAX_WORKERS = 8
"""Threads that make batches, at most."""


class Threads:
    """Sets the threads of torch, up to the rank's, and those that make batches.

    fixed: so many threads for torch, in place of a choice. Under torchrun, each process keeps what it was given.
    """

    def __init__(self, batches: Batches, rank: Rank, fixed: int | None = None) -> None:
        self.batches = batches
        self.fixed = fixed
        self.adaptive = fixed is None and rank.world == 1 and rank.device.type == "cpu"
        self.limit = rank.threads
        self.tiny = False
        self._count_cores = observe_cores()  # while the first batch is made, so that nothing waits for it
        if fixed is not None:  # also for a linear probe, which comes before the first batch
            torch.set_num_threads(fixed)

    def start(self, network: Network[Any], inputs: Tensor) -> None:
        """Choose for a network and the inputs of a batch. The choice depends on nothing else for tiny networks."""
        self.tiny = self.adaptive and forward_gflops(network, inputs) < TINY_GFLOPS
        if self.fixed is not None or self.tiny:
            torch.set_num_threads(self.fixed or 1)
        self._adapt()

    def update(self) -> None:
        """Choose again, at an evaluation, by the cores that were free since the last choice."""
        if self.adaptive and not self.tiny:
            self._adapt()

    def _adapt(self) -> None:
        cores = self._count_cores()
        self._count_cores = observe_cores()
        self.batches.workers = max(1, min(MAX_WORKERS, cores // 2))
        if self.adaptive and not self.tiny:
            torch.set_num_threads(max(1, min(self.limit, cores)))


@torch.no_grad()
def forward_gflops(network: Network[Any], inputs: Tensor) -> float:
    """Billions of floating-point operations of a forward pass, counted on the first of the inputs."""
    training = network.training
    device = next(network.parameters()).device
    with FlopCounterMode(display=False) as counter:
        network.eval()(inputs[:1].to(device).float())
    network.train(training)
    return float(counter.get_total_flops()) * len(inputs) / 1e9
