"""Batches: samples made by threads while the network trains. The same seed gives the same batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from tallymark.core.parallel import prefetch
from tallymark.core.problems import EVERY, Problems
from tallymark.core.recipe import Recipe
from tallymark.detector.batch_targets import CenterTargets
from tallymark.detector.coders import CODERS
from tallymark.modalities.base import Dataset, Detect
from tallymark.modalities.sample import Sample

T = TypeVar("T", CenterTargets, Tensor)


class ConcatDataset:
    """Several datasets as one."""

    def __init__(self, datasets: Sequence[Dataset]) -> None:
        self.datasets = datasets
        self.ends = np.cumsum([len(dataset) for dataset in datasets])

    def __len__(self) -> int:
        return int(self.ends[-1])

    def sample(self, rng: np.random.Generator, item: int, *, mix: bool) -> Sample:
        number = int(np.searchsorted(self.ends, item, "right"))
        start = int(self.ends[number - 1]) if number else 0
        return self.datasets[number].sample(rng, item - start, mix=mix)

    def mine_hard_negatives(self, detect: Detect) -> None:
        for dataset in self.datasets:
            dataset.mine_hard_negatives(detect)

    @property
    def problems(self) -> Problems:
        merged = Problems(EVERY)
        for dataset in self.datasets:
            merged.merge(dataset.problems)
        return merged

    @property
    def state(self) -> list[Any]:
        return [dataset.state for dataset in self.datasets]

    @state.setter
    def state(self, states: list[Any]) -> None:
        for dataset, state in zip(self.datasets, states, strict=True):
            dataset.state = state


@dataclass(frozen=True)
class Batch(Generic[T]):
    """inputs: (n, channels, height, width). targets: of the network's outputs."""

    inputs: Tensor
    targets: T


class Batches:
    """The batches of each epoch. Under torchrun, each process makes its own share of them.

    workers: threads that make batches; their number does not change the batches.
    """

    def __init__(self, dataset: Dataset, recipe: Recipe, classes: int, rank: int = 0, world: int = 1) -> None:
        self.dataset = dataset
        self.recipe = recipe
        self.classes = classes
        self.rank = rank
        self.world = world
        self.workers = 1

    def __len__(self) -> int:
        """Batches per epoch; a dataset smaller than a batch has one."""
        return max(len(self.dataset) // (self.recipe.batch_size * self.world), 1)

    def epoch(self, number: int, mix: Callable[[int], bool], start: int = 0) -> Iterator[Batch[Any]]:
        """The batches of an epoch from `start` on; mix(k): whether batch k has mosaic, mixup and pasting."""
        size = self.recipe.batch_size
        total = len(self) * size * self.world
        order = np.random.default_rng([self.recipe.seed, number]).permutation(len(self.dataset))
        items = np.resize(order, total)[self.rank :: self.world]
        positions = np.arange(total)[self.rank :: self.world]

        def make(batch: int) -> Batch[Any]:
            mixed = mix(batch)
            rows = slice(batch * size, (batch + 1) * size)
            pairs = zip(positions[rows].tolist(), items[rows].tolist(), strict=True)
            samples = [
                self.dataset.sample(np.random.default_rng([self.recipe.seed, number, position]), item, mix=mixed)
                for position, item in pairs
            ]
            return self._stack(samples)

        return prefetch(make, range(start, len(self)), self.workers, 2 * self.workers)

    def _stack(self, samples: Sequence[Sample]) -> Batch[Any]:
        inputs = torch.from_numpy(np.stack([sample.data for sample in samples])).permute(0, 3, 1, 2)
        return Batch(inputs, CODERS[self.recipe.task].targets(samples, self.classes, self.recipe))
