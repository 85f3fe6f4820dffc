"""Recall against false positives per hour, with numbers computed by hand."""

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
from tallymark.inference.pipeline import Candidates
from tallymark.inference.recall_curve import RecallCurve, measure
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.scoring.score import Score

RECIPE = AudioRecipe()


def rule(truth: Annotations[Any], predicted: Annotations[Any]) -> Score:
    return tallymark.challenge("upcalls").score(truth, predicted, RuleOptions())


def heard(score: list[float], time: list[float], seconds: tuple[float, float] = (1800, 1800)) -> Candidates:
    """Candidates in the first of two recordings; the second is background."""
    items = Items.of(["a.wav", "b.wav"])
    item = np.zeros(len(score), np.int64)
    found = Annotations.from_rows(items, item, Events(np.array(time)), score=np.array(score))
    size = np.array([(length, np.nan) for length in seconds])
    return Candidates(items, size, found=found, presence=np.ones(2))


def calls(time: list[float]) -> Annotations[Any]:
    return Annotations.from_rows(Items.of(["a.wav", "b.wav"]), np.zeros(len(time), np.int64), Events(np.array(time)))


def curve() -> RecallCurve:
    """Two of four candidates are calls: those of 0.905 and 0.455; those of 0.705 and 0.205 are not."""
    found = measure(heard([0.905, 0.705, 0.455, 0.205], [10, 200, 30, 400]), calls([10, 30]), RECIPE, rule)
    assert found is not None
    return found


def test_every_cut_is_measured_up_to_the_surest() -> None:
    table = curve().table
    assert curve().hours == 1  # the background counts
    assert table["score_threshold"].to_list() == [k / 100 for k in range(3, 91)]
    by_cut = {row["score_threshold"]: row for row in table.iter_rows(named=True)}
    assert by_cut[0.2] == {"score_threshold": 0.2, "recall": 1, "precision": 0.5, "f1": 0.666667, "fp_per_hour": 2}
    assert by_cut[0.21] == {"score_threshold": 0.21, "recall": 1, "precision": 0.666667, "f1": 0.8, "fp_per_hour": 1}
    assert by_cut[0.46]["recall"] == 0.5
    assert by_cut[0.9] == {"score_threshold": 0.9, "recall": 0.5, "precision": 1, "f1": 0.666667, "fp_per_hour": 0}


def test_the_lowest_cut_at_a_price() -> None:
    found = curve()
    assert found.at(2) == (0.03, 1, 2, "")
    assert found.at(1.9) == (0.21, 1, 1, "")
    assert found.at(1)[:3] == (0.21, 1, 1)
    few = found.at(0.5)
    assert few[:3] == (0.71, 0.5, 0)
    assert "cannot be told from none" in few.note
    assert found.quoted() == {"recall_at_1_fp_per_hour": 1, "recall_at_10_fp_per_hour": 1}
    assert found.recall_at(0.5) == 0.5


def test_a_price_that_was_never_reached() -> None:
    """The surest of all is no call."""
    found = measure(heard([0.9, 0.5], [100, 10]), calls([10]), RECIPE, rule)
    assert found is not None
    strictest = found.at(0.1)
    assert strictest.cut == 0.9
    assert "no cut was as strict as" in strictest.note
    assert "0.9, which had 1" in strictest.note
    assert found.recall_at(0.1) == 0


@pytest.mark.parametrize("price", [-1.0, np.nan, np.inf])
def test_an_impossible_price_is_refused(price: float) -> None:
    with pytest.raises(BadInput, match="from 0 on"):
        curve().at(price)


def test_nothing_heard_gives_no_curve() -> None:
    assert measure(heard([], []), calls([10]), RECIPE, rule) is None
    assert measure(heard([0.5], [10], (np.nan, np.nan)), calls([10]), RECIPE, rule) is None


def test_a_card_keeps_it() -> None:
    kept = RecallCurve.of(json.loads(json.dumps(curve().as_dict())))
    assert kept is not None
    assert kept.hours == 1
    assert kept.table.equals(curve().table)
    assert RecallCurve.of({}) is None


@settings(max_examples=15)
@given(st.lists(st.tuples(st.floats(0.031, 0.99), st.booleans()), min_size=1, max_size=30), st.floats(0, 40))
def test_stricter_never_costs_more(said: list[tuple[float, bool]], price: float) -> None:
    time = [20.0 * k for k in range(len(said))]
    truth = calls([at for at, (_, right) in zip(time, said, strict=True) if right])
    found = measure(heard([score for score, _ in said], time), truth, RECIPE, rule)
    assert found is not None
    for name in ("recall", "fp_per_hour"):
        assert (np.diff(found.table[name].to_numpy()) <= 0).all()
    chosen = found.at(price)
    paid = found.table.filter(pl.col("fp_per_hour") <= price)
    assert chosen.fp_per_hour <= price or paid.is_empty()
    assert chosen.recall == found.recall_at(price) or paid.is_empty()
