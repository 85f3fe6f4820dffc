"""Classification: every class is a candidate, the most probable ones are predicted."""

from __future__ import annotations

import numpy as np
import pytest

from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.detector.label_coder import TOP_K, LabelCoder, top_k
from tallymark.detector.tta import ALL, TTATransform
from tallymark.geometry import Labels
from tallymark.inference.candidates import Candidates
from tallymark.inference.postprocess import postprocess
from tallymark.modalities.image.recipe import ImageRecipe

CODER = LabelCoder()
RECIPE = ImageRecipe().replace(task="labels")


def candidates_of(probabilities: np.ndarray) -> Candidates:
    count, classes = probabilities.shape
    label = np.tile(np.arange(classes), count)
    items = Items.of([f"p{k}" for k in range(count)])
    objects = Annotations.from_rows(
        items, np.repeat(np.arange(count), classes), Labels(label), label=label, score=probabilities.ravel()
    )
    return Candidates(objects, np.ones((count, 2)), np.ones(count))


def test_of_equal_probabilities_the_lower_class_comes_first() -> None:
    probabilities = np.array([[0.1, 0.3, 0.3, 0.3], [0.25, 0.25, 0.25, 0.25], [0.0, 0.2, 0.1, 0.7]])
    candidates = candidates_of(probabilities)
    predictions = postprocess(candidates, RECIPE)
    assert predictions.shapes.label.reshape(3, 3).tolist() == [[1, 2, 3], [0, 1, 2], [3, 1, 2]]
    assert predictions.scores.reshape(3, 3)[2].tolist() == [0.7, 0.2, 0.1]
    np.testing.assert_array_equal(predictions.labels, predictions.shapes.label)
    assert top_k(candidates.objects, 9).counts.tolist() == [4, 4, 4]
    np.testing.assert_array_equal(candidates.probabilities, probabilities)


@pytest.mark.parametrize("seed", range(3))
def test_top_k_equals_sorting_each_item(seed: int) -> None:
    probabilities = np.random.default_rng(seed).integers(0, 6, (20, 7)) / 6
    predictions = top_k(candidates_of(probabilities).objects, 4)
    for item, row in enumerate(probabilities.tolist()):
        expected = sorted(range(7), key=lambda label: (-row[label], label))[:4]
        own = slice(predictions.offsets[item], predictions.offsets[item + 1])
        assert predictions.shapes.label[own].tolist() == expected
        assert predictions.scores[own].tolist() == [row[label] for label in expected]


@pytest.mark.parametrize("temperature", [0.05, 0.5, 1.0, 20.0])
def test_a_temperature_changes_probabilities_but_no_ranking(temperature: float) -> None:
    probabilities = np.random.default_rng(0).dirichlet(np.full(7, 0.02), 50)  # most are next to nothing
    plain, scaled = (postprocess(candidates_of(probabilities), RECIPE.replace(temperature=t)) for t in (1, temperature))
    np.testing.assert_array_equal(plain.shapes.label, scaled.shapes.label)
    first, second = plain.scores[::3], scaled.scores[::3]
    assert (second >= first - 1e-12).all() if temperature < 1 else (second <= first + 1e-12).all()
    assert (np.diff(scaled.scores.reshape(-1, 3)) <= 0).all()


def test_an_item_without_any_probability_keeps_none() -> None:
    assert postprocess(candidates_of(np.zeros((1, 4))), RECIPE.replace(temperature=0.5)).scores.tolist() == [0, 0, 0]


def test_every_class_is_read_with_its_probability() -> None:
    read = CODER.read_outputs({"classes": np.array([0.2, 0.5, 0.3])}, (0, 0, 32, 32), RECIPE, np.empty(0, int), 1)
    assert read.score.tolist() == [0.2, 0.5, 0.3]
    assert read.label.tolist() == [0, 1, 2]
    assert CODER.decode(read.x, read.y, read.values).label.tolist() == [0, 1, 2]
    assert read.presence == 1


@pytest.mark.parametrize("classes", [1, 4])
def test_unreadable_items_have_uniform_probabilities(classes: int) -> None:
    unreadable = CODER.unreadable(classes)
    assert unreadable.score.tolist() == [1 / classes] * classes
    assert CODER.decode(unreadable.x, unreadable.y, unreadable.values).label.tolist() == list(range(classes))


def test_no_classes_have_no_candidates() -> None:
    assert len(CODER.unreadable(0).x) == 0


@pytest.mark.parametrize("transform", ALL)
def test_probabilities_do_not_depend_on_tta(transform: TTATransform) -> None:
    outputs = {"classes": np.array([0.2, 0.8])}
    assert CODER.invert_outputs(outputs, transform) is outputs


def test_truth_and_predictions_are_labels() -> None:
    labels = Labels(np.array([3, 1]))
    assert CODER.from_truth(labels) is labels
    assert (CODER.whole_item, CODER.ranked, TOP_K) == (True, True, 3)
