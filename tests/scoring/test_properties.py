"""What every rule must satisfy, whatever the annotations."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tallymark.core.registry import challenge
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Labels
from tests.made import NAMES, annotations

SEEDS = range(25)
READINGS: dict[str, list[dict[str, Any]]] = {
    "wheat": [{}, {"match": "best_overall"}, {"empty_image": "one"}, {"box_convention": "inclusive"}],
    "lyft": [
        {},
        {"class_mode": "agnostic"},
        {"class_mode": "per_class_mean"},
        {"metric": "sdk"},
        {"metric": "mlebench"},
    ],
    "ships": [{}, {"iou_comparison": "ge"}],
    "upcalls": [{}, {"buffer_s": 0.25}],
    "food": [{}, {"num_classes": 211}],
}
CASES = [(name, options) for name in NAMES for options in READINGS[name]]


def truth_of(name: str, seed: int) -> Annotations[Any]:
    made = annotations(name, seed)
    if name == "food":
        return Annotations.from_rows(made.items, np.arange(len(made.items)), Labels(made.shapes.label[::3]))
    return made


@pytest.mark.parametrize(("name", "options"), CASES)
def test_truth_against_itself_is_perfect(name: str, options: dict[str, Any]) -> None:
    for seed in SEEDS:
        truth, what = truth_of(name, seed), challenge(name)
        predicted = annotations(name, seed)
        score = what.score(truth, predicted, what.rule_options(**options))
        nothing = name == "upcalls" and not len(truth)
        undefined = name in ("wheat", "lyft") and (
            not len(truth) or (options.get("metric") == "mlebench" and (truth.counts == 0).any())
        )
        if undefined and "empty_image" not in options:
            assert np.isnan(score.value)
            assert score.note
        else:
            assert score.value == (0 if name == "food" or nothing else 1)


def disturbed(made: Annotations[Any], rng: np.random.Generator) -> Annotations[Any]:
    """Some objects dropped, some doubled, and confidences drawn anew without ties."""
    kept = np.repeat(np.arange(len(made)), rng.choice([0, 1, 1, 2], len(made)))
    return Annotations.from_rows(
        made.items,
        made.item[kept],
        made.shapes.take(kept),
        label=None if made.label is None else made.label[kept],
        score=rng.permutation(len(kept)) / max(1, len(kept)),
        classes=made.classes,
    )


def shuffled(made: Annotations[Any], order: np.ndarray) -> Annotations[Any]:
    """The same objects with the items, and the objects within each item, in another order."""
    items = Items(made.items.ids[order])
    position = np.argsort(order)
    rows = np.arange(len(made))[::-1]
    return Annotations.from_rows(
        items,
        position[made.item[rows]],
        made.shapes.take(rows),
        label=None if made.label is None else made.label[rows],
        score=None if made.score is None else made.score[rows],
        classes=made.classes,
    )


@pytest.mark.parametrize(("name", "options"), [case for case in CASES if case[0] != "food"])
def test_the_order_of_rows_and_items_does_not_matter(name: str, options: dict[str, Any]) -> None:
    what = challenge(name)
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        truth, predicted = truth_of(name, seed), disturbed(annotations(name, seed), rng)
        rule_options = what.rule_options(**options)
        expected = what.score(truth, predicted, rule_options)
        order = rng.permutation(len(truth.items))
        got = what.score(shuffled(truth, order), shuffled(predicted, order), rule_options)
        assert got.value == pytest.approx(expected.value, abs=1e-12, nan_ok=True)
        assert got.counts.equals(expected.counts)
        assert (
            got.items.select("item", "truths", "predictions")
            .sort("item")
            .equals(expected.items.select("item", "truths", "predictions").sort("item"))
        )


def repeated(made: Annotations[Any], times: np.ndarray) -> Annotations[Any]:
    """Each item as often as `times` says, under names of their own."""
    source = np.repeat(np.arange(len(made.items)), times)
    rows = [np.arange(made.offsets[item], made.offsets[item + 1]) for item in source.tolist()]
    row = np.concatenate([np.empty(0, np.int64), *rows])
    return Annotations.from_rows(
        Items.of([f"{made.items.ids[item]} {copy}" for copy, item in enumerate(source.tolist())]),
        np.repeat(np.arange(len(source)), made.counts[source]),
        made.shapes.take(row),
        label=None if made.label is None else made.label[row],
        score=None if made.score is None else made.score[row],
        classes=made.classes,
    )


@pytest.mark.parametrize(("name", "options"), CASES)
def test_a_weight_counts_an_item_so_many_times(name: str, options: dict[str, Any]) -> None:
    what, changed = challenge(name), 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        truth, predicted = truth_of(name, seed), disturbed(annotations(name, seed), rng)
        times = rng.integers(0, 4, len(truth.items))
        times[rng.integers(len(times))] += 1  # at least one is there
        score = what.score(truth, predicted, what.rule_options(**options))
        expected = what.score(repeated(truth, times), repeated(predicted, times), what.rule_options(**options)).value
        assert score.total(times) == pytest.approx(expected, abs=1e-12, nan_ok=True)
        assert score.total(np.ones(len(times))) == pytest.approx(score.value, abs=1e-12, nan_ok=True)
        changed += abs(expected - score.value) > 1e-6
    assert changed > 3


@pytest.mark.parametrize("name", ["wheat", "lyft", "ships"])
def test_counts_items_and_pairs_agree(name: str) -> None:
    what = challenge(name)
    for seed in SEEDS:
        truth = truth_of(name, seed)
        predicted = disturbed(annotations(name, seed), np.random.default_rng(seed))
        score = what.score(truth, predicted, what.rule_options())
        item = truth.items.find(score.pairs["item"])
        first, second = (
            made.offsets[item] + score.pairs[side].to_numpy()
            for side, made in (("truth", truth), ("prediction", predicted))
        )
        shared, union = truth.shapes.overlap(predicted.shapes, first, second)
        assert score.pairs["iou"].to_numpy() == pytest.approx(shared / union, abs=1e-12)
        assert (shared > union / 2).all()
        hits = [score.items[f"tp_{round(100 * row['threshold'])}"].sum() for row in score.counts.to_dicts()]
        assert hits == score.counts["tp"].to_list()
        assert score.pairs["thresholds"].sum() == sum(hits)
        assert (score.counts["tp"] + score.counts["fn"]).to_list() == [len(truth)] * score.counts.height
        assert (score.counts["tp"] + score.counts["fp"]).to_list() == [len(predicted)] * score.counts.height


def test_rule_options_are_printed_with_the_score() -> None:
    what = challenge("lyft")
    truth = truth_of("lyft", 1)
    score = what.score(truth, annotations("lyft", 1), replace(what.rule_options(), metric="sdk"))
    assert score.as_dict()["rule_options"]["metric"] == "sdk"


@pytest.mark.parametrize(("name", "options"), CASES)
def test_of_no_items_there_is_no_score(name: str, options: dict[str, Any]) -> None:
    what = challenge(name)
    none = truth_of(name, 0).reindex(Items.of([]))
    score = what.score(none, none, what.rule_options(**options))
    assert score.items.height == 0
    json.dumps(score.as_dict(), allow_nan=False)
    if name != "upcalls":  # whose script has 0 for no calls and no detections
        assert score.note
