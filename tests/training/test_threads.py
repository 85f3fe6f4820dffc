"""Threads: one for tiny networks, else as many as cores are free."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.training import threads
from tallymark.training.batches import Batches
from tallymark.training.devices import Rank
from tallymark.training.network import make_network
from tallymark.training.threads import Threads, forward_gflops

RECIPE = ImageRecipe().replace(width=4, neck=8)
NONE: Any = None


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def rank_of(world: int = 1) -> Rank:
    return Rank(torch.device("cpu"), 0, world, threads=6)


def test_operations_are_counted_without_any_effect() -> None:
    network = make_network(RECIPE, 1).train()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    small, large = (forward_gflops(network, torch.zeros(2, 3, side, side)) for side in (64, 128))
    assert large == pytest.approx(4 * small, rel=0.01)
    assert 0 < small < 0.1
    assert network.training
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_tiny_networks_have_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "observe_cores", lambda: lambda: 16)
    chosen = Threads(batches := Batches(NONE, RECIPE, 1), rank_of())
    chosen.start(make_network(RECIPE, 1), torch.zeros(2, 3, 64, 64))
    chosen.update()
    assert torch.get_num_threads() == 1
    assert batches.workers == 8


def test_others_have_as_many_as_cores_are_free_at_every_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "TINY_GFLOPS", 0.0)
    free = iter([3, 16, 1])
    monkeypatch.setattr(threads, "observe_cores", lambda: lambda: next(free))
    chosen = Threads(batches := Batches(NONE, RECIPE, 1), rank_of())
    chosen.start(make_network(RECIPE, 1), torch.zeros(2, 3, 64, 64))
    counts = [(torch.get_num_threads(), batches.workers)]
    for _ in range(2):
        chosen.update()
        counts.append((torch.get_num_threads(), batches.workers))
    assert counts == [(3, 1), (6, 8), (1, 1)]  # at most those of the rank


def test_a_fixed_number_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "observe_cores", lambda: lambda: 16)
    chosen = Threads(Batches(NONE, RECIPE, 1), rank_of(), fixed=5)
    assert torch.get_num_threads() == 5  # before a linear probe
    chosen.start(make_network(RECIPE, 1), torch.zeros(2, 3, 64, 64))
    chosen.update()
    assert torch.get_num_threads() == 5


def test_processes_of_torchrun_keep_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "observe_cores", lambda: lambda: 16)
    torch.set_num_threads(2)
    chosen = Threads(Batches(NONE, RECIPE, 1), rank_of(world=2))
    chosen.start(make_network(RECIPE, 1), torch.zeros(2, 3, 64, 64))
    chosen.update()
    assert torch.get_num_threads() == 2
