"""Reliability tables and the expected calibration error."""

from __future__ import annotations

import numpy as np
import pytest

from tallymark.scoring.calibration import calibration


def test_bins_by_hand() -> None:
    scores = np.array([0.05, 0.81, 0.85, 0.89, 1.0, np.nan])
    found = calibration(scores, np.array([False, True, True, False, True, True]))
    assert found is not None
    assert found.table["low"].to_list() == [0, 0.8, 0.9]
    assert found.table["high"].to_list() == [0.1, 0.9, 1.0]
    assert found.table["predictions"].to_list() == [1, 3, 1]
    assert found.table["hits"].to_list() == [0, 2, 1]
    assert found.table["score"].to_list() == pytest.approx([0.05, 0.85, 1])
    assert found.table["share"].to_list() == pytest.approx([0, 2 / 3, 1])
    assert found.error == pytest.approx((0.05 + 3 * (0.85 - 2 / 3) + 0) / 5)


def test_scores_that_are_probabilities_have_a_small_error_and_overconfident_ones_a_large_one() -> None:
    rng = np.random.default_rng(0)
    probability = rng.random(50_000)
    hit = rng.random(50_000) < probability
    good, bad = calibration(probability, hit), calibration(probability**0.3, hit)
    assert good is not None
    assert bad is not None
    assert good.error < 0.01 < 0.2 < bad.error


@pytest.mark.parametrize("scores", [None, np.array([]), np.array([np.nan]), np.array([0.5, 1.5]), np.array([-3.0])])
def test_what_is_no_probability_is_not_calibrated(scores: np.ndarray | None) -> None:
    assert calibration(scores, np.zeros(0 if scores is None else len(scores), bool)) is None
