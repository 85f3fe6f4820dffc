"""Cached datasets: each item is decoded once, within a memory limit; unreadable ones are skipped and reported once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tallymark
from tallymark.core.problems import BadInput
from tallymark.data.catalog import Catalog
from tallymark.io.media import BadMedia
from tallymark.modalities import dataset as cached
from tallymark.modalities.dataset import CachedDataset
from tallymark.modalities.sample import Sample


class Arrays(CachedDataset[np.ndarray]):
    """Items of 100 bytes each, some of which cannot be read."""

    def __init__(self, catalog: Catalog, unreadable: set[int]) -> None:
        super().__init__(catalog)
        self.unreadable = unreadable
        self.decoded: list[int] = []

    def sample(self, rng: np.random.Generator, item: int, *, mix: bool) -> Sample:
        raise NotImplementedError

    def decode(self, item: int) -> np.ndarray:
        self.decoded.append(item)
        if item in self.unreadable:
            raise BadMedia("corrupt_media", "noise")
        return np.full(100, item, np.uint8)

    def nbytes(self, decoded: np.ndarray) -> int:
        return decoded.nbytes


@pytest.fixture(scope="module")
def catalog(sets: Path) -> Catalog:
    return tallymark.read("wheat", sets / "wheat").in_split("train")


def test_items_are_decoded_once(catalog: Catalog) -> None:
    dataset = Arrays(catalog, {1})
    for _ in range(3):
        for item in range(len(catalog)):
            dataset.load(item)
    assert dataset.decoded == list(range(len(catalog)))


def test_the_cache_keeps_its_memory_limit(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached, "CACHE_BYTES", 250)
    dataset = Arrays(catalog, set())
    for _ in range(2):
        for item in range(4):
            dataset.load(item)
    assert dataset.decoded == [0, 1, 2, 3, 2, 3]


def test_an_unreadable_item_is_replaced_by_the_next_and_reported_once(catalog: Catalog) -> None:
    last = len(catalog) - 1
    dataset = Arrays(catalog, {1, 2, last})
    assert dataset.load(1) is None
    assert [dataset.load_readable(item)[0] for item in (0, 1, 2, 3, last)] == [0, 3, 3, 3, 0]
    assert sorted(str(problem.item) for problem in dataset.problems) == sorted(catalog.items.ids[[1, 2, last]])
    assert {problem.expected for problem in dataset.problems} == {f"a readable {catalog.medium.noun}"}


def test_without_any_readable_item_all_problems_are_raised(catalog: Catalog) -> None:
    with pytest.raises(BadInput) as raised:
        Arrays(catalog, set(range(len(catalog)))).load_readable(0)
    assert raised.value.problems.total == len(catalog)


def test_threads_share_the_cache(catalog: Catalog) -> None:
    dataset = Arrays(catalog, {0})
    with ThreadPoolExecutor(4) as pool:
        loaded = list(pool.map(dataset.load, [item % len(catalog) for item in range(200)]))
    assert all(value is None if item % len(catalog) == 0 else value[0] == item % len(catalog)
               for item, value in enumerate(loaded))  # fmt: skip
    assert dataset.problems.total == 1


def test_a_catalog_without_truth_is_refused(catalog: Catalog) -> None:
    with pytest.raises(BadInput, match="no_truth"):
        Arrays(catalog.select(np.arange(0)), set())
