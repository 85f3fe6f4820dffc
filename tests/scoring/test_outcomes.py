"""Outcomes of predictions and truths, against a slow implementation that reads like the definitions."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tallymark.core.registry import challenge
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Boxes, Events, Labels
from tallymark.scoring.outcomes import PREDICTION_OUTCOMES, Outcomes
from tests.reference import greedy
from tests.scoring.crowds import crowd, label_crowd
from tests.scoring.test_matches import MATCHING

CASES: list[tuple[str, dict[str, Any]]] = [
    *product(("wheat", "ships", "lyft"), MATCHING),
    ("lyft", {"class_mode": "agnostic"}),
    ("lyft", {"class_mode": "per_class_mean"}),
    ("lyft", {"metric": "sdk"}),
]


def outcomes_of(name: str, truth: Annotations[Any], predicted: Annotations[Any], **options: Any) -> Outcomes:
    what = challenge(name)
    found = what.score(truth, predicted, what.rule_options(**options)).outcomes
    assert found is not None
    return found


def names(outcomes: Outcomes) -> list[str]:
    return [PREDICTION_OUTCOMES[code] for code in outcomes.prediction]


def slow_names(truth: Annotations[Any], predicted: Annotations[Any], options: dict[str, Any]) -> list[str]:
    """The outcome of each prediction, item by item and class by class."""
    ge = options.get("iou_comparison") == "ge"
    mode = "best_overall" if options.get("metric") == "sdk" else options.get("match", "best_unmatched")
    agnostic = options.get("class_mode") == "agnostic"
    result = np.full(len(predicted), "background", object)
    for item in range(len(truth.items)):
        rows, columns = np.flatnonzero(predicted.item == item), np.flatnonzero(truth.item == item)
        i, j = np.meshgrid(rows, columns, indexing="ij")
        shared, union = predicted.shapes.overlap(truth.shapes, i.ravel(), j.ravel())
        iou = (shared / union).reshape(i.shape)
        same = (predicted.labels[i] == truth.labels[j]) | agnostic
        passes = (20 * shared >= 10 * union if ge else 20 * shared > 10 * union).reshape(i.shape)
        hit = np.zeros(len(rows), bool)
        for label in [0] if agnostic else np.unique(predicted.labels[rows]).tolist():
            own = np.flatnonzero((predicted.labels[rows] == label) | agnostic)
            own = own[np.argsort(-predicted.scores[rows[own]], kind="stable")]
            others = np.flatnonzero((truth.labels[columns] == label) | agnostic)
            hit[own] = greedy(np.where(passes, iou, 0)[np.ix_(own, others)].tolist(), 0.0, mode)
        for k, row in enumerate(rows.tolist()):
            if hit[k]:
                result[row] = "hit"
            elif (passes & same)[k].any():
                result[row] = "duplicate"
            elif (passes & ~same)[k].any():
                result[row] = "class"
            elif ((iou >= 0.1) & same)[k].any():
                result[row] = "localisation"
    return result.tolist()


@pytest.mark.parametrize(("name", "options"), CASES)
def test_outcomes_are_as_defined(name: str, options: dict[str, Any]) -> None:
    seen = set()
    for seed in range(15):
        truth, predicted = crowd(name, seed)
        found = outcomes_of(name, truth, predicted, **options)
        assert names(found) == slow_names(truth, predicted, options)
        seen |= set(names(found))
        partnered = np.flatnonzero(found.partner >= 0)
        shared, union = truth.shapes.overlap(predicted.shapes, found.partner[partnered], partnered)
        assert found.iou[partnered] == pytest.approx(shared / union)
        assert np.isnan(found.iou[found.partner < 0]).all()
        highest = 15 if name == "wheat" else 19
        ge = options.get("iou_comparison") == "ge"
        tight = 20 * shared >= highest * union if ge else 20 * shared > highest * union
        assert (found.loose[partnered] == (~tight & np.isin(found.prediction[partnered], (0, 3)))).all()
        assert (truth.item[found.partner[partnered]] == predicted.item[partnered]).all()
        assert (found.partner[found.prediction < 4] >= 0).all()
        assert sorted(found.partner[found.hit].tolist()) == np.flatnonzero(found.found).tolist()
    assert seen >= set(PREDICTION_OUTCOMES) - ({"class"} if name != "lyft" or "class_mode" in options else set())


@pytest.mark.parametrize("name", ["wheat", "ships", "lyft"])
def test_hits_are_those_of_the_rule_at_the_lowest_level(name: str) -> None:
    what = challenge(name)
    for seed in range(15):
        truth, predicted = crowd(name, seed)
        score = what.score(truth, predicted, what.rule_options())
        found = score.outcomes
        assert found is not None
        assert [found.hit.sum(), (~found.hit).sum(), (~found.found).sum()] == list(score.counts.row(0)[1:])


def test_a_hit_is_loose_if_it_is_none_at_a_higher_level() -> None:
    truth = Annotations.from_rows(Items.of(["a"]), np.zeros(2, int), Boxes.of([[0, 0, 10, 10], [50, 0, 10, 10]]))
    predicted = Annotations.from_rows(Items.of(["a"]), np.zeros(2, int), Boxes.of([[0, 0, 10, 6], [50, 0, 10, 9]]))
    found = outcomes_of("wheat", truth, predicted)
    assert (names(found), found.loose.tolist()) == (["hit", "hit"], [True, False])
    assert found.iou == pytest.approx([0.6, 0.9])


def test_the_box_convention_of_the_rule_counts() -> None:
    truth = Annotations.from_rows(Items.of(["a"]), np.zeros(1, int), Boxes.of([[0, 0, 2, 9]]))
    predicted = Annotations.from_rows(Items.of(["a"]), np.zeros(1, int), Boxes.of([[0, 0, 1, 9]]))
    assert names(outcomes_of("wheat", truth, predicted)) == ["localisation"]
    inclusive = outcomes_of("wheat", truth, predicted, box_convention="inclusive")
    assert (names(inclusive), inclusive.iou.tolist()) == (["hit"], [2 / 3])


def at_times(*seconds: float, scores: list[float] | None = None) -> Annotations[Events]:
    item = np.zeros(len(seconds), int)
    return Annotations.from_rows(
        Items.of(["a.wav"]), item, Events(np.array(seconds, float)), score=None if scores is None else np.array(scores)
    )


def test_outcomes_of_events() -> None:
    truth = at_times(10, 20, 30)
    predicted = at_times(9, 10.5, 17, 26, 60, scores=[0.5, 0.9, 0.8, 0.7, 0.6])
    found = outcomes_of("upcalls", truth, predicted)
    assert names(found) == ["duplicate", "hit", "localisation", "localisation", "background"]
    assert found.partner.tolist() == [0, 0, 1, 2, -1]
    assert found.iou == pytest.approx([1, 0.5, 3, 4, np.nan], nan_ok=True)
    assert found.found.tolist() == [True, False, False]
    assert found.counts["objects"].to_list() == [1, 1, 2, 0, 1, 1, 2]


def test_one_detection_of_two_calls_is_one_hit_that_finds_both() -> None:
    found = outcomes_of("upcalls", at_times(10, 12), at_times(11.2))
    assert (names(found), found.partner.tolist(), found.found.tolist()) == (["hit"], [1], [True, True])


def test_outcomes_of_events_agree_with_the_rule() -> None:
    what = challenge("upcalls")
    for seed in range(40):
        truth, predicted = crowd("upcalls", seed)
        score = what.score(truth, predicted, what.rule_options(buffer_s=0.25))
        found = score.outcomes
        assert found is not None
        assert found.found.sum() == score.details["tp"]
        false_alarm = found.prediction >= PREDICTION_OUTCOMES.index("localisation")
        assert false_alarm.sum() == score.details["fp"]
        again = what.score(truth, predicted.filter(found.hit), what.rule_options(buffer_s=0.25))
        assert again.details["tp"] == score.details["tp"]  # duplicates detect nothing that no hit does
        assert not found.found[found.partner[found.prediction == 2]].any()


def test_outcomes_of_labels() -> None:
    items = Items.of(["a", "b", "c"])
    truth = Annotations.from_rows(items, np.array([0, 1]), Labels(np.array([4, 2])))
    predicted = Annotations.from_rows(items, np.array([0, 0, 0, 1, 2]), Labels(np.array([1, 4, 4, 3, 4])))
    found = outcomes_of("food", truth, predicted)
    assert names(found) == ["class", "hit", "duplicate", "class", "background"]
    assert found.found.tolist() == [True, False]
    assert found.partner.tolist() == [0, 0, 0, 1, -1]


def test_labels_are_found_where_the_rule_has_no_error() -> None:
    what = challenge("food")
    for seed in range(20):
        truth, predicted = label_crowd(seed)
        score = what.score(truth, predicted, what.rule_options())
        found = score.outcomes
        assert found is not None
        assert found.found.sum() == found.hit.sum() == score.counts["right"].sum()
        assert score.ranking is not None
        assert ((score.ranking.rank > 0)[truth.item] == found.found).all()


@pytest.mark.parametrize("name", ["wheat", "ships", "lyft", "upcalls"])
def test_nothing_has_no_outcomes(name: str) -> None:
    truth, predicted = crowd(name, 1)
    nothing = predicted.filter(np.zeros(len(predicted), bool))
    assert not outcomes_of(name, truth, nothing).found.any()
    assert set(names(outcomes_of(name, truth.filter(np.zeros(len(truth), bool)), predicted))) == {"background"}
