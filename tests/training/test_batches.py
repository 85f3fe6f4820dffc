"""Batches: the same seed gives the same ones, whatever the number of workers; processes share them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tallymark.core.problems import Problem, Problems
from tallymark.geometry import Labels
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.sample import ImageSample
from tallymark.training.batches import Batches, ConcatDataset

RECIPE = ImageRecipe().replace(task="labels", batch_size=3, label_smoothing=0.2)


class Numbers:
    """Images whose first pixel is the item, the second a random number, and the third whether mixing is on."""

    def __init__(self, count: int, first: int = 0) -> None:
        self.count = count
        self.first = first
        self.state: Any = None
        self.problems = Problems()

    def __len__(self) -> int:
        return self.count

    def sample(self, rng: np.random.Generator, item: int, *, mix: bool) -> ImageSample:
        data = np.zeros((32, 32, 3), np.uint8)
        data[0, :3, 0] = self.first + item, rng.integers(256), mix
        return ImageSample.of(data, Labels(np.array([item % 2])), np.array([item % 2]))

    def mine_hard_negatives(self, detect: Any) -> None:
        self.state = detect(self.first)


def pixels(batches: Batches, epoch: int = 0, start: int = 0) -> np.ndarray:
    """(batches, batch size, 3): what the samples of an epoch tell of themselves."""
    return np.stack([batch.inputs[:, 0, 0, :3].numpy() for batch in batches.epoch(epoch, lambda k: k >= 2, start)])


def test_an_epoch_has_every_item_once() -> None:
    batches = Batches(Numbers(12), RECIPE, 2)
    first, second = pixels(batches, 0), pixels(batches, 1)
    for epoch in (first, second):
        assert sorted(epoch[..., 0].ravel()) == list(range(12))
    assert not np.array_equal(first, second)


def test_workers_change_nothing() -> None:
    one, four = Batches(Numbers(12), RECIPE, 2), Batches(Numbers(12), RECIPE, 2)
    four.workers = 4
    assert np.array_equal(pixels(one), pixels(four))
    assert not np.array_equal(pixels(one), pixels(Batches(Numbers(12), RECIPE.replace(seed=1), 2)))


def test_an_epoch_can_be_resumed_and_mixing_depends_on_the_batch() -> None:
    batches = Batches(Numbers(12), RECIPE, 2)
    assert np.array_equal(pixels(batches)[1:], pixels(batches, start=1))
    assert pixels(batches)[..., 2].tolist() == [[0] * 3] * 2 + [[1] * 3] * 2


def test_processes_share_an_epoch() -> None:
    parts = [pixels(Batches(Numbers(12), RECIPE, 2, rank, 2))[..., 0] for rank in range(2)]
    assert [part.shape for part in parts] == [(2, 3)] * 2
    assert sorted(np.concatenate(parts).ravel()) == list(range(12))


def test_a_dataset_smaller_than_a_batch_is_repeated() -> None:
    batches = Batches(Numbers(2), RECIPE, 2)
    assert len(batches) == 1
    assert sorted(pixels(batches)[..., 0].ravel())[0::2] == [0, 1]


def test_targets_are_smoothed_probabilities() -> None:
    [batch, *_] = Batches(Numbers(12), RECIPE, 2).epoch(0, lambda k: False)
    label = batch.inputs[:, 0, 0, 0].long() % 2
    assert batch.inputs.shape == (3, 3, 32, 32)
    torch.testing.assert_close(batch.targets, torch.where(torch.eye(2)[label] == 1, 0.9, 0.1))


def test_datasets_are_concatenated() -> None:
    datasets = [Numbers(3), Numbers(5, first=100), Numbers(1, first=200)]
    joined = ConcatDataset(datasets)
    assert len(joined) == 9
    rng = np.random.default_rng(0)
    items = [int(joined.sample(rng, item, mix=False).data[0, 0, 0]) for item in range(9)]
    assert items == [0, 1, 2, 100, 101, 102, 103, 104, 200]
    joined.mine_hard_negatives(lambda first: first + 1)
    assert joined.state == [1, 101, 201]
    joined.state = [7, 8, 9]
    assert [dataset.state for dataset in datasets] == [7, 8, 9]
    datasets[2].problems.add(Problem("corrupt_media", "x", "noise", "an image"))
    assert joined.problems.total == 1
    with pytest.raises(ValueError, match="shorter"):
        joined.state = [7]
