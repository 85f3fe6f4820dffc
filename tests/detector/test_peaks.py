"""Peaks are those of a loop over every cell and its neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallymark.detector.peaks import find_peaks


def by_loop(heat: np.ndarray, threshold: float, distance: int) -> set[tuple[int, int, int]]:
    found = set()
    for number, y, x in np.ndindex(heat.shape):
        near = [(j, i) for j, i in np.ndindex(heat.shape[1:]) if abs(j - y) <= distance and abs(i - x) <= distance]
        own = heat[number, y, x]
        higher = [heat[number, j, i] >= own if (j, i) < (y, x) else heat[number, j, i] > own for j, i in near]
        if own >= threshold and not any(higher):
            found.add((number, y, x))
    return found


@given(
    st.integers(0, 2**31),
    st.integers(1, 3),
    st.integers(1, 9),
    st.integers(1, 9),
    st.sampled_from([5, 500]),
    st.integers(1, 3),
)
@settings(max_examples=80)
def test_as_by_a_loop(seed: int, classes: int, height: int, width: int, steps: int, distance: int) -> None:
    """With few different values, so that there are plateaus, and with many."""
    values = np.random.default_rng(seed).integers(0, steps + 1, (classes, height, width))
    heat = values.astype(np.float32) / steps
    peaks = find_peaks(heat, 0.3, 1000, distance)
    places = list(zip(peaks.label.tolist(), peaks.y.tolist(), peaks.x.tolist(), strict=True))
    assert len(places) == len(set(places))
    assert set(places) == by_loop(heat, np.float32(0.3), distance)
    np.testing.assert_array_equal(peaks.heat, heat[peaks.label, peaks.y, peaks.x])
    assert (np.diff(peaks.heat) <= 0).all()


def test_only_the_first_cell_of_a_plateau_is_a_peak() -> None:
    heat = np.zeros((1, 5, 6), np.float32)
    heat[0, 2:4, 2:4] = 0.5
    peaks = find_peaks(heat, 0.1, 10)
    assert (peaks.y.tolist(), peaks.x.tolist()) == ([2], [2])


def test_a_constant_heatmap_has_one_peak_wherever_a_tile_begins() -> None:
    """On a time axis; in a tile that begins later, its first cell lies in the context, and does not count."""
    heat = np.full((1, 1, 500), 0.2, np.float32)
    assert find_peaks(heat, 0.1, 1000, 16).x.tolist() == [0]
    heat[0, 0, 300] = 0.7
    assert find_peaks(heat, 0.1, 1000, 16).x.tolist() == [300, 0]
    assert find_peaks(heat[:, :, 200:], 0.1, 1000, 16).x.tolist() == [100, 0]


def test_the_highest_come_first_and_the_rest_is_dropped() -> None:
    heat = np.zeros((2, 9, 9), np.float32)
    heat[0, 1, 1], heat[1, 4, 4], heat[0, 7, 7], heat[1, 7, 1] = 0.3, 0.9, 0.6, 0.4
    peaks = find_peaks(heat, 0.05, 3)
    assert peaks.heat.tolist() == pytest.approx([0.9, 0.6, 0.4])
    assert peaks.label.tolist() == [1, 0, 1]
    assert len(find_peaks(heat, 0.05, 0).heat) == 0


def test_the_threshold_is_included() -> None:
    heat = np.zeros((1, 3, 3), np.float32)
    heat[0, 1, 1] = 0.5
    assert len(find_peaks(heat, 0.5, 9).heat) == 1
    assert len(find_peaks(heat, 0.51, 9).heat) == 0


def test_classes_do_not_suppress_one_another() -> None:
    heat = np.zeros((2, 5, 5), np.float32)
    heat[0, 2, 2], heat[1, 2, 3] = 0.9, 0.4
    assert find_peaks(heat, 0.1, 9).label.tolist() == [0, 1]


def test_a_corner_and_an_edge_can_be_peaks() -> None:
    heat = np.zeros((1, 4, 7), np.float32)
    heat[0, 0, 0], heat[0, 3, 4] = 0.8, 0.7
    peaks = find_peaks(heat, 0.1, 9)
    assert list(zip(peaks.y.tolist(), peaks.x.tolist(), strict=True)) == [(0, 0), (3, 4)]


def test_classes_below_the_threshold_have_no_peaks() -> None:
    heat = np.zeros((3, 4, 5), np.float32)
    heat[1, 2, 3] = 0.5
    assert [column.tolist() for column in find_peaks(heat, 0.5, 10)] == [[1], [2], [3], [0.5]]
    assert [len(column) for column in find_peaks(heat, 0.6, 10)] == [0, 0, 0, 0]


def test_peaks_outside_a_region_take_no_place_of_those_inside() -> None:
    heat = np.zeros((2, 8, 8), np.float32)
    heat[0, 1, 1], heat[0, 1, 5], heat[1, 5, 1], heat[1, 5, 5] = 0.9, 0.8, 0.7, 0.6
    for inside, found in (
        ((0, 0, 8, 8), [0.9, 0.8]),
        ((2, 0, 8, 8), [0.8, 0.6]),
        ((0, 2, 8, 8), [0.7, 0.6]),
        ((1.5, 0, 5.5, 8), [0.9, 0.7]),  # a centre is on an edge: it is inside on the left, and not on the right
    ):
        assert find_peaks(heat, 0.1, 2, inside=inside).heat.tolist() == pytest.approx(found)
