"""Tuning finds what was planted, and no item helps itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from tallymark.challenges.lyft.rule import RuleOptions as LyftReading
from tallymark.challenges.lyft.rule import score as lyft_score
from tallymark.challenges.ships.rule import RuleOptions as ShipsReading
from tallymark.challenges.ships.rule import score as ships_score
from tallymark.challenges.upcalls.rule import RuleOptions as CallsReading
from tallymark.challenges.upcalls.rule import score as calls_score
from tallymark.challenges.wheat.rule import RuleOptions, score
from tallymark.core.recipe import thresholds_by_class
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Boxes, Cuboids, Events, Labels, RotatedBoxes
from tallymark.geometry.rectangles import fill_rectangles
from tallymark.inference.pipeline import Candidates
from tallymark.inference.postprocess import postprocess
from tallymark.inference.tuning import (
    APART,
    CLASS_THRESHOLDS,
    COARSE_THRESHOLDS,
    IMAGE_THRESHOLDS,
    NMS_IOUS,
    THRESHOLDS,
    Tuning,
    cross_tuned,
    tune,
)
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.lidar.recipe import LidarRecipe
from tallymark.scoring.score import Score

BOXES = ImageRecipe().replace(task="boxes")


def rule(truth: Annotations[Any], found: Annotations[Any]) -> Score:
    return score(truth, found, RuleOptions())


def row(count: int, first: float = 0.0, gap: float = 20.0) -> np.ndarray:
    return np.array([[first + gap * k, 10, 10, 10] for k in range(count)], float)


def planted(true: float, false: float, name: str = "p", *, pictures: int = 2) -> tuple[Candidates, Annotations[Boxes]]:
    """In each picture three things that are found with confidence `true`, and three false ones with `false`."""
    items = Items.of([f"{name}{k}" for k in range(pictures)])
    boxes = Boxes.of(np.concatenate([row(3), row(3, 60)] * pictures))
    item = np.repeat(np.arange(pictures), 6)
    sure = np.tile(np.repeat([true, false], 3), pictures)
    found = Annotations.from_rows(items, item, boxes, label=np.zeros(len(item), int), score=sure)
    there = Annotations.from_rows(items, item[sure == true], boxes.take(np.flatnonzero(sure == true)))
    return Candidates(items, np.full((pictures, 2), 200.0), found=found, presence=np.ones(pictures)), there


@pytest.mark.parametrize(("true", "false"), [(0.7, 0.55), (0.3, 0.2), (0.79, 0.6)])
def test_a_planted_cut_is_found(true: float, false: float) -> None:
    raw, truth = planted(true, false)
    tuning = tune(raw, truth, BOXES, rule)
    assert false < tuning.recipe.score_threshold <= true
    assert tuning.score.value == 1
    assert tuning.recipe == BOXES.replace(score_threshold=tuning.recipe.score_threshold, nms_iou=tuning.recipe.nms_iou)


def test_where_the_rule_has_no_number_settings_stay() -> None:
    raw, truth = planted(0.7, 0.55)
    recipe = BOXES.replace(score_threshold=0.33, nms_iou=0.6)
    tuning = tune(raw, truth, recipe, lambda truth, found: replace(rule(truth, found), value=np.nan))
    assert tuning.recipe == recipe
    assert np.isnan(tuning.score.value)
    assert tuning.curve["score"].is_nan().all()


def test_the_curve_has_every_setting() -> None:
    raw, truth = planted(0.7, 0.5)
    tuning = tune(raw, truth, BOXES, rule)
    assert tuning.curve.columns == ["nms_iou", "image_threshold", "score_threshold", "score"]
    assert tuning.curve.height == len(NMS_IOUS) * len(THRESHOLDS)
    best = tuning.curve.filter(overlap=tuning.recipe.nms_iou, cut=tuning.recipe.score_threshold)
    assert best["score"].to_list() == [tuning.score.value]
    brief = tune(raw, truth, BOXES.replace(nms_iou=0.45, image_threshold=0.1), rule, thorough=False)
    assert brief.curve.height == len(COARSE_THRESHOLDS)
    assert (brief.recipe.nms_iou, brief.recipe.image_threshold) == (0.45, 0.1)


def test_a_planted_overlap_is_found() -> None:
    """Neighbours that overlap by 0.54 are two things each; at 0.5 one of them would go."""
    boxes = Boxes.of(np.array([[10, 10, 20, 20], [16, 10, 20, 20], [80, 10, 20, 20], [86, 10, 20, 20]]))
    items, item = Items.of(["a"]), np.zeros(4, int)
    found = Annotations.from_rows(items, item, boxes, label=item, score=np.array([0.9, 0.8, 0.9, 0.8]))
    raw = Candidates(items, np.full((1, 2), 200.0), found=found, presence=np.ones(1))
    tuning = tune(raw, Annotations.from_rows(items, item, boxes), BOXES, rule)
    assert tuning.recipe.nms_iou >= 0.6
    assert tuning.score.value == 1
    assert tune(raw, Annotations.from_rows(items, item, boxes), BOXES, rule, thorough=False).score.value < 1


def test_a_lucky_cut_between_bad_ones_does_not_win() -> None:
    """Each lone setting counts with its neighbours: the broad hill of 0.8 beats the single 1."""
    items, item = Items.of(["a"]), np.zeros(len(THRESHOLDS), int)
    found = Annotations.from_rows(items, item, Boxes.of(row(len(THRESHOLDS))), label=item, score=np.array(THRESHOLDS))
    raw = Candidates(items, np.full((1, 2), 2000.0), found=found, presence=np.ones(1))
    truth = Annotations.empty(items, found.shapes)

    def scripted(truth: Annotations[Any], found: Annotations[Any]) -> Score:
        cut = THRESHOLDS[-len(found)]  # one finding goes at every step
        value = 1.0 if cut == 0.6 else 0.8 if 0.29 < cut < 0.41 else 0.0
        return replace(rule(truth, found), value=value)

    assert 0.29 < tune(raw, truth, BOXES, scripted, thorough=False).recipe.score_threshold < 0.41


def test_lower_can_be_better() -> None:
    raw, truth = planted(0.7, 0.5)

    def missed(truth: Annotations[Any], found: Annotations[Any]) -> Score:
        good = rule(truth, found)
        return replace(good, value=1 - good.value, better="lower")

    tuning = tune(raw, truth, BOXES, missed)
    assert 0.5 < tuning.recipe.score_threshold <= 0.7
    assert tuning.score.value == 0


def test_a_planted_gate_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The empty chip has a finding as sure as the others: only presence tells it apart."""
    monkeypatch.setattr("tallymark.inference.tuning.CUTS", THRESHOLDS[::12])
    items, shape = Items.of(["full", "empty"]), (64, 64)
    ships = RotatedBoxes.of(np.array([[20, 20, 24, 8, 0.3], [40, 45, 24, 8, -0.4], [30, 30, 24, 8, 1.0]]))
    item, sure = np.array([0, 0, 1]), np.full(3, 0.9)
    found = Annotations.from_rows(items, item, ships, label=np.zeros(3, int), score=sure)
    masks, _ = fill_rectangles(ships.take(np.arange(2)), item[:2], sure[:2], shape)
    truth = Annotations.from_rows(items, item[:2], masks)
    raw = Candidates(items, np.full((2, 2), 64.0), found=found, presence=np.array([0.65, 0.35]))
    tuning = tune(raw, truth, BOXES.replace(task="masks"), lambda t, p: ships_score(t, p, ShipsReading(shape=shape)))
    assert 0.35 < tuning.recipe.image_threshold <= 0.65
    assert tuning.recipe.image_threshold in IMAGE_THRESHOLDS
    assert tuning.score.value == 1


def test_whole_pictures_have_nothing_to_tune() -> None:
    items = Items.of(["a", "b"])
    raw = Candidates(items, np.ones((2, 2)), chances=np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]]))
    truth, asked = Annotations.from_rows(items, np.arange(2), Labels(np.array([0, 2]))), list[int]()

    def hits(truth: Annotations[Any], found: Annotations[Any]) -> Score:
        asked.append(len(found))
        first = found.shapes.label[found.offsets[:-1]]
        value = float((first == truth.shapes.label).mean())
        return Score(
            "food", value, "higher", RuleOptions(), items=truth.items.ids.to_frame(), total=lambda weight: value
        )

    recipe = ImageRecipe().replace(task="labels")
    tuning = tune(raw, truth, recipe, hits)
    assert isinstance(tuning, Tuning)
    assert tuning.recipe == recipe
    assert (tuning.score.value, asked) == (1.0, [6])


def test_each_part_is_settled_by_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tuned on itself, either part would be perfect; the other's cut lets in false ones, or nothing at all."""
    monkeypatch.setattr("tallymark.inference.tuning.OVERLAPS", NMS_IOUS[:1])
    (sure, sure_truth), (shy, shy_truth) = planted(0.7, 0.5, "a"), planted(0.3, 0.15, "b")
    for raw, truth in ((sure, sure_truth), (shy, shy_truth)):
        assert tune(raw, truth, BOXES, rule).score.value == 1
    crossed = cross_tuned([sure, shy], [sure_truth, shy_truth], BOXES, rule)
    by_item = dict(crossed.items.select("item", "score").iter_rows())
    assert by_item == {"a0": 0.5, "a1": 0.5, "b0": 0.0, "b1": 0.0}
    assert crossed.value == 0.25


def test_no_part_is_tuned_with_its_own_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tallymark.inference.tuning.CUTS", THRESHOLDS[::4])
    parts = [planted(0.7, 0.5, name, pictures=1) for name in "abc"]
    seen: list[str] = []

    def spy(truth: Annotations[Any], found: Annotations[Any]) -> Score:
        assert truth.items.ids.to_list() == found.items.ids.to_list()
        seen.append("".join(truth.items.ids.str.head(1).to_list()))
        return rule(truth, found)

    crossed = cross_tuned([raw for raw, _ in parts], [truth for _, truth in parts], BOXES, spy)
    assert list(dict.fromkeys(seen)) == ["bc", "ac", "ab", "abc"]
    assert seen.count("abc") == 1
    assert crossed.value == 1


def test_each_class_has_a_cut_of_its_own() -> None:
    """Cars are true from 0.6 on, and buses from 0.2 on: no common cut is right for both."""
    items, classes = Items.of(["a", "b"]), ("car", "bus", "tram")
    label = np.tile(np.repeat([0, 1], 8), 2)
    sure = np.tile([0.9, 0.8, 0.7, 0.62, 0.5, 0.4, 0.3, 0.25, 0.9, 0.5, 0.4, 0.3, 0.16, 0.14, 0.12, 0.1], 2)
    true = np.where(label == 0, sure > 0.6, sure > 0.2)
    volumes = Cuboids.of([[10 * (k % 16), 0, 0, 2, 4, 2, 0] for k in range(32)])  # type: ignore[arg-type]
    item = np.repeat([0, 1], 16)
    found = Annotations.from_rows(items, item, volumes, label=label, score=sure, classes=classes)
    truth = replace(found.filter(true), score=None)
    raw = Candidates(items, np.full((2, 2), 200.0), found=found, presence=np.ones(2))

    def official(truth: Annotations[Any], found: Annotations[Any]) -> Score:
        return lyft_score(truth, found, LyftReading())

    recipe = LidarRecipe()
    brief, tuning = (tune(raw, truth, recipe, official, thorough=thorough) for thorough in (False, True))
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
    assert set(tuning.curve["nms_iou"].drop_nulls()) == set(APART["cuboids"])  # no two stand in one place
    assert postprocess(raw, tuning.recipe).counts.tolist() == [8, 8]
    assert postprocess(raw, tuning.recipe.replace(score_threshold=0.9, class_thresholds="")).counts.tolist() == [2, 2]


def test_masks_that_are_told_too_small_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tallymark.inference.tuning.CUTS", THRESHOLDS[::12])
    shape, items = (96, 96), Items.of(["a.jpg", "b.jpg"])
    true = RotatedBoxes.of([[30.0, 30.0, 40.0, 12.0, 0.4], [60.0, 50.0, 50.0, 16.0, -1.0]])
    told = replace(true, length=true.length / 1.2, width=true.width / 1.2)
    item, sure = np.arange(2), np.array([0.8, 0.7])
    masks, _ = fill_rectangles(true, item, sure, shape)
    found = Annotations.from_rows(items, item, told, label=np.zeros(2, int), score=sure)
    raw = Candidates(items, np.full((2, 2), 96.0), found=found, presence=np.ones(2))
    truth = Annotations.from_rows(items, item, masks)
    tuning = tune(raw, truth, BOXES.replace(task="masks"), lambda t, p: ships_score(t, p, ShipsReading(shape=shape)))
    assert tuning.recipe.mask_scale == pytest.approx(1.2, abs=0.051)
    assert tuning.score.value > 0.9
    assert tuning.curve.filter(grow=tuning.recipe.mask_scale)["score"].max() == tuning.score.value


def test_moments_do_not_overlap() -> None:
    """So no overlap is tried: each would score the same."""
    items, item = Items.of(["a"]), np.zeros(4, int)
    calls = Events(np.array([10.0, 20, 30, 40]))
    found = Annotations.from_rows(items, item, calls, label=item, score=np.array([0.9, 0.8, 0.4, 0.3]))
    raw = Candidates(items, np.array([(60, np.nan)]), found=found, presence=np.ones(1))
    truth, recipe = Annotations.from_rows(items, item[:2], calls.take(np.arange(2))), AudioRecipe()
    tuning = tune(raw, truth, recipe, lambda t, p: calls_score(t, p, CallsReading()))
    assert 0.4 < tuning.recipe.score_threshold <= 0.8
    assert tuning.curve.height == len(THRESHOLDS)
    assert tuning.recipe.nms_iou == recipe.nms_iou
