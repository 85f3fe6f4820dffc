"""Resampling: as soxr does it, whatever the block sizes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallymark.io.resampling import comb_filter, decimate, decimation_filters, low_pass, resample, resample_blocks

WANTED = 1000


def in_pieces(samples: np.ndarray, cuts: list[int], rate: int) -> np.ndarray:
    return np.concatenate(list(resample_blocks(iter(np.split(samples, sorted(cuts))), rate, WANTED)))


def tone(rate: int, hertz: float, seconds: float = 4.0) -> np.ndarray:
    return np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate).astype(np.float32)


@pytest.mark.parametrize(
    ("rate", "by"),
    [
        (800, []),
        (1000, []),
        (2000, [2]),
        (8000, [4, 2]),
        (9000, [3, 3]),
        (16_000, [8, 2]),
        (32_000, [16, 2]),
        (44_100, [10]),
        (48_000, [24, 2]),
        (31_249, []),
        (37_000, [37]),
        (10_000_000, [500, 20]),
    ],
)
def test_rates_are_decimated_by_what_divides_them(rate: int, by: list[int]) -> None:
    assert [one.by for one in decimation_filters(rate, WANTED)] == by


@pytest.mark.parametrize("rate", [2000, 4000, 9000, 32_000, 96_000, 384_000])
@pytest.mark.parametrize("passband", [0.3, 0.418, 0.45])
def test_the_passband_is_flat_and_without_aliases(rate: int, passband: float) -> None:
    hertz = np.linspace(0, rate / 2, 4001)
    gain = np.ones(len(hertz), complex)
    input_rate = rate
    for one in decimation_filters(rate, WANTED, passband):
        gain *= one.gain(hertz / input_rate)
        input_rate //= one.by
    kept = hertz <= passband * WANTED
    folded = np.abs((hertz + WANTED / 2) % WANTED - WANTED / 2) <= passband * WANTED
    assert np.abs(gain[kept] - 1).max() < 1e-4
    assert np.abs(gain[folded & ~kept]).max() < 1.1e-4


@pytest.mark.parametrize("rate", [2000, 9000, 16_000, 32_000, 44_100, 96_000])
@pytest.mark.parametrize("hertz", [0.0, 20.0, 220.0, 430.0])
def test_what_is_kept_is_as_loud_and_as_late_as_before(rate: int, hertz: float) -> None:
    samples = tone(rate, hertz) if hertz else np.ones(4 * rate, np.float32)
    told = in_pieces(samples, [1, rate, rate + 7, 3 * rate], rate)
    wanted = resample(samples, rate, WANTED)
    assert len(told) == len(wanted)
    assert np.abs(told - wanted)[200:-200].max() < 5e-4  # near their edge, filters for other rates differ by as much


@pytest.mark.parametrize("hertz", [700.0, 1700.0, 3600.0, 3780.0, 4000.0, 4220.0, 8100.0, 15_900.0])
def test_what_is_too_high_is_not_folded_back(hertz: float) -> None:
    told = in_pieces(tone(32_000, hertz), [], 32_000)
    assert np.abs(told)[200:-200].max() < 1e-4


@given(
    length=st.integers(0, 60_000),
    cuts=st.lists(st.integers(0, 60_000), max_size=8),
    by=st.sampled_from([2, 4, 5, 8, 12]),
    passband=st.sampled_from([0.1, 0.25, 0.45]),
    comb=st.booleans(),
)
def test_pieces_leave_no_trace(length: int, cuts: list[int], by: int, passband: float, comb: bool) -> None:
    samples = np.random.default_rng(length).standard_normal(length).astype(np.float32)
    pieces = np.split(samples, sorted(min(cut, length) for cut in cuts))
    used = comb_filter(by, passband) if comb else low_pass(by, passband)
    told = np.concatenate(list(decimate(iter(pieces), used)))
    whole = np.concatenate(list(decimate(iter([samples]), used)))
    assert len(told) == round(length / by)
    assert np.allclose(told, whole, atol=1e-6)


def test_whole_numbers_are_taken_as_they_are() -> None:
    samples = (1000 * tone(32_000, 100)).astype(np.int16)
    assert np.allclose(in_pieces(samples, [5], 32_000), in_pieces(samples.astype(np.float32), [5], 32_000))
