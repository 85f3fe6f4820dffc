"""Suspects: planted wrong labels are found, clean ones are left alone, and the list is one to exclude."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallymark.core.problems import Problems
from tallymark.data.exclusions import read_exclusions
from tallymark.data.items import Items
from tallymark.inference.label_errors import agreement, find_label_errors
from tallymark.io.tables import write_frame

COLUMNS = {
    "item": pl.String, "label": pl.Int64, "label_name": pl.String, "told": pl.Int64, "told_name": pl.String,
    "chance_of_label": pl.Float64, "chance_of_told": pl.Float64, "margin": pl.Float64,
}  # fmt: skip


def named(count: int) -> Items:
    return Items.of([f"{at:04}.jpg" for at in range(count)])


def letters(count: int) -> tuple[str, ...]:
    return tuple(chr(ord("a") + at) for at in range(count))


def noisy_set(count: int, classes: int, planted: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Chances of models that see the true class, of some classes better than of others; labels; which are wrong."""
    rng = np.random.default_rng(seed)
    true = np.arange(count) % classes
    wrong = rng.random(count) < planted
    label = np.where(wrong, (true + rng.integers(1, classes, count)) % classes, true)
    strength = np.linspace(2.0, 5.0, classes)[true]
    logits = rng.normal(0, 1, (count, classes))
    logits[np.arange(count), true] += strength
    chances = np.exp(logits)
    return chances / chances.sum(axis=1, keepdims=True), label, wrong


def suspects_one_by_one(chances: np.ndarray, label: np.ndarray) -> list[tuple[float, int, int]]:
    """The definition in words of single pictures: (margin, picture, class told)."""
    found = []
    for at, row in enumerate(chances):
        told = max(range(len(row)), key=lambda kind: (row[kind], -kind))
        own = [chances[other, told] for other in range(len(label)) if label[other] == told]
        if row[told] > row[label[at]] and own and row[told] >= np.mean(own) - 1e-9:
            found.append((round(float(row[label[at]] - row[told]), 6), at, told))
    return sorted(found)


@pytest.mark.parametrize("seed", range(3))
def test_planted_labels_are_found(seed: int) -> None:
    chances, label, wrong = noisy_set(2000, 10, 0.1, seed)
    found = find_label_errors(chances, label, named(2000), letters(10), most=2000)
    at = found["item"].str.slice(0, 4).cast(pl.Int64).to_numpy()
    assert wrong[at].sum() > 0.6 * wrong.sum()
    assert (~wrong[at]).sum() < 0.02 * (~wrong).sum()
    assert wrong[at[:100]].mean() > 0.97


def test_a_class_has_its_own_threshold() -> None:
    """A chance of 0.6 is much for a class that models are never sure of, and little for one that they are sure of."""
    chances = np.array([[0.9, 0.05, 0.05]] * 4 + [[0.3, 0.5, 0.2]] * 4 + [[0.2, 0.2, 0.6]] * 4)
    label = np.repeat([0, 1, 2], 4)
    doubtful = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2]])
    found = find_label_errors(np.vstack([chances, doubtful]), np.append(label, [2, 2]), named(14), letters(3))
    assert found.rows() == [("0013.jpg", 2, "c", 1, "b", 0.2, 0.6, -0.4)]


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), classes=st.integers(1, 5), count=st.integers(1, 40))
def test_equals_one_by_one(seed: int, classes: int, count: int) -> None:
    """Coarse chances, so that many are equal; some classes without any picture."""
    rng = np.random.default_rng(seed)
    chances = rng.integers(1, 5, (count, classes)) / 8
    label = rng.integers(0, classes, count)
    found = find_label_errors(chances, label, named(count), letters(classes))
    expected = suspects_one_by_one(chances, label)
    assert found["margin"].to_list() == [margin for margin, _, _ in expected]
    assert found["item"].to_list() == [f"{at:04}.jpg" for _, at, _ in expected]
    assert found["told"].to_list() == [told for _, _, told in expected]
    assert found["label_name"].to_list() == [letters(classes)[label[at]] for _, at, _ in expected]
    assert found["told_name"].to_list() == [letters(classes)[told] for _, _, told in expected]


def test_order_does_not_depend_on_that_of_the_items() -> None:
    chances, label, _ = noisy_set(300, 4, 0.3, 0)
    chances = np.round(chances, 1)
    ids = named(300).ids
    mixed = np.random.default_rng(1).permutation(300)
    straight = find_label_errors(chances, label, Items(ids), letters(4), most=20)
    other = find_label_errors(chances[mixed], label[mixed], Items(ids[mixed]), letters(4), most=20)
    assert straight["margin"].n_unique() < straight.height == 20
    assert straight.equals(other)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_models_that_are_sure_of_everything(kind: type) -> None:
    """All chances of a class are at its threshold; rounding must not lift the threshold above them."""
    sure: np.ndarray = np.array([[0.9, 0.1], [0.1, 0.9]], kind)
    label = np.array([0] * 7 + [1] * 7)
    chances = np.vstack([sure[label], sure[[1]]])
    found = find_label_errors(chances, np.append(label, 0), named(15), letters(2))
    assert found["item"].to_list() == ["0014.jpg"]
    assert found["chance_of_told"].to_list() == [0.9]


def test_a_picture_that_says_nothing_is_not_suspected() -> None:
    even = np.full((6, 3), 1 / 3)
    assert find_label_errors(even, np.array([0, 1, 2, 0, 1, 2]), named(6), letters(3)).is_empty()


def test_a_class_without_pictures_is_never_told() -> None:
    assert find_label_errors(np.array([[0.1, 0.9], [0.2, 0.8]]), np.array([0, 0]), named(2), letters(2)).is_empty()


def test_only_the_first_are_told() -> None:
    chances, label, _ = noisy_set(500, 5, 0.2, 0)
    every = find_label_errors(chances, label, named(500), letters(5), most=500)
    assert every.height > 10
    assert find_label_errors(chances, label, named(500), letters(5), most=10).equals(every[:10])
    assert find_label_errors(chances, label, named(500), letters(5), most=0).is_empty()
    assert every["margin"].is_sorted()


@pytest.mark.parametrize("shape", [(0, 0), (0, 1), (0, 5), (3, 1)])
def test_nothing_to_suspect(shape: tuple[int, int]) -> None:
    label = np.zeros(shape[0], np.int64)
    found = find_label_errors(np.ones(shape), label, named(shape[0]), letters(max(1, shape[1])))
    assert dict(found.schema) == COLUMNS
    assert found.is_empty()


def test_classes_that_models_agree_with_least_come_first() -> None:
    chances = np.array([[0.6, 0.4], [0.5, 0.5], [0.1, 0.9], [0.7, 0.3]])
    told = agreement(chances, np.array([0, 0, 1, 1]), letters(2))
    assert told.columns == ["label", "name", "pictures", "agreement"]
    assert told.rows() == [(1, "b", 2, 0.5), (0, "a", 2, 1.0)]
    assert agreement(chances, np.array([1, 1, 1, 1]), letters(2)).rows() == [(1, "b", 4, 0.25)]
    assert agreement(np.empty((0, 2)), np.empty(0, np.int64), letters(2)).is_empty()


def test_the_list_can_be_excluded(tmp_path: Path) -> None:
    chances, label, _ = noisy_set(200, 4, 0.2, 0)
    found = find_label_errors(chances, label, named(200), ("soup, hot", 'a "cake"', "pie", "roll"))
    path = tmp_path / "suspects.csv"
    write_frame(path, found[1:])  # the label of the first was right
    problems = Problems()
    listed = read_exclusions(path, problems)
    assert not problems
    assert listed is not None
    assert listed.items.to_list() == found["item"].to_list()[1:]
    assert listed.objects.is_empty()


@pytest.mark.parametrize(
    ("chances", "label", "classes"),
    [
        (np.ones((2, 2)), [0], 2),
        (np.ones((1, 2)), [0, 1], 2),
        (np.ones((2, 2)), [0, 2], 2),
        (np.ones((2, 2)), [0, -1], 2),
        (np.ones((2, 2)), [0, 1], 3),
        (np.full((2, 2), np.nan), [0, 1], 2),
        (np.ones(2), [0, 1], 2),
    ],
)
def test_what_does_not_fit_together(chances: np.ndarray, label: list[int], classes: int) -> None:
    with pytest.raises(ValueError, match=r"classes|labels|numbers"):
        find_label_errors(chances, np.array(label), named(2), letters(classes))
