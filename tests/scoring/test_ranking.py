"""Rankings: places with ties in either direction, intervals, and runs of neighbours that cannot be told apart."""

from __future__ import annotations

import numpy as np
import pytest

from tallymark.scoring.ranking import (
    draw_weights,
    indistinguishable,
    intervals,
    places,
    ranked_order,
    verdicts,
)


def test_ties_share_a_place() -> None:
    values = np.array([0.5, 0.9, 0.5, 0.7, np.nan, 0.1 + 0.2 + 0.2])  # the last is 0.5 in another order of sums
    assert places(values, "higher").tolist() == [3, 1, 3, 2, 0, 3]
    assert places(values, "lower").tolist() == [1, 5, 1, 4, 0, 1]


def test_the_order_follows_the_direction_and_keeps_ties_in_order() -> None:
    values = np.array([0.5, 0.9, 0.5, np.nan, 0.1])
    assert ranked_order(values, "higher").tolist() == [1, 0, 2, 4, 3]
    assert ranked_order(values, "lower").tolist() == [4, 0, 2, 1, 3]


def test_samples_are_of_the_chosen_items_only() -> None:
    chosen = np.array([True, False, True, True, False])
    weights = draw_weights(50, chosen, 3)
    assert (weights.sum(axis=1) == 3).all()
    assert (weights[:, ~chosen] == 0).all()
    assert (draw_weights(50, chosen, 3) == weights).all()
    assert (draw_weights(50, chosen, 4) != weights).any()
    assert (draw_weights(2, np.zeros(3, bool), 0) == 0).all()


def columns(*centers: float, noise: float = 0.01, shared: float = 1.0) -> np.ndarray:
    """Resampled scores: a large shared part, which pairing removes, and a small one of each entry."""
    rng = np.random.default_rng(0)
    common = rng.normal(0, shared, (2000, 1))
    return np.array(centers) + common + rng.normal(0, noise, (2000, len(centers)))


def test_paired_differences_tell_apart_what_single_intervals_do_not() -> None:
    resampled = columns(0.9, 0.8)
    low, high = intervals(resampled)[:, 0], intervals(resampled)[:, 1]
    assert low[0] < high[1]  # they overlap
    assert indistinguishable(resampled) == []


def test_runs_are_the_longest_and_all_of_their_pairs_are_alike() -> None:
    # two noises of 0.01 give an interval of about +-0.028
    assert indistinguishable(columns(1.0, 0.98, 0.96, 0.5)) == [(0, 1), (1, 2)]
    assert indistinguishable(columns(1.0, 0.995, 0.99, 0.5)) == [(0, 2)]
    assert indistinguishable(columns(1.0, 0.5, 0.5, 0.2)) == [(1, 2)]
    assert indistinguishable(columns(1.0)) == []


def test_entries_without_any_number_cannot_be_told_apart() -> None:
    resampled = columns(1.0, 0.5)
    resampled[:, 1] = np.nan
    assert indistinguishable(resampled) == [(0, 1)]


@pytest.mark.parametrize(
    ("centers", "place", "expected"),
    [
        ((1.0, 0.5, 0.2), [1, 2, 3], ["All places can be told apart."]),
        ((1.0, 0.5, 0.5, 0.5), [1, 2, 3, 4], ["Place 1 is clearly ahead of all others.",
                                             "Places 2-4 cannot be told apart."]),
        ((1.0, 0.98, 0.96), [1, 2, 3], ["Places 1-2 cannot be told apart; nor can places 2-3."]),
        ((1.0, 1.0, 0.5), [1, 1, 3], ["Place 1 is shared."]),
        ((1.0,), [1], []),
    ],
)  # fmt: skip
def test_sentences(centers: tuple[float, ...], place: list[int], expected: list[str]) -> None:
    assert verdicts(columns(*centers), np.array(place)) == expected
