"""Batches: windows made by threads while the network learns; the same seed gives the same batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from tallymark.core.parallel import ahead
from tallymark.core.recipe import Recipe
from tallymark.detector.center_coder import CenterCoder
from tallymark.detector.coders import CODERS
from tallymark.detector.mask_refinement import FINE, draw_coverage
from tallymark.detector.network import CenterTargets
from tallymark.detector.targets import draw_targets
from tallymark.inference.pipeline import Model
from tallymark.modalities.sample import Sample

BLUNT = 1.6
"""How broad the top of the heat is for shapes that are corrected after they are told."""


class Dataset(Protocol):
    """Where windows come from."""

    def __len__(self) -> int: ...

    def window(self, rng: np.random.Generator, item: int, calm: bool) -> Sample:
        """A window on an item, changed at random."""

    def mine_hard_negatives(self, model: Model) -> None:
        """Learn from what the model makes of the training set so far, where to look more often."""

    state: Any
    """What `revisit` found, for a checkpoint: tensors and numbers only."""


class ConcatDataset:
    """Several sources as one."""

    def __init__(self, sources: Sequence[Dataset]) -> None:
        self.sources = sources
        self.ends = np.cumsum([len(source) for source in sources])

    def __len__(self) -> int:
        return int(self.ends[-1])

    def window(self, rng: np.random.Generator, item: int, calm: bool) -> Sample:
        at = int(np.searchsorted(self.ends, item, "right"))
        return self.sources[at].window(rng, item - (int(self.ends[at - 1]) if at else 0), calm)

    def mine_hard_negatives(self, model: Model) -> None:
        for source in self.sources:
            source.mine_hard_negatives(model)

    @property
    def state(self) -> list[Any]:
        return [source.state for source in self.sources]

    @state.setter
    def state(self, kept: list[Any]) -> None:
        for source, own in zip(self.sources, kept, strict=True):
            source.state = own


@dataclass(frozen=True)
class Batch:
    pictures: Tensor
    truth: CenterTargets | Tensor


class Batches:
    """The batches of an epoch. With several processes each makes its own share of them."""

    def __init__(self, source: Dataset, recipe: Recipe, classes: int, rank: int = 0, world: int = 1) -> None:
        self.source, self.recipe, self.classes = source, recipe, classes
        self.rank, self.world = rank, world

    def __len__(self) -> int:
        """Batches to an epoch; a set smaller than a batch is one."""
        return max(len(self.source) // (self.recipe.batch_size * self.world), 1)

    def epoch(self, number: int, calm: Callable[[int], bool], start: int = 0) -> Iterator[Batch]:
        """The batches from `start` on of an epoch; calm(k) says whether its batch k is made without mixing."""
        order = np.random.default_rng([self.recipe.seed, number]).permutation(len(self.source))
        size, total = self.recipe.batch_size, len(self) * self.recipe.batch_size * self.world
        order = np.resize(order, total)[self.rank :: self.world]
        numbers = np.arange(total)[self.rank :: self.world]

        def make(batch: int) -> Batch:
            quiet = calm(batch)
            rows = slice(batch * size, (batch + 1) * size)
            pairs = zip(numbers[rows].tolist(), order[rows].tolist(), strict=True)
            windows = [
                self.source.window(np.random.default_rng([self.recipe.seed, number, place]), item, quiet)
                for place, item in pairs
            ]
            return self._stack(windows)

        return ahead(make, range(start, len(self)), threads(), 2 * threads())

    def _stack(self, windows: Sequence[Sample]) -> Batch:
        pictures = torch.from_numpy(np.stack([window.picture for window in windows])).permute(0, 3, 1, 2)
        if self.recipe.task == "labels":
            return Batch(pictures, self._chances(windows))
        return Batch(pictures, center_targets(windows, CODERS[self.recipe.task], self.classes, self.recipe.stride))

    def _chances(self, windows: Sequence[Sample]) -> Tensor:
        """What each picture shows, with a little given to all classes."""
        chances = np.zeros((len(windows), self.classes), np.float32)
        for row, window in zip(chances, windows, strict=True):
            np.add.at(row, window.label, window.weight)
        smoothing = self.recipe.label_smoothing
        return torch.from_numpy(chances * (1 - smoothing) + smoothing / self.classes)


def center_targets(windows: Sequence[Sample], code: CenterCoder, classes: int, stride: int) -> CenterTargets:
    """The targets of a batch of windows."""
    height, width = (side // stride for side in windows[0].extent)
    height = 1 if code.one_dimensional else height
    drawn, shapes, covers = [], [], []
    for window in windows:
        small: Any = window.shapes.scale(1 / stride)  # labels have no centres
        ground = code.footprint(small)
        targets = draw_targets(ground, window.label, classes, (height, width), BLUNT if code.predicts_coverage else 1.0)
        if code.predicts_coverage:
            covers.append(draw_coverage(ground.scale(FINE), (FINE * height, FINE * width)))
        drawn.append(targets)
        shapes.append(small.take(targets.object))
    told = shapes[0]
    for more in shapes[1:]:
        told = told.concat(more)
    x, y, weight = (np.concatenate([getattr(one, name) for one in drawn]) for name in ("x", "y", "weight"))
    values = code.encode(told, x + 0.5, y + 0.5).astype(np.float32)
    picture = np.repeat(np.arange(len(drawn)), [len(one.x) for one in drawn])
    label = np.concatenate([window.label[one.object] for window, one in zip(windows, drawn, strict=True)])
    present = np.array([float(one.heat.max(initial=0) >= 1) for one in drawn], np.float32)
    heat = np.stack([one.heat for one in drawn])
    tensors = [torch.from_numpy(part) for part in (heat, picture, y, x, values, weight, present, label)]
    truth = CenterTargets(told, *tensors)
    return replace(truth, cover=torch.from_numpy(np.stack(covers))) if covers else truth


def threads() -> int:
    return max(1, min(8, (os.cpu_count() or 1) // 2))
