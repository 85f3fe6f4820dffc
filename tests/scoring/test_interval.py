"""Bootstrap intervals of a score."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tallymark.core.registry import challenge
from tallymark.data.items import Items
from tallymark.scoring.interval import WEIGHTS_AT_ONCE, bootstrap, score_interval
from tests.scoring.crowds import crowd


def test_the_interval_is_that_of_the_normal_approximation() -> None:
    what = challenge("ships")
    score = what.score(*crowd("ships", 4, items=200), what.rule_options())
    values = score.items["score"].to_numpy()
    low, high = score_interval(score)
    spread = 1.96 * values.std() / math.sqrt(len(values))
    assert (low, high) == pytest.approx((score.value - spread, score.value + spread), abs=spread / 5)
    assert score_interval(score) == (low, high)
    assert score_interval(score, seed=1) != (low, high)


def test_without_a_score_there_is_no_interval() -> None:
    what = challenge("wheat")
    nothing = crowd("wheat", 0)[0].reindex(Items.of([]))
    assert all(math.isnan(end) for end in score_interval(what.score(nothing, nothing, what.rule_options())))


def test_each_sample_has_as_many_items() -> None:
    blocks = []

    def totals(weights: np.ndarray) -> np.ndarray:
        blocks.append(weights)
        return np.zeros(len(weights))

    bootstrap(7, totals, seed=0, resamples=50)
    drawn = np.concatenate(blocks)
    assert len(drawn) == 50
    assert {int(weight.sum()) for weight in drawn} == {7}
    assert len({tuple(weight.tolist()) for weight in drawn}) > 40
    assert np.mean(drawn, axis=0) == pytest.approx(np.ones(7), abs=0.5)


def test_many_items_are_drawn_in_blocks_of_bounded_size() -> None:
    sizes = []

    def totals(weights: np.ndarray) -> np.ndarray:
        sizes.append(weights.size)
        return weights[:, 0]

    bootstrap(100_000, totals, seed=0, resamples=7)
    assert sum(sizes) == 700_000
    assert max(sizes) <= WEIGHTS_AT_ONCE
