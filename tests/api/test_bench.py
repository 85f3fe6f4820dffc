"""What `bench` makes of its measurements, where the model has a threshold for each class."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tallymark
from tallymark.api.bench import _scored
from tallymark.challenges.lyft.dialect import CLASSES
from tallymark.challenges.lyft.rule import RuleOptions, score
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Cuboids
from tallymark.inference.benchmark import Measurement
from tallymark.inference.candidates import Candidates
from tallymark.inference.predictor import Predictor
from tallymark.inference.timing import Setting, Timing, measure
from tallymark.modalities.lidar.recipe import LidarRecipe
from tallymark.scoring.score import Score
from tests.untrained import untrained

RECIPE = LidarRecipe().replace(score_threshold=0.6, class_thresholds="car 0.65, bus 0.65")


def rule(truth: Annotations[Any], predictions: Annotations[Any]) -> Score:
    return score(truth, predictions, RuleOptions())


@pytest.fixture
def cars() -> tuple[Candidates, Annotations[Cuboids]]:
    """Four sweeps with objects that are true above 0.5, and false below."""
    confidence = np.tile([0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1], 4)
    cuboids = Cuboids.of([[10 * k, 0, 0, 2, 4, 2, 0] for k in range(32)])
    items, item = Items.of(["a", "b", "c", "d"]), np.repeat(np.arange(4), 8)
    label = np.tile([0, 1], 16)
    objects = Annotations.from_rows(items, item, cuboids, label=label, score=confidence, classes=("car", "bus"))
    truth = replace(objects.filter(confidence > 0.5), score=None)
    return Candidates(objects, np.full((4, 2), 1000.0), np.ones(4)), truth


def test_the_threshold_of_a_speed_is_tuned_for_all_classes(cars: tuple[Candidates, Annotations[Cuboids]]) -> None:
    """`predict` takes it in place of the thresholds of single classes, under which it would be the lowest tried."""
    candidates, truth = cars
    timing = Timing(Setting("onnxruntime", {"tta": 1}), RECIPE, seconds=[1.0], found=[candidates])
    scored = _scored(Measurement("onnxruntime", {"tta": 1}, 1.0, 1.0), timing, truth, rule)
    assert scored.score == pytest.approx(0.75)  # without the objects at 0.6
    assert scored.tuned == 1
    assert scored.threshold is not None
    assert 0.4 < scored.threshold <= 0.6


def test_a_threshold_that_is_given_holds_for_all_classes(sets: Path, tmp_path: Path) -> None:
    """The recipe of the scores is that of the predictions."""
    by_class = ", ".join(f"{name} 0.9" for name in CLASSES)
    predictor = Predictor([untrained("lyft", tmp_path / "model.onnx", class_thresholds=by_class)])
    catalog = tallymark.read("lyft", sets / "lyft").with_media().select(np.arange(1))
    for fixed, expected in (({}, by_class), ({"score_threshold": 0.1}, "")):
        [timing] = measure({"onnxruntime": predictor}, catalog, [Setting("onnxruntime", {"tta": 1})], fixed, 1)
        assert timing.recipe.class_thresholds == expected
