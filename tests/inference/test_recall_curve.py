"""Recall against false positives per hour, with values computed by hand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallymark
from tallymark.challenges.upcalls.rule import RuleOptions
from tallymark.core.problems import BadInput
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Events
from tallymark.inference.candidates import Candidates
from tallymark.inference.recall_curve import RecallCurve, measure_recall
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.scoring.score import Score

RECIPE = AudioRecipe()


def rule(truth: Annotations[Any], predictions: Annotations[Any]) -> Score:
    return tallymark.challenge("upcalls").score(truth, predictions, RuleOptions())


def candidates_of(score: list[float], time: list[float], seconds: tuple[float, float] = (1800, 1800)) -> Candidates:
    """Candidates in the first of two recordings; the second has no calls."""
    items = Items.of(["a.wav", "b.wav"])
    item = np.zeros(len(score), np.int64)
    objects = Annotations.from_rows(items, item, Events(np.array(time)), score=np.array(score))
    size = np.array([(length, np.nan) for length in seconds])
    return Candidates(objects, size, np.ones(2))


def calls(time: list[float]) -> Annotations[Any]:
    return Annotations.from_rows(Items.of(["a.wav", "b.wav"]), np.zeros(len(time), np.int64), Events(np.array(time)))


def curve() -> RecallCurve:
    """Two of four candidates are true: those of 0.905 and 0.455; those of 0.705 and 0.205 are false positives."""
    candidates = candidates_of([0.905, 0.705, 0.455, 0.205], [10, 200, 30, 400])
    measured = measure_recall(candidates, calls([10, 30]), RECIPE, rule)
    assert measured is not None
    return measured


def test_every_threshold_up_to_the_highest_score_is_measured() -> None:
    table = curve().table
    assert curve().hours == 1  # recordings without calls count
    assert table["score_threshold"].to_list() == [k / 100 for k in range(3, 91)]
    by_threshold = {row["score_threshold"]: row for row in table.iter_rows(named=True)}
    assert by_threshold[0.2] == {
        "score_threshold": 0.2,
        "recall": 1,
        "precision": 0.5,
        "f1": 0.666667,
        "fp_per_hour": 2,
    }
    assert by_threshold[0.21] == {
        "score_threshold": 0.21,
        "recall": 1,
        "precision": 0.666667,
        "f1": 0.8,
        "fp_per_hour": 1,
    }
    assert by_threshold[0.46]["recall"] == 0.5
    assert by_threshold[0.9] == {
        "score_threshold": 0.9,
        "recall": 0.5,
        "precision": 1,
        "f1": 0.666667,
        "fp_per_hour": 0,
    }


def test_the_operating_point_is_the_lowest_threshold_at_a_rate() -> None:
    measured = curve()
    assert measured.at(2) == (0.03, 1, 2, "")
    assert measured.at(1.9) == (0.21, 1, 1, "")
    assert measured.at(1)[:3] == (0.21, 1, 1)
    few = measured.at(0.5)
    assert few[:3] == (0.71, 0.5, 0)
    assert "cannot be distinguished from none" in few.note
    assert measured.quoted() == {"recall_at_1_fp_per_hour": 1, "recall_at_10_fp_per_hour": 1}
    assert measured.recall_at(0.5) == 0.5


def test_the_highest_threshold_is_used_where_no_rate_is_low_enough() -> None:
    """The highest score is a false positive."""
    measured = measure_recall(candidates_of([0.9, 0.5], [100, 10]), calls([10]), RECIPE, rule)
    assert measured is not None
    strictest = measured.at(0.1)
    assert strictest.score_threshold == 0.9
    assert "no threshold had as few as 0.1 false positives per hour" in strictest.note
    assert "0.9, which had 1" in strictest.note
    assert measured.recall_at(0.1) == 0


@pytest.mark.parametrize("rate", [-1.0, np.nan, np.inf])
def test_an_impossible_rate_is_refused(rate: float) -> None:
    with pytest.raises(BadInput, match="from 0 on"):
        curve().at(rate)


def test_no_candidates_or_unreadable_recordings_give_no_curve() -> None:
    assert measure_recall(candidates_of([], []), calls([10]), RECIPE, rule) is None
    assert measure_recall(candidates_of([0.5], [10], (np.nan, np.nan)), calls([10]), RECIPE, rule) is None


def test_the_curve_survives_the_metadata_of_a_model() -> None:
    kept = RecallCurve.of(json.loads(json.dumps(curve().as_dict())))
    assert kept is not None
    assert kept.hours == 1
    assert kept.table.equals(curve().table)
    assert RecallCurve.of({}) is None


@settings(max_examples=15)
@given(st.lists(st.tuples(st.floats(0.031, 0.99), st.booleans()), min_size=1, max_size=30), st.floats(0, 40))
def test_recall_and_false_positives_fall_with_the_threshold(scored: list[tuple[float, bool]], rate: float) -> None:
    time = [20.0 * k for k in range(len(scored))]
    truth = calls([at for at, (_, true) in zip(time, scored, strict=True) if true])
    measured = measure_recall(candidates_of([score for score, _ in scored], time), truth, RECIPE, rule)
    assert measured is not None
    for name in ("recall", "fp_per_hour"):
        assert (np.diff(measured.table[name].to_numpy()) <= 0).all()
    chosen = measured.at(rate)
    allowed = measured.table.filter(pl.col("fp_per_hour") <= rate)
    assert chosen.fp_per_hour <= rate or allowed.is_empty()
    assert chosen.recall == measured.recall_at(rate) or allowed.is_empty()
