"""Hits, misses and false alarms by class, group and other values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from tallymark.core.registry import challenge
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Boxes
from tallymark.scoring.outcomes import Outcomes
from tallymark.scoring.slices import SliceKey, class_key, item_key, slice_table
from tests.scoring.crowds import crowd


def outcomes_of(name: str, truth: Annotations[Any], predicted: Annotations[Any]) -> Outcomes:
    what = challenge(name)
    found = what.score(truth, predicted, what.rule_options()).outcomes
    assert found is not None
    return found


def test_slices_by_a_value_of_objects() -> None:
    sides = np.array([2, 3, 10, 11, 30, 31])
    rows = np.stack([np.arange(6) * 100, np.zeros(6), sides, sides], axis=1)
    truth = Annotations.from_rows(Items.of(["a"]), np.zeros(6, int), Boxes.of(rows))
    predicted = Annotations.from_rows(Items.of(["a"]), np.zeros(4, int), Boxes.of(rows[[0, 4, 5, 5]]))
    key = SliceKey("size", ("small", "medium", "large"), np.repeat([0, 1, 2], 2), np.array([0, 2, 2, 2]))
    table = slice_table(key, outcomes_of("wheat", truth, predicted))
    assert table.rows() == [
        ("small", 2, 1, 1, 1, 0, 0.5, 1.0),
        ("medium", 2, 0, 2, 0, 0, 0.0, None),
        ("large", 2, 2, 0, 3, 1, 1.0, 2 / 3),
    ]


@pytest.mark.parametrize("name", ["wheat", "ships", "lyft", "upcalls"])
def test_the_counts_of_all_slices_are_those_of_the_rule(name: str) -> None:
    what = challenge(name)
    for seed in range(10):
        truth, predicted = crowd(name, seed)
        group = pl.Series([f"source {number % 2}" if number else None for number in range(len(truth.items))])
        score = what.score(truth, predicted, what.rule_options())
        found = score.outcomes
        assert found is not None
        table = slice_table(item_key("source", group, truth, predicted), found)
        assert table["source"].to_list() == ["(none)", "source 0", "source 1"][-table.height :]
        counted = score.counts.select("tp", "fp", "fn").row(0)
        assert tuple(table[name].sum() for name in ("hits", "false_alarms", "misses")) == counted
        assert (table["truths"].sum(), table["predictions"].sum()) == (len(truth), len(predicted))


def test_slices_by_class_have_the_classes_of_both_sides() -> None:
    truth, predicted = crowd("lyft", 2)
    assert class_key(*crowd("wheat", 2)) is None
    other = replace(predicted, classes=("bus", "tram", "car"))
    key = class_key(truth, other)
    assert key is not None
    assert key.values == ("car", "bus", "bicycle", "tram")
    table = slice_table(key, outcomes_of("lyft", truth, other))
    assert dict(table.select("class", "predictions").rows())["tram"] == (other.labels == 1).sum()


def test_a_value_without_objects_has_no_row() -> None:
    truth, predicted = crowd("wheat", 1)
    key = SliceKey("all", ("none", "every"), np.ones(len(truth), int), np.ones(len(predicted), int))
    assert slice_table(key, outcomes_of("wheat", truth, predicted))["all"].to_list() == ["every"]
