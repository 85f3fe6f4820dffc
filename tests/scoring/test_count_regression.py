"""Predicted counts against true ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tallymark.scoring.count_regression import CountRegression, regress_counts


def test_counts_by_hand() -> None:
    found = regress_counts(np.array([10, 20, 30, np.nan, 7]), np.array([12, 19, 35, 4, np.nan]))
    assert found == CountRegression(
        items=3,
        bias=pytest.approx(2),
        mae=pytest.approx(8 / 3),
        rmse=pytest.approx(math.sqrt(10)),
        r2=pytest.approx(1 - 30 / 200),
        slope=pytest.approx(1.15),
        intercept=pytest.approx(-1),
    )


def test_equal_counts_are_perfect() -> None:
    counts = np.arange(5)
    found = regress_counts(counts, counts)
    assert found == CountRegression(5, 0, 0, 0, 1, 1, 0)


def test_what_cannot_be_computed_is_nan() -> None:
    found = regress_counts(np.array([3, 3]), np.array([2, 4]))
    assert found is not None
    assert (found.bias, found.mae) == (0, 1)
    assert math.isnan(found.r2)
    assert math.isnan(found.slope)
    assert math.isnan(found.intercept)
    assert regress_counts(np.array([np.nan]), np.array([1.0])) is None
