"""Label errors: planted ones are detected, correct labels are not reported, and the list is an exclusion list."""

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
from tallymark.inference.label_errors import NoiseScores, agreement, find_label_errors, robust_z
from tallymark.io.tables import write_frame

COLUMNS = {
    "item": pl.String, "kind": pl.String, "label": pl.Int64, "label_name": pl.String, "predicted": pl.Int64,
    "predicted_name": pl.String, "label_probability": pl.Float64, "predicted_probability": pl.Float64,
    "margin": pl.Float64,
}  # fmt: skip


def named(count: int) -> Items:
    return Items.of([f"{at:04}.jpg" for at in range(count)])


def letters(count: int) -> tuple[str, ...]:
    return tuple(chr(ord("a") + at) for at in range(count))


def noisy_set(count: int, classes: int, planted: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities of models that know the true class, some classes better than others; labels; which are wrong."""
    rng = np.random.default_rng(seed)
    true = np.arange(count) % classes
    wrong = rng.random(count) < planted
    label = np.where(wrong, (true + rng.integers(1, classes, count)) % classes, true)
    strength = np.linspace(2.0, 5.0, classes)[true]
    logits = rng.normal(0, 1, (count, classes))
    logits[np.arange(count), true] += strength
    probabilities = np.exp(logits)
    return probabilities / probabilities.sum(axis=1, keepdims=True), label, wrong


def label_errors_one_by_one(probabilities: np.ndarray, label: np.ndarray) -> list[tuple[float, int, int]]:
    """The definition, image by image: (margin, image, predicted class)."""
    errors = list[tuple[float, int, int]]()
    for at, row in enumerate(probabilities):
        predicted = max(range(len(row)), key=lambda label: (row[label], -label))
        own = [probabilities[other, predicted] for other in range(len(label)) if label[other] == predicted]
        if row[predicted] > row[label[at]] and own and row[predicted] >= np.mean(own) - 1e-9:
            errors.append((round(float(row[label[at]] - row[predicted]), 6), at, predicted))
    return sorted(errors)


@pytest.mark.parametrize("seed", range(3))
def test_planted_label_errors_are_detected(seed: int) -> None:
    probabilities, label, wrong = noisy_set(2000, 10, 0.1, seed)
    errors = find_label_errors(probabilities, label, named(2000), letters(10), most=2000)
    at = errors["item"].str.slice(0, 4).cast(pl.Int64).to_numpy()
    assert wrong[at].sum() > 0.6 * wrong.sum()
    assert (~wrong[at]).sum() < 0.02 * (~wrong).sum()
    assert wrong[at[:100]].mean() > 0.97


def test_each_class_has_its_own_threshold() -> None:
    """A probability of 0.6 is high for a class of low mean confidence, and low for a class of high mean confidence."""
    probabilities = np.array([[0.9, 0.05, 0.05]] * 4 + [[0.3, 0.5, 0.2]] * 4 + [[0.2, 0.2, 0.6]] * 4)
    label = np.repeat([0, 1, 2], 4)
    doubtful = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2]])
    errors = find_label_errors(np.vstack([probabilities, doubtful]), np.append(label, [2, 2]), named(14), letters(3))
    assert errors.rows() == [("0013.jpg", "wrong_label", 2, "c", 1, "b", 0.2, 0.6, -0.4)]


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), classes=st.integers(1, 5), count=st.integers(1, 40))
def test_result_equals_the_definition(seed: int, classes: int, count: int) -> None:
    """Coarse probabilities, so that many are equal; some classes without any image."""
    rng = np.random.default_rng(seed)
    probabilities = rng.integers(1, 5, (count, classes)) / 8
    label = rng.integers(0, classes, count)
    errors = find_label_errors(probabilities, label, named(count), letters(classes))
    expected = label_errors_one_by_one(probabilities, label)
    assert errors["margin"].to_list() == [margin for margin, _, _ in expected]
    assert errors["item"].to_list() == [f"{at:04}.jpg" for _, at, _ in expected]
    assert errors["predicted"].to_list() == [predicted for _, _, predicted in expected]
    assert errors["label_name"].to_list() == [letters(classes)[label[at]] for _, at, _ in expected]
    assert errors["predicted_name"].to_list() == [letters(classes)[predicted] for _, _, predicted in expected]


def test_result_does_not_depend_on_the_order_of_items() -> None:
    probabilities, label, _ = noisy_set(300, 4, 0.3, 0)
    probabilities = np.round(probabilities, 1)
    ids = named(300).ids
    mixed = np.random.default_rng(1).permutation(300)
    straight = find_label_errors(probabilities, label, Items(ids), letters(4), most=20)
    other = find_label_errors(probabilities[mixed], label[mixed], Items(ids[mixed]), letters(4), most=20)
    assert straight["margin"].n_unique() < straight.height == 20
    assert straight.equals(other)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities_equal_to_their_threshold_reach_it(dtype: type) -> None:
    """All probabilities of a class equal its threshold; rounding must not lift the threshold above them."""
    rows: np.ndarray = np.array([[0.9, 0.1], [0.1, 0.9]], dtype)
    label = np.array([0] * 7 + [1] * 7)
    probabilities = np.vstack([rows[label], rows[[1]]])
    errors = find_label_errors(probabilities, np.append(label, 0), named(15), letters(2))
    assert errors["item"].to_list() == ["0014.jpg"]
    assert errors["predicted_probability"].to_list() == [0.9]


def test_uniform_probabilities_are_not_reported() -> None:
    even = np.full((6, 3), 1 / 3)
    assert find_label_errors(even, np.array([0, 1, 2, 0, 1, 2]), named(6), letters(3)).is_empty()


def test_a_class_without_images_is_never_reported() -> None:
    assert find_label_errors(np.array([[0.1, 0.9], [0.2, 0.8]]), np.array([0, 0]), named(2), letters(2)).is_empty()


def test_the_number_of_rows_is_limited() -> None:
    probabilities, label, _ = noisy_set(500, 5, 0.2, 0)
    every = find_label_errors(probabilities, label, named(500), letters(5), most=500)
    assert every.height > 10
    assert find_label_errors(probabilities, label, named(500), letters(5), most=10).equals(every[:10])
    assert find_label_errors(probabilities, label, named(500), letters(5), most=0).is_empty()
    assert every["margin"].is_sorted()


@pytest.mark.parametrize("shape", [(0, 0), (0, 1), (0, 5), (3, 1)])
def test_no_label_errors_give_an_empty_table(shape: tuple[int, int]) -> None:
    label = np.zeros(shape[0], np.int64)
    errors = find_label_errors(np.ones(shape), label, named(shape[0]), letters(max(1, shape[1])))
    assert dict(errors.schema) == COLUMNS
    assert errors.is_empty()


def test_classes_of_lowest_agreement_come_first() -> None:
    probabilities = np.array([[0.6, 0.4], [0.5, 0.5], [0.1, 0.9], [0.7, 0.3]])
    table = agreement(probabilities, np.array([0, 0, 1, 1]), letters(2))
    assert table.columns == ["label", "name", "images", "agreement"]
    assert table.rows() == [(1, "b", 2, 0.5), (0, "a", 2, 1.0)]
    assert agreement(probabilities, np.array([1, 1, 1, 1]), letters(2)).rows() == [(1, "b", 4, 0.25)]
    assert agreement(np.empty((0, 2)), np.empty(0, np.int64), letters(2)).is_empty()


def test_the_table_is_an_exclusion_list(tmp_path: Path) -> None:
    probabilities, label, _ = noisy_set(200, 4, 0.2, 0)
    errors = find_label_errors(probabilities, label, named(200), ("soup, hot", 'a "cake"', "pie", "roll"))
    path = tmp_path / "label_errors.csv"
    write_frame(path, errors[1:])  # the first label is correct
    problems = Problems()
    listed = read_exclusions(path, problems)
    assert not problems
    assert listed is not None
    assert listed.items.to_list() == errors["item"].to_list()[1:]
    assert listed.objects.is_empty()


@pytest.mark.parametrize(
    ("probabilities", "label", "classes"),
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
def test_inconsistent_arguments_are_an_error(probabilities: np.ndarray, label: list[int], classes: int) -> None:
    with pytest.raises(ValueError, match=r"classes|labels|not finite"):
        find_label_errors(probabilities, np.array(label), named(2), letters(classes))


def test_kinds_of_noise_are_told_apart() -> None:
    probabilities = np.array([[0.9, 0.1], [0.1, 0.9], [0.9, 0.1], [0.4, 0.6], [0.9, 0.1], [0.2, 0.8], [0.1, 0.9]])
    label = np.array([0, 0, 0, 0, 0, 1, 1])
    unlike = np.array([0, 0, 0, 3, 3, 0, np.nan])
    parts = np.array([0, 0, 0.5, 0.5, 0, 0, np.nan])
    errors = find_label_errors(probabilities, label, named(7), letters(2), noise=NoiseScores(unlike, parts))
    # The fifth is unlike the others, but its label is predicted as confidently as usual.
    assert dict(errors.select("item", "kind").rows()) == {
        "0001.jpg": "wrong_label",
        "0002.jpg": "cross_category",
        "0003.jpg": "cross_domain",
    }


def test_robust_z_ignores_outliers_and_unknown_values() -> None:
    z = robust_z(np.array([1.0, 2, 3, 4, 5, 1000, np.nan]))
    assert np.isnan(z[-1])
    assert z[5] > 100
    assert abs(z[2]) < 1
    assert robust_z(np.ones(3)).tolist() == [0, 0, 0]
