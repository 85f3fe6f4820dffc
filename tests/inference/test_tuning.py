"""Tuning selects the settings that were planted, and no item is post-processed by settings tuned on itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from tallymark.challenges.food.rule import RuleOptions as FoodOptions
from tallymark.challenges.food.rule import score as food_score
from tallymark.challenges.lyft.rule import RuleOptions as LyftOptions
from tallymark.challenges.lyft.rule import score as lyft_score
from tallymark.challenges.ships.rule import RuleOptions as ShipsOptions
from tallymark.challenges.ships.rule import score as ships_score
from tallymark.challenges.upcalls.rule import RuleOptions as UpcallsOptions
from tallymark.challenges.upcalls.rule import score as upcalls_score
from tallymark.challenges.wheat.rule import RuleOptions, score
from tallymark.core.recipe import thresholds_by_class
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.detector.box_coder import BoxCoder
from tallymark.detector.coders import CODERS
from tallymark.detector.label_coder import scale_probabilities
from tallymark.geometry import Boxes, Cuboids, Events, Labels, RotatedBoxes
from tallymark.geometry.rectangles import fill_rectangles
from tallymark.inference.candidates import Candidates
from tallymark.inference.held_out import evaluate_held_out
from tallymark.inference.postprocess import postprocess
from tallymark.inference.temperature import log_losses
from tallymark.inference.tuning import (
    CLASS_THRESHOLDS,
    COARSE_THRESHOLDS,
    THRESHOLDS,
    cross_tune,
    tune,
)
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.lidar.recipe import LidarRecipe
from tallymark.scoring.score import Score

BOXES = ImageRecipe().replace(task="boxes")


def rule(truth: Annotations[Any], predictions: Annotations[Any]) -> Score:
    return score(truth, predictions, RuleOptions())


def row(count: int, first: float = 0.0, gap: float = 20.0) -> np.ndarray:
    return np.array([[first + gap * k, 10, 10, 10] for k in range(count)], float)


def planted(true: float, false: float, name: str = "p", *, images: int = 2) -> tuple[Candidates, Annotations[Boxes]]:
    """In each image three true candidates of score `true`, and three false positives of score `false`."""
    items = Items.of([f"{name}{k}" for k in range(images)])
    boxes = Boxes.of(np.concatenate([row(3), row(3, 60)] * images))
    item = np.repeat(np.arange(images), 6)
    confidence = np.tile(np.repeat([true, false], 3), images)
    objects = Annotations.from_rows(items, item, boxes, label=np.zeros(len(item), int), score=confidence)
    is_true = np.flatnonzero(confidence == true)
    truth = Annotations.from_rows(items, item[is_true], boxes.take(is_true))
    return Candidates(objects, np.full((images, 2), 200.0), np.ones(images)), truth


@pytest.mark.parametrize(("true", "false"), [(0.7, 0.55), (0.3, 0.2), (0.79, 0.6)])
def test_a_planted_score_threshold_is_selected(true: float, false: float) -> None:
    candidates, truth = planted(true, false)
    tuning = tune(candidates, truth, BOXES, rule)
    assert false < tuning.recipe.score_threshold <= true
    assert tuning.score.value == 1
    assert tuning.recipe == BOXES.replace(score_threshold=tuning.recipe.score_threshold, nms_iou=tuning.recipe.nms_iou)


def test_settings_stay_where_the_rule_has_no_value() -> None:
    candidates, truth = planted(0.7, 0.55)
    recipe = BOXES.replace(score_threshold=0.33, nms_iou=0.6)
    tuning = tune(candidates, truth, recipe, lambda truth, objects: replace(rule(truth, objects), value=np.nan))
    assert tuning.recipe == recipe
    assert np.isnan(tuning.score.value)
    assert tuning.curve["score"].is_nan().all()


def test_the_curve_has_a_row_for_every_setting() -> None:
    candidates, truth = planted(0.7, 0.5)
    tuning = tune(candidates, truth, BOXES, rule)
    assert tuning.curve.columns == ["nms_iou", "image_threshold", "score_threshold", "score"]
    assert tuning.curve.height == len(CODERS["boxes"].search["nms_iou"]) * len(THRESHOLDS)
    best = tuning.curve.filter(nms_iou=tuning.recipe.nms_iou, score_threshold=tuning.recipe.score_threshold)
    assert best["score"].to_list() == [tuning.score.value]
    brief = tune(candidates, truth, BOXES.replace(nms_iou=0.45, image_threshold=0.1), rule, thorough=False)
    assert brief.curve.height == len(COARSE_THRESHOLDS)
    assert (brief.recipe.nms_iou, brief.recipe.image_threshold) == (0.45, 0.1)


def test_a_planted_nms_iou_is_selected() -> None:
    """Neighbours with an IoU of 0.54 are two objects; an NMS IoU of 0.5 would suppress one of them."""
    boxes = Boxes.of(np.array([[10, 10, 20, 20], [16, 10, 20, 20], [80, 10, 20, 20], [86, 10, 20, 20]]))
    items = Items.of(["a"])
    item = np.zeros(4, int)
    objects = Annotations.from_rows(items, item, boxes, label=item, score=np.array([0.9, 0.8, 0.9, 0.8]))
    candidates = Candidates(objects, np.full((1, 2), 200.0), np.ones(1))
    tuning = tune(candidates, Annotations.from_rows(items, item, boxes), BOXES, rule)
    assert tuning.recipe.nms_iou >= 0.6
    assert tuning.score.value == 1
    assert tune(candidates, Annotations.from_rows(items, item, boxes), BOXES, rule, thorough=False).score.value < 1


def test_a_single_lucky_threshold_is_not_selected() -> None:
    """Scores are smoothed over neighbouring thresholds: a plateau of 0.8 beats a single 1."""
    items = Items.of(["a"])
    item = np.zeros(len(THRESHOLDS), int)
    objects = Annotations.from_rows(items, item, Boxes.of(row(len(THRESHOLDS))), label=item, score=np.array(THRESHOLDS))
    candidates = Candidates(objects, np.full((1, 2), 2000.0), np.ones(1))
    truth = Annotations.empty(items, objects.shapes)

    def scripted(truth: Annotations[Any], predictions: Annotations[Any]) -> Score:
        threshold = THRESHOLDS[-len(predictions)]  # each threshold removes one more
        value = 1.0 if threshold == 0.6 else 0.8 if 0.29 < threshold < 0.41 else 0.0
        return replace(rule(truth, predictions), value=value)

    assert 0.29 < tune(candidates, truth, BOXES, scripted, thorough=False).recipe.score_threshold < 0.41


def test_a_lower_score_can_be_better() -> None:
    candidates, truth = planted(0.7, 0.5)

    def error(truth: Annotations[Any], predictions: Annotations[Any]) -> Score:
        good = rule(truth, predictions)
        return replace(good, value=1 - good.value, better="lower")

    tuning = tune(candidates, truth, BOXES, error)
    assert 0.5 < tuning.recipe.score_threshold <= 0.7
    assert tuning.score.value == 0


def test_a_planted_image_threshold_is_selected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The empty chip has a candidate of the same score as the others: only presence distinguishes it."""
    monkeypatch.setattr("tallymark.inference.tuning.THRESHOLDS", THRESHOLDS[::12])
    items = Items.of(["full", "empty"])
    shape = (64, 64)
    ships = RotatedBoxes.of(np.array([[20, 20, 24, 8, 0.3], [40, 45, 24, 8, -0.4], [30, 30, 24, 8, 1.0]]))
    item = np.array([0, 0, 1])
    confidence = np.full(3, 0.9)
    objects = Annotations.from_rows(items, item, ships, label=np.zeros(3, int), score=confidence)
    masks, _ = fill_rectangles(ships.take(np.arange(2)), item[:2], confidence[:2], shape)
    truth = Annotations.from_rows(items, item[:2], masks)
    candidates = Candidates(objects, np.full((2, 2), 64.0), np.array([0.65, 0.35]))
    tuning = tune(
        candidates, truth, BOXES.replace(task="masks"), lambda t, p: ships_score(t, p, ShipsOptions(shape=shape))
    )
    assert 0.35 < tuning.recipe.image_threshold <= 0.65
    assert tuning.recipe.image_threshold in CODERS["masks"].search["image_threshold"]
    assert tuning.score.value == 1


def labelled(confidence: float, correct: int, name: str = "p") -> tuple[Candidates, Annotations[Labels]]:
    """20 items of three classes, all predicted with one confidence, of which so many are right."""
    items = Items.of([f"{name}{k}" for k in range(20)])
    label = np.tile(np.arange(3), 20)
    rest = (1 - confidence) / 2
    probabilities = np.tile([confidence, rest, rest], 20)
    objects = Annotations.from_rows(items, np.repeat(np.arange(20), 3), Labels(label), label=label, score=probabilities)
    true = np.where(np.arange(20) < correct, 0, 1)
    truth = Annotations.from_rows(items, np.arange(20), Labels(true), label=true, classes=("a", "b", "c"))
    return Candidates(objects, np.ones((20, 2)), np.ones(20)), truth


def food_rule(truth: Annotations[Any], predictions: Annotations[Any]) -> Score:
    return food_score(truth, predictions, FoodOptions(num_classes=3))


LABELS = ImageRecipe().replace(task="labels")


@pytest.mark.parametrize("confidence", [0.5, 0.97])
def test_the_temperature_of_labels_makes_confidence_the_share_of_hits(confidence: float) -> None:
    candidates, truth = labelled(confidence, correct=16)
    tuning = tune(candidates, truth, LABELS, food_rule)
    assert tuning.recipe == LABELS.replace(temperature=tuning.recipe.temperature)
    assert (tuning.recipe.temperature < 1) == (confidence < 0.8)
    predicted = postprocess(candidates, tuning.recipe)
    assert predicted.scores[0] == pytest.approx(0.8, abs=0.03)
    assert predicted.scores.reshape(20, 3).sum(axis=1) == pytest.approx(1)
    np.testing.assert_array_equal(predicted.shapes.label, postprocess(candidates, LABELS).shapes.label)
    assert tuning.curve.sort("log_loss")["temperature"][0] == tuning.recipe.temperature
    assert tuning.curve["score"].n_unique() == 1
    given = LABELS.replace(temperature=3)
    assert tune(candidates, truth, given, food_rule, fixed=("temperature",)).recipe == given
    assert tune(candidates, truth, given, food_rule, thorough=False).recipe == given


def test_the_calibration_error_of_labels_is_measured_by_temperatures_of_other_folds() -> None:
    parts, truths = zip(*(labelled(0.5, correct, f"fold{correct}") for correct in (17, 12)), strict=True)
    score = evaluate_held_out(parts, truths, LABELS, food_rule).score
    assert score.details["calibration_error_untuned"] == pytest.approx(0.225)
    assert score.details["calibration_error"] == pytest.approx(0.25, abs=0.03)  # each is as certain as the other right
    score = evaluate_held_out(parts[:1], truths[:1], LABELS, food_rule).score
    assert score.details["calibration_error"] < 0.1 < score.details["calibration_error_untuned"]


def test_log_losses_are_those_of_scaled_probabilities() -> None:
    probabilities = np.random.default_rng(0).dirichlet(np.ones(4), 9)
    labels = np.arange(9) % 5 - 1  # one in five is not known
    item = np.repeat(np.arange(9), 4)
    for temperature in (0.25, 1.0, 3.0):
        scaled = scale_probabilities(probabilities.ravel(), item, temperature).reshape(9, 4)
        wanted = -np.log(scaled[np.arange(9), labels])[labels >= 0].mean()
        assert log_losses(probabilities, labels, [temperature])[0] == pytest.approx(wanted)
    assert np.isnan(log_losses(np.empty((0, 4)), np.empty(0, int), [1.0])).all()
    assert np.isfinite(log_losses(np.eye(3), np.array([1, 2, 0]), [0.05])).all()


def test_each_part_is_post_processed_by_settings_tuned_on_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tuned on itself, either part would be perfect; with the other's threshold it has false positives, or nothing."""
    monkeypatch.setattr(BoxCoder, "search", {"nms_iou": (0.3,)})
    high, high_truth = planted(0.7, 0.5, "a")
    low, low_truth = planted(0.3, 0.15, "b")
    for candidates, truth in ((high, high_truth), (low, low_truth)):
        assert tune(candidates, truth, BOXES, rule).score.value == 1
    crossed = cross_tune([high, low], [high_truth, low_truth], BOXES, rule)
    by_item = dict(crossed.score.items.select("item", "score").iter_rows())
    assert by_item == {"a0": 0.5, "a1": 0.5, "b0": 0.0, "b1": 0.0}
    assert crossed.score.value == 0.25
    assert [recipe.score_threshold for recipe in crossed.recipes] == [
        tune(low, low_truth, BOXES, rule).recipe.score_threshold,
        tune(high, high_truth, BOXES, rule).recipe.score_threshold,
    ]


def test_no_part_is_tuned_with_its_own_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tallymark.inference.tuning.THRESHOLDS", THRESHOLDS[::4])
    parts = [planted(0.7, 0.5, name, images=1) for name in "abc"]
    tuned_on: list[str] = []

    def recorded(truth: Annotations[Any], predictions: Annotations[Any]) -> Score:
        assert truth.items.ids.to_list() == predictions.items.ids.to_list()
        tuned_on.append("".join(truth.items.ids.str.head(1).to_list()))
        return rule(truth, predictions)

    crossed = cross_tune([candidates for candidates, _ in parts], [truth for _, truth in parts], BOXES, recorded)
    assert list(dict.fromkeys(tuned_on)) == ["bc", "ac", "ab", "abc"]
    assert tuned_on.count("abc") == 1
    assert crossed.score.value == 1


def test_each_class_gets_its_own_threshold() -> None:
    """Cars are true above 0.6, and buses above 0.2: no common threshold fits both."""
    items = Items.of(["a", "b"])
    classes = ("car", "bus", "tram")
    label = np.tile(np.repeat([0, 1], 8), 2)
    confidence = np.tile([0.9, 0.8, 0.7, 0.62, 0.5, 0.4, 0.3, 0.25, 0.9, 0.5, 0.4, 0.3, 0.16, 0.14, 0.12, 0.1], 2)
    true = np.where(label == 0, confidence > 0.6, confidence > 0.2)
    cuboids = Cuboids.of([[10 * (k % 16), 0, 0, 2, 4, 2, 0] for k in range(32)])
    item = np.repeat([0, 1], 16)
    objects = Annotations.from_rows(items, item, cuboids, label=label, score=confidence, classes=classes)
    truth = replace(objects.filter(true), score=None)
    candidates = Candidates(objects, np.full((2, 2), 200.0), np.ones(2))

    def official(truth: Annotations[Any], predictions: Annotations[Any]) -> Score:
        return lyft_score(truth, predictions, LyftOptions())

    recipe = LidarRecipe()
    brief, tuning = (tune(candidates, truth, recipe, official, thorough=thorough) for thorough in (False, True))
    assert brief.recipe.class_thresholds == ""
    assert brief.score.value < 0.9
    assert tuning.score.value == 1
    car, bus, tram = thresholds_by_class(tuning.recipe, classes)
    assert 0.5 < car <= 0.62
    assert 0.16 < bus <= 0.3
    assert tram == tuning.recipe.score_threshold
    tried = tuning.curve.filter(pl.col("class") == "bus")
    assert tried["score_threshold"].to_list() == list(CLASS_THRESHOLDS)
    assert tried["score"].max() == 1
    assert set(tuning.curve["nms_iou"].drop_nulls()) == set(CODERS["cuboids"].search["nms_iou"])
    assert postprocess(candidates, tuning.recipe).counts.tolist() == [8, 8]
    again = tune(candidates, truth, tuning.recipe.replace(class_thresholds="car 0.9, bus 0.9"), official)
    assert again.recipe == tuning.recipe  # the thresholds of an earlier tuning are no start
    assert postprocess(candidates, tuning.recipe.replace(score_threshold=0.9, class_thresholds="")).counts.tolist() == [
        2,
        2,
    ]


def test_masks_that_are_predicted_too_small_are_scaled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tallymark.inference.tuning.THRESHOLDS", THRESHOLDS[::12])
    shape = (96, 96)
    items = Items.of(["a.jpg", "b.jpg"])
    true = RotatedBoxes.of([[30.0, 30.0, 40.0, 12.0, 0.4], [60.0, 50.0, 50.0, 16.0, -1.0]])
    predicted = replace(true, length=true.length / 1.2, width=true.width / 1.2)
    item = np.arange(2)
    confidence = np.array([0.8, 0.7])
    masks, _ = fill_rectangles(true, item, confidence, shape)
    objects = Annotations.from_rows(items, item, predicted, label=np.zeros(2, int), score=confidence)
    candidates = Candidates(objects, np.full((2, 2), 96.0), np.ones(2))
    truth = Annotations.from_rows(items, item, masks)
    tuning = tune(
        candidates, truth, BOXES.replace(task="masks"), lambda t, p: ships_score(t, p, ShipsOptions(shape=shape))
    )
    assert tuning.recipe.mask_scale == pytest.approx(1.2, abs=0.051)
    assert tuning.score.value > 0.9
    assert tuning.curve.filter(mask_scale=tuning.recipe.mask_scale)["score"].max() == tuning.score.value


def test_no_nms_iou_is_tuned_for_events() -> None:
    """Events do not overlap: each value would score the same."""
    items = Items.of(["a"])
    item = np.zeros(4, int)
    calls = Events(np.array([10.0, 20, 30, 40]))
    objects = Annotations.from_rows(items, item, calls, label=item, score=np.array([0.9, 0.8, 0.4, 0.3]))
    candidates = Candidates(objects, np.array([(60, np.nan)]), np.ones(1))
    truth = Annotations.from_rows(items, item[:2], calls.take(np.arange(2)))
    recipe = AudioRecipe()
    tuning = tune(candidates, truth, recipe, lambda t, p: upcalls_score(t, p, UpcallsOptions()))
    assert 0.4 < tuning.recipe.score_threshold <= 0.8
    assert tuning.curve.height == len(THRESHOLDS)
    assert tuning.recipe.nms_iou == recipe.nms_iou
