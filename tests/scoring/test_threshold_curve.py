"""The curve over thresholds has the rule's score and counts at each of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tallymark.core.registry import challenge
from tallymark.scoring.threshold_curve import thin_curve, threshold_curve
from tests.scoring.crowds import crowd
from tests.scoring.test_matches import CASES


@pytest.mark.parametrize(("name", "options"), CASES)
def test_each_row_is_what_the_rule_says(name: str, options: dict[str, Any]) -> None:
    what = challenge(name)
    rule_options = what.rule_options(**options)
    for seed in range(5):
        truth, predicted = crowd(name, seed)
        matches = what.score(truth, predicted, rule_options).matches
        assert matches is not None
        curve = threshold_curve(matches)
        thresholds = curve["score_threshold"].to_list()
        assert thresholds == sorted(set(thresholds)) == sorted({*matches.tp_score, *matches.fp_score})
        for row in curve.to_dicts():
            expected = what.score(truth, predicted.filter(predicted.scores >= row["score_threshold"]), rule_options)
            assert row["score"] == pytest.approx(expected.value, abs=1e-12)
            tp, fp, fn = expected.counts.select("tp", "fp", "fn").row(0)
            assert (row["tp"], row["fp"], row["fn"]) == (tp, fp, fn)
            assert row["precision"] == (pytest.approx(tp / (tp + fp)) if tp + fp else None)
            assert row["recall"] == (pytest.approx(tp / (tp + fn)) if tp + fn else None)
            assert row.get("fp_per_hour") == (pytest.approx(fp / 2) if options.get("hours") else None)


def test_nothing_predicted_has_no_curve() -> None:
    what = challenge("wheat")
    truth, predicted = crowd("wheat", 1)
    matches = what.score(truth, predicted.filter(np.zeros(len(predicted), bool)), what.rule_options()).matches
    assert matches is not None
    curve = threshold_curve(matches)
    assert curve.is_empty()
    assert thin_curve(curve, 5).is_empty()


def test_a_thin_curve_keeps_ends_and_the_best_row() -> None:
    what = challenge("wheat")
    truth, predicted = crowd("wheat", 2, items=60)
    predicted = replace(predicted, score=np.random.default_rng(0).random(len(predicted)))
    matches = what.score(truth, predicted, what.rule_options()).matches
    assert matches is not None
    curve = threshold_curve(matches)
    thin = thin_curve(curve, 20)
    assert 10 < thin.height <= 21 < curve.height
    assert thin["score"].max() == curve["score"].max()
    assert thin.row(0) == curve.row(0)
    assert thin.row(-1) == curve.row(-1)
    assert thin_curve(thin, 50).equals(thin)
