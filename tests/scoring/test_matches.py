"""Matches give, at every score threshold, what the rule gives for the predictions above it."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tallymark.core.registry import challenge
from tallymark.scoring.matches import CountFormula
from tallymark.scoring.score import Score, swept_score
from tallymark.scoring.sweep import sweep
from tests.scoring.crowds import crowd, label_crowd

MATCHING = [
    {"match": mode, "iou_comparison": comparison}
    for mode, comparison in product(("best_unmatched", "best_overall", "first_unmatched"), ("gt", "ge"))
]
CASES: list[tuple[str, dict[str, Any]]] = [
    *(("wheat", options) for options in MATCHING),
    *(("wheat", {"empty_image": empty}) for empty in ("one", "zero")),
    ("wheat", {"box_convention": "inclusive"}),
    *(("ships", options) for options in MATCHING),
    *(("lyft", options) for options in MATCHING),
    ("lyft", {"class_mode": "agnostic", "empty_image": "one"}),
    ("upcalls", {}),
    ("upcalls", {"buffer_s": 0.25, "hours": 2.0}),
]
THRESHOLDS = [0.0, 0.1, 0.2, 0.4, 0.5, 0.6, 1.0, 1.5]
"""Scores are 0, 0.2 … 1, so that some thresholds equal them."""


@pytest.mark.parametrize(("name", "options"), CASES)
def test_matches_equal_the_rule_at_every_threshold(name: str, options: dict[str, Any]) -> None:
    what = challenge(name)
    rule_options = what.rule_options(**options)
    counted = set()
    for seed in range(10):
        truth, predicted = crowd(name, seed)
        matches = what.score(truth, predicted, rule_options).matches
        assert matches is not None
        for threshold in THRESHOLDS:
            expected = what.score(truth, predicted.filter(predicted.scores >= threshold), rule_options)
            assert matches.score_at(threshold) == pytest.approx(expected.value, abs=1e-12, nan_ok=True)
            counts = matches.counts_at(threshold)
            assert counts.select("tp", "fp", "fn").equals(expected.counts.select("tp", "fp", "fn"))
            assert (
                counts["level"].to_list() == expected.counts.get_column("threshold", default=counts["level"]).to_list()
            )
            counted.add(round(expected.value, 6))
    assert len(counted) > 15  # the cases are not all alike


@pytest.mark.parametrize("options", [{"class_mode": "per_class_mean"}, {"metric": "sdk"}, {"metric": "mlebench"}])
def test_a_rule_that_is_no_formula_of_counts_has_no_matches(options: dict[str, Any]) -> None:
    what = challenge("lyft")
    assert what.score(*crowd("lyft", 1), what.rule_options(**options)).matches is None


def test_a_rule_that_gives_only_a_value_works_without_matches() -> None:
    truth, predicted = crowd("wheat", 3)
    found = sweep(
        truth.shapes, predicted.shapes, truth.item, predicted.item, len(truth.items), twentieths=(10,),
        confidence=predicted.scores,
    )  # fmt: skip
    score = swept_score("bees", challenge("wheat").rule_options(), truth, predicted, found, found.hits[:, 0] / 9)
    assert score.matches is None
    assert score.ranking is None


def test_matches_are_found_when_they_are_asked_for_and_once() -> None:
    calls = []
    score: Score = challenge("wheat").score(*crowd("wheat", 0), challenge("wheat").rule_options())
    found = score.find_matches
    object.__setattr__(score, "find_matches", lambda: calls.append(1) or found())
    assert not calls
    assert score.matches is score.matches
    assert len(calls) == 1


def test_the_page_gets_typed_columns_and_no_nan() -> None:
    what = challenge("wheat")
    live = what.score(*crowd("wheat", 2), what.rule_options()).matches.as_dict()
    assert live["formula"] == {"tp": 1, "fp": 1, "fn": 1, "empty": None, "pooled": False}
    assert live["levels"] == [0.5, 0.55, 0.6, 0.65, 0.7, 0.75]
    assert {name: column.dtype.str for name, column in live["tp"].items()} == {
        "item": "<i4", "score": "<f8", "levels": "<u4",
    }  # fmt: skip


def test_a_formula_of_counts() -> None:
    f2 = CountFormula(5, 1, 4, empty=1)
    counts = np.array([[2, 0]]), np.array([[1, 0]]), np.array([[3, 0]])
    assert f2.values(*counts).tolist() == [[10 / 23, 1]]
    assert f2.total(*counts) == pytest.approx((10 / 23 + 1) / 2)
    pooled = CountFormula(2, 1, 1, empty=0, pooled=True)
    assert pooled.total(np.array([[1], [0]]), np.array([[0], [2]]), np.array([[1], [0]])) == 2 / 5
    assert pooled.total(*np.zeros((3, 0, 1), int)) == 0


def test_the_ranking_gives_the_official_error_and_those_of_other_k() -> None:
    what = challenge("food")
    for seed in range(20):
        truth, predicted = label_crowd(seed)
        ranking = what.score(truth, predicted, what.rule_options()).ranking
        assert ranking is not None
        place = np.arange(len(predicted)) - predicted.offsets[predicted.item]
        for k in (1, 2, 3):
            expected = what.score(truth, predicted.filter(place < k), what.rule_options())
            assert ranking.score_at(k) == pytest.approx(expected.value, abs=1e-12)
        accepted = ranking.accepted(0.6)
        assert accepted.sum() == (~(predicted.highest_scores < 0.6) | (predicted.counts == 0)).sum()
        wrong = what.score(truth, predicted, what.rule_options()).items["score"].to_numpy()
        assert ranking.score_at(3, 0.6) == pytest.approx(wrong[accepted].mean(), nan_ok=True)
        assert np.isnan(ranking.score_at(3, 2.0)) or (predicted.counts == 0).any()
