"""What the score would be without each cause of error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from tallymark.core.registry import challenge
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Boxes, Cuboids
from tallymark.scoring.causes import CAUSES, score_without_causes
from tallymark.scoring.score import Score
from tallymark.scoring.threshold_curve import threshold_curve
from tests.scoring.crowds import crowd, label_crowd


def causes_of(name: str, truth: Annotations[Any], predicted: Annotations[Any], **options: Any) -> pl.DataFrame | None:
    what = challenge(name)

    def rule(own: Annotations[Any], other: Annotations[Any]) -> Score:
        return what.score(own, other, what.rule_options(**options))

    return score_without_causes(truth, predicted, rule(truth, predicted), rule)


def by_cause(table: pl.DataFrame | None) -> dict[str, tuple[int, float | None, float | None]]:
    assert table is not None
    return {row[0]: row[1:] for row in table.rows()}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("wheat", {}),
        ("wheat", {"box_convention": "inclusive", "empty_image": "one"}),
        ("ships", {}),
        ("lyft", {}),
        ("lyft", {"class_mode": "agnostic"}),
        ("lyft", {"class_mode": "per_class_mean"}),
        ("upcalls", {"buffer_s": 0.25}),
    ],
)
def test_without_all_causes_the_score_is_perfect(name: str, options: dict[str, Any]) -> None:
    gained = set()
    for seed in range(15):
        truth, predicted = crowd(name, seed)
        table = by_cause(causes_of(name, truth, predicted, **options))
        assert list(table) == [*CAUSES, "all"]
        if table["all"][1] is not None:  # something is left to count
            assert table["all"][1] == pytest.approx(1, abs=1e-12)
        assert table["all"][0] == sum(table[cause][0] for cause in CAUSES)
        assert all(objects or not gain for objects, _, gain in table.values())
        gained |= {cause for cause, (_, _, gain) in table.items() if gain is not None and gain > 1e-6}
    expected = {"localisation", "background", "missed", "all"}
    expected |= set() if name == "upcalls" else {"loose", "duplicate"}  # several detections of a call cost nothing
    expected |= {"class"} if name == "lyft" and options.get("class_mode") != "agnostic" else set()
    assert gained == expected


def boxes(*rows: list[float], scores: list[float] | None = None) -> Annotations[Boxes]:
    score = None if scores is None else np.array(scores)
    return Annotations.from_rows(Items.of(["a"]), np.zeros(len(rows), int), Boxes.of(np.array(rows)), score=score)


def test_each_cause_by_hand() -> None:
    truth = boxes([0, 0, 10, 10], [100, 0, 10, 10], [200, 0, 10, 10], [300, 0, 10, 10])
    predicted = boxes(
        [0, 0, 10, 10], [0, 0, 10, 9], [100, 0, 10, 4], [100, 0, 10, 3], [200, 0, 10, 7.2], [900, 0, 10, 10],
        scores=[0.9, 0.8, 0.7, 0.6, 0.5, 0.4],
    )  # fmt: skip
    # A hit, its duplicate, two badly placed ones, a hit up to IoU 0.7, background; the last truth is missed.
    full, partly = 5, 1  # levels with both hits, and with one
    before = (full * 2 / 8 + partly * 1 / 9) / 6
    assert by_cause(causes_of("wheat", truth, predicted)) == {
        "loose": (1, pytest.approx(2 / 8), pytest.approx(2 / 8 - before)),
        "localisation": (2, pytest.approx((full * 3 / 6 + partly * 2 / 7) / 6), pytest.approx(0.2374, abs=1e-4)),
        "class": (0, pytest.approx(before), 0),
        "duplicate": (1, pytest.approx((full * 2 / 7 + partly * 1 / 8) / 6), pytest.approx(0.0321, abs=1e-4)),
        "background": (1, pytest.approx((full * 2 / 7 + partly * 1 / 8) / 6), pytest.approx(0.0321, abs=1e-4)),
        "missed": (1, pytest.approx((full * 2 / 7 + partly * 1 / 8) / 6), pytest.approx(0.0321, abs=1e-4)),
        "all": (6, 1, pytest.approx(1 - before)),
    }


def test_a_wrong_class_gets_the_right_one_even_if_the_two_sides_list_classes_differently() -> None:
    cars = Annotations.from_rows(
        Items.of(["a"]), np.zeros(1, int), Cuboids.of([[0, 0, 0, 2, 4, 2, 0]]), label=np.array([0]), classes=("car",)
    )
    buses = replace(cars, label=np.array([1]), classes=("car", "bus"), score=np.array([0.9]))
    table = by_cause(causes_of("lyft", cars, buses))
    assert table["class"] == (1, 1, 1)
    assert table["missed"] == (0, 0, 0)  # the prediction is about it


@pytest.mark.parametrize("name", ["wheat", "ships", "lyft", "upcalls", "food"])
def test_of_no_items_there_are_no_errors(name: str) -> None:
    what = challenge(name)
    none = (label_crowd(0) if name == "food" else crowd(name, 0))[1].reindex(Items.of([]))
    score = what.score(none, none, what.rule_options())
    assert score.outcomes is not None
    assert score.outcomes.counts["objects"].sum() == 0
    if score.matches is not None:
        assert score.matches.counts_at(0.5).select("tp", "fp", "fn").sum().row(0) == (0, 0, 0)
        assert score.matches.score_at(0.5) == pytest.approx(score.value, nan_ok=True)
        assert threshold_curve(score.matches).is_empty()
    table = causes_of(name, none, none)
    assert table is None if name == "food" else table["objects"].sum() == 0


def test_labels_and_rules_without_outcomes_have_no_such_table() -> None:
    assert causes_of("food", *label_crowd(1)) is None
    truth, predicted = crowd("wheat", 1)
    what = challenge("wheat")
    score = replace(what.score(truth, predicted, what.rule_options()), find_outcomes=lambda: None)
    assert score_without_causes(truth, predicted, score, lambda *_: score) is None
