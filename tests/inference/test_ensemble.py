"""Ensembles: what several models agree on is right more often than what one of them says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import tallymark
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.detector.label_coder import top_k
from tallymark.geometry import Boxes, Events, Labels
from tallymark.inference.ensemble import Ensemble, FusionSettings, Member, calibrated_scores
from tallymark.inference.ensemble_tuning import cross_validate, halves
from tallymark.scoring.compare import compare_scores
from tests.inference.noisy_models import (
    CHIP,
    as_masks,
    noisy,
    noisy_labels,
    true_boxes,
    true_cuboids,
    true_events,
    true_labels,
    true_ships,
)


def as_it_is(objects: Annotations[Any]) -> Annotations[Any]:
    shapes, kept = objects.shapes.disjoint(objects.item, objects.scores)
    return replace(objects.filter(np.isin(np.arange(len(objects)), kept)), shapes=shapes)


def ensemble_of(several: list[Annotations[Any]], **given: Any) -> Ensemble:
    members = tuple(Member(f"model {number}", one) for number, one in enumerate(several))
    return Ensemble(members, **({"to_submission": as_it_is} | given))


def made(task: str) -> tuple[str, Annotations[Any], Ensemble, dict[str, Any]]:
    """A challenge, its truth, three models of it, and rule options."""
    if task == "labels":
        labels = true_labels(300)
        models: list[Annotations[Any]] = [noisy_labels(labels, seed) for seed in range(3)]
        return "food", labels, ensemble_of(models, to_submission=lambda one: top_k(one, 3)), {}
    if task == "rankings":
        labels = true_labels(300)
        lists = [replace(top_k(noisy_labels(labels, seed), 3), score=None) for seed in range(3)]
        return "food", labels, ensemble_of(lists, to_submission=lambda one: top_k(one, 3), scored=False), {}
    if task == "rotated boxes":
        masks, boxes = true_ships(50)
        models = [noisy(boxes, seed) for seed in range(3)]
        return "ships", masks, ensemble_of(models, to_submission=as_masks), {"shape": CHIP}
    if task == "masks":  # as submissions: without scores, after a threshold
        masks, boxes = true_ships(50)
        found = [noisy(boxes, seed) for seed in range(3)]
        models = [replace(as_masks(one.filter(one.scores > 0.4)), score=None) for one in found]
        return "ships", masks, ensemble_of(models, scored=False), {"shape": CHIP}
    name, make = {
        "boxes": ("wheat", true_boxes),
        "cuboids": ("lyft", true_cuboids),
        "events": ("upcalls", true_events),
    }[task]
    truth: Annotations[Any] = make(24)  # type: ignore[operator]
    return name, truth, ensemble_of([noisy(truth, seed) for seed in range(3)]), {}


@pytest.mark.parametrize("task", ["boxes", "rotated boxes", "masks", "cuboids", "events", "labels", "rankings"])
def test_three_models_are_better_than_the_best_of_them(task: str) -> None:
    name, truth, ensemble, options = made(task)
    what = tallymark.challenge(name)
    chosen = what.parse_rule_options(options)

    def rule(expected: Annotations[Any], predicted: Annotations[Any]) -> Any:
        return what.score(expected, predicted, chosen)

    part = halves(truth.items, truth.items.ids, 0)
    alone: dict[str, Any] = {"method": ensemble.methods[0]}
    if ensemble.objects.shapes.localized:
        alone = {"method": "nms", "iou": 1.0, "seconds": 0.0}
    singles = [cross_validate(ensemble.only(number), truth, rule, alone, part).score for number in range(3)]
    fused = cross_validate(ensemble, truth, rule, {}, part)
    sign = 1 if fused.score.better == "higher" else -1
    best = max(singles, key=lambda one: sign * one.value)
    comparison = compare_scores(best, fused.score, resamples=500)
    assert comparison.verdict == "B is better", (best.value, fused.score.value, fused.settings)
    assert len(fused.settings.weights) == 3


def boxes(*rows: tuple[float, ...]) -> Annotations[Boxes]:
    """Boxes of one item: x, y, width, height, score."""
    values = np.array(rows, float).reshape(-1, 5)
    return Annotations.from_rows(
        Items.of(["a"]), np.zeros(len(values), np.int64), Boxes.of(values[:, :4]), score=values[:, 4]
    )


def test_the_score_says_how_many_models_agree() -> None:
    both = boxes((0, 0, 10, 10, 0.8))
    first = boxes((0, 0, 10, 10, 0.6), (50, 50, 10, 10, 0.9))
    fused = ensemble_of([first, both]).fuse(FusionSettings("wbf", (1, 1), iou=0.5))
    assert fused.scores.tolist() == pytest.approx([0.7, 0.45])
    fused = ensemble_of([first, both]).fuse(FusionSettings("wbf", (1, 3), iou=0.5))
    assert fused.scores.tolist() == pytest.approx([(0.6 + 3 * 0.8) / 4, 0.9 / 4])


def test_shapes_are_means_weighted_by_score_and_model() -> None:
    several = [boxes((0, 0, 10, 10, 0.5)), boxes((2, 0, 10, 10, 0.5))]
    fused = ensemble_of(several).fuse(FusionSettings("wbf", (1, 3), iou=0.5))
    assert fused.shapes.x.tolist() == pytest.approx([1.5])
    kept = ensemble_of(several).fuse(FusionSettings("nms", (1, 3), iou=0.5))
    assert kept.shapes.x.tolist() == [2]


def test_a_model_votes_once_however_often_it_says_so() -> None:
    many = boxes((0, 0, 10, 10, 0.6), (0, 0, 10, 11, 0.6), (0, 0, 11, 10, 0.6))
    fused = ensemble_of([many, boxes()]).fuse(FusionSettings("wbf", (1, 1), iou=0.5))
    assert fused.scores.tolist() == pytest.approx([0.3])


def test_a_label_that_a_row_repeats_has_one_vote() -> None:
    def ranking(*labels: int) -> Annotations[Labels]:
        return Annotations.from_rows(Items.of(["a"]), np.zeros(len(labels), np.int64), Labels(np.array(labels)))

    ensemble = ensemble_of([ranking(7, 7, 7), ranking(5, 4, 3)], scored=False)
    fused = ensemble.fuse(FusionSettings("votes", (1, 2)))
    assert fused.shapes.label.tolist() == [5, 4, 7, 3]
    assert fused.scores.tolist() == pytest.approx([2 / 3, 1 / 3, 1 / 3, 2 / 9])


def test_a_model_of_weight_0_is_left_out() -> None:
    several = [boxes((0, 0, 10, 10, 0.5)), boxes((50, 50, 10, 10, 0.9))]
    for method in ("wbf", "nms", "soft_nms"):
        fused = ensemble_of(several).fuse(FusionSettings(method, (1, 0), iou=0.5))
        assert (fused.shapes.x.tolist(), fused.scores.tolist()) == ([0], [0.5])


def test_events_cluster_in_time() -> None:
    def events(times: list[float], scores: list[float]) -> Annotations[Events]:
        item = np.zeros(len(times), np.int64)
        return Annotations.from_rows(Items.of(["a"]), item, Events(np.array(times, float)), score=np.array(scores))

    several = [events([10, 100], [0.8, 0.4]), events([11, 30], [0.4, 0.6])]
    fused = ensemble_of(several).fuse(FusionSettings("wbf", (1, 1), seconds=1.5))
    assert fused.shapes.time.tolist() == pytest.approx([10 + 1 / 3, 30, 100])
    assert fused.scores.tolist() == pytest.approx([0.6, 0.3, 0.2])
    kept = ensemble_of(several).fuse(FusionSettings("nms", (1, 1), seconds=1.5))
    assert sorted(kept.shapes.time.tolist()) == [10, 30, 100]
    assert len(ensemble_of(several).fuse(FusionSettings("wbf", (1, 1), seconds=0.5))) == 4


def test_labels_are_averaged_or_vote_by_rank() -> None:
    def labels(scores: list[float]) -> Annotations[Labels]:
        number = np.arange(3)
        return Annotations.from_rows(Items.of(["a"]), 0 * number, Labels(number), label=number, score=np.array(scores))

    several = [labels([0.5, 0.4, 0.1]), labels([0.0, 0.4, 0.6])]
    orders = {"mean": [1, 2, 0], "geometric": [1, 2, 0], "votes": [2, 0, 1]}
    for method, order in orders.items():
        fused = ensemble_of(several).fuse(FusionSettings(method, (1, 1.01)))  # type: ignore[arg-type]
        assert fused.shapes.label.tolist() == order, method


def test_calibration_keeps_the_order_and_brings_scores_to_one_scale() -> None:
    truth = true_boxes(10)
    first = noisy(truth, 0)
    second = replace(first, score=first.scores**3)
    members = [Member("a", first, np.array([0.5])), Member("b", second, np.array([0.125]))]
    for calibration in ("threshold", "rank"):
        ours, theirs = calibrated_scores(members, calibration)  # type: ignore[arg-type]
        assert (np.argsort(ours) == np.argsort(first.scores)).all()
        assert ((ours >= 0.5) == (theirs >= 0.5)).all() or calibration == "rank"
    np.testing.assert_allclose(ours, theirs)


def test_halves_keep_groups_together() -> None:
    items = Items.of([str(k) for k in range(20)])
    group = pl.Series([f"field {k // 5}" for k in range(20)])
    half = halves(items, group, 0)
    assert np.bincount(half).tolist() == [10, 10]
    assert not set(group.filter(pl.Series(half == 0))) & set(group.filter(pl.Series(half == 1)))
    alone = halves(items, pl.Series(["one"] * 20), 0)  # one group only: items are dealt out
    assert np.bincount(alone).tolist() == [10, 10]
