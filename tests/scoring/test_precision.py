"""Average precision of many groups at once equals one curve after the other."""

from __future__ import annotations

import numpy as np
import pytest

from tallymark.scoring.precision import average_precision
from tests.reference import average_precision as reference


@pytest.mark.parametrize("seed", range(40))
def test_equals_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, groups = int(rng.integers(0, 60)), 5
    group, hit = np.sort(rng.integers(0, groups, count)), rng.random(count) < 0.5
    truths = np.bincount(group[hit], minlength=groups) + rng.integers(0, 3, groups)
    got = average_precision(hit, group, truths, np.ones(count))
    for number in range(groups):
        if truths[number]:
            expected = reference(hit[group == number].tolist(), int(truths[number]))
            assert got[number] == pytest.approx(expected, abs=1e-12)
        else:
            assert np.isnan(got[number])


def test_doubling_every_weight_changes_nothing() -> None:
    hit, group = np.random.default_rng(0).random(30) < 0.5, np.zeros(30, np.int64)
    once = average_precision(hit, group, np.array([20.0]), np.ones(30))
    twice = average_precision(hit, group, np.array([40.0]), np.full(30, 2))
    assert twice[0] == pytest.approx(once[0], abs=1e-12)


def test_weight_zero_is_absence() -> None:
    rng = np.random.default_rng(1)
    hit, weight = rng.random(30) < 0.5, rng.integers(0, 2, 30)
    kept = weight > 0
    group = np.zeros(30, np.int64)
    weighted = average_precision(hit, group, np.array([20.0]), weight)
    absent = average_precision(hit[kept], group[kept], np.array([20.0]), weight[kept])
    assert weighted[0] == pytest.approx(absent[0], abs=1e-12)
