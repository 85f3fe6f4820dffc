"""Vectorized greedy matching equals matching one prediction after the other."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest

from tallymark.geometry import Boxes
from tallymark.scoring import sweep as sweep_module
from tallymark.scoring.matching import Match, greedy_match
from tallymark.scoring.sweep import IouComparison, sweep
from tests.reference import box_iou, greedy

TWENTIETHS = tuple(range(10, 20))


def crowded(count: int, rng: np.random.Generator) -> np.ndarray:
    """Whole-pixel boxes that overlap a lot, so that predictions compete and IoUs tie."""
    return np.concatenate([rng.integers(0, 3, (count, 2)), rng.integers(3, 7, (count, 2))], 1).astype(float)


@pytest.mark.parametrize("mode", ["best_unmatched", "best_overall", "first_unmatched"])
@pytest.mark.parametrize("comparison", ["gt", "ge"])
def test_sweep_equals_one_by_one(mode: Match, comparison: IouComparison) -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        groups = 4
        truth_group, predicted_group = (np.sort(rng.integers(0, groups, rng.integers(0, 25))) for _ in range(2))
        truth, predicted = crowded(len(truth_group), rng), crowded(len(predicted_group), rng)
        confidence = rng.integers(0, 4, len(predicted)) / 4  # many ties
        found = sweep(
            Boxes.of(truth),
            Boxes.of(predicted),
            truth_group,
            predicted_group,
            groups,
            twentieths=TWENTIETHS,
            confidence=confidence,
            comparison=comparison,
            mode=mode,
        )
        for group in range(groups):
            truths = [list(map(Fraction, row)) for row in truth[truth_group == group].astype(int).tolist()]
            mine = np.flatnonzero(predicted_group == group)
            asked = mine[np.argsort(-confidence[mine], kind="stable")]
            rows = [list(map(Fraction, row)) for row in predicted[asked].astype(int).tolist()]
            overlaps = [[box_iou(row, other) for other in truths] for row in rows]
            expected = [sum(greedy(overlaps, Fraction(k, 20), mode, comparison == "ge")) for k in TWENTIETHS]
            assert found.hits[group].tolist() == expected, (seed, group)
            assert (found.truths[group], found.predictions[group]) == (len(truths), len(rows))


def test_settle_follows_long_chains() -> None:
    """Chooser k likes k - 1 best and k next, but the one before it takes k - 1: rounds must follow the chain."""
    count = 200
    chooser = np.repeat(np.arange(count), 2)[1:]
    chosen = np.stack([np.arange(count) - 1, np.arange(count)], 1).ravel()[1:]
    taken = greedy_match(chooser, chosen)
    assert chooser[taken].tolist() == list(range(count))
    assert chosen[taken].tolist() == list(range(count))


def test_many_copies_take_few_rounds() -> None:
    """A million predictions of one truth are settled at once."""
    taken = greedy_match(np.arange(1_000_000), np.zeros(1_000_000, np.int64))
    assert taken.tolist() == [0]


def test_a_crowd_at_one_place_takes_no_round_for_each_of_it() -> None:
    count = 1500
    predictions, truths = np.divmod(np.arange(count * count), count)
    start = time.process_time()
    taken = greedy_match(predictions, truths)
    assert time.process_time() - start < 10  # more than a minute with a round for each
    assert taken.tolist() == (np.arange(count) * (count + 1)).tolist()


def test_settle_of_nothing() -> None:
    assert not len(greedy_match(np.empty(0, np.int64), np.empty(0, np.int64)))


def test_pairs_found_some_groups_at_a_time_are_those_of_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    boxes = [Boxes.of(rng.uniform(1, 60, (400, 4))) for _ in range(2)]
    groups = [np.sort(rng.integers(0, 30, 400)) for _ in range(2)]
    expected = boxes[0].pairs(boxes[1], *groups, 0.5)
    for together in (1, 7, 100, 399):
        monkeypatch.setattr(sweep_module, "TOGETHER", together)
        found = sweep_module.find_pairs(*boxes, *groups, 0.5)
        for name in ("first", "second", "intersection", "union"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
