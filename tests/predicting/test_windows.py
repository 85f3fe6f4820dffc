"""Large pictures are shown in parts; every place is told from exactly one of them, and nothing changes at the seams."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallymark.predicting import windows
from tallymark.predicting.showing import ear_of
from tallymark.predicting.windows import picture_windows, spans
from tallymark.problems import BadInput
from tallymark.recipe import SoundRecipe


@given(length=st.integers(1, 5000), largest=st.sampled_from([320, 512, 1536]), lap=st.sampled_from([32, 64, 256]))
def test_spans_cover_a_length_once(length: int, largest: int, lap: int) -> None:
    found = list(spans(length, largest, lap))
    assert found[0][2] == 0
    assert found[-1][3] == length
    assert [span[2] for span in found[1:]] == [span[3] for span in found[:-1]]
    for start, stop, low, high in found:
        assert start <= low < high <= stop
        assert stop - start <= largest
        assert low == 0 or low - start >= lap // 2 - 16
        assert high == length or stop - high >= lap // 2 - 16


@given(width=st.integers(40, 700), height=st.integers(40, 700), side=st.sampled_from([64, 200, 500]))
def test_windows_show_the_picture(width: int, height: int, side: int) -> None:
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 255, (height, width, 3), dtype=np.uint8)
    largest, windows.LARGEST, lap, windows.LAP = windows.LARGEST, 192, windows.LAP, 64
    try:
        shown, by = picture_windows(picture, side)
        windows.LARGEST = 10_000
        [whole], _ = picture_windows(picture, side)
    finally:
        windows.LARGEST, windows.LAP = largest, lap
    assert by == max(width, height) / side
    told = np.zeros(whole.grid.shape[:2], int)
    for window in shown:
        left, top, right, bottom = window.inside
        assert not any(edge % 32 for edge in window.grid.shape[:2])
        part = np.s_[window.y + top : window.y + bottom, window.x + left : window.x + right]
        told[part] += 1
        assert (window.grid[top:bottom, left:right] == whole.grid[part]).all()
    down, across = whole.inside[3], whole.inside[2]
    assert (told[:down, :across] == 1).all()
    assert told.sum() == down * across


def test_there_are_no_bands_above_half_of_the_rate() -> None:
    assert ear_of(SoundRecipe().but(bands=118)).bands == 118
    with pytest.raises(BadInput, match=r"bands=119.*at most 118, from low=40 up to half of hertz=1000"):
        ear_of(SoundRecipe().but(bands=119))
