"""Large pictures are shown in parts; every place is told from exactly one of them, and nothing changes at the seams."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tallymark.modalities.inputs import spectrogram_config
from tallymark.modalities.tiling import image_tiles, tile_spans

from tallymark.core.problems import BadInput
from tallymark.modalities import tiling as windows
from tallymark.modalities.audio.recipe import AudioRecipe


@given(length=st.integers(1, 5000), largest=st.sampled_from([320, 512, 1536]), lap=st.sampled_from([32, 64, 256]))
def test_spans_cover_a_length_once(length: int, largest: int, lap: int) -> None:
    found = list(tile_spans(length, largest, lap))
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
        shown, by = image_tiles(picture, side)
        windows.LARGEST = 10_000
        [whole], _ = image_tiles(picture, side)
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


@pytest.mark.parametrize(
    ("changes", "found", "remedy"),
    [
        ({"n_bins": 128}, "at most 118, from fmin=40 up to half of sample_rate=1000", "give n_bins=96"),
        ({"n_bins": 90}, "a multiple of 32", "give n_bins=96"),
        ({"n_bins": 10}, "a multiple of 32", "give n_bins=32"),
        ({"n_bins": 32, "fmin": 400.0}, "at most 26", "give a longer window, a higher hertz or a lower low"),
        ({"hop_seconds": 0.0333}, "hop_seconds=0.0333, expected a whole number of samples", "give hop_seconds=0.033"),
        ({"hop_seconds": 0.0001}, "hop_seconds=0.0001", "give hop_seconds=0.001"),
        ({"window_seconds": 0.2565}, "window_seconds=0.2565", "give window_seconds=0.256"),
    ],
)
def test_what_cannot_be_heard_is_refused(changes: dict[str, object], found: str, remedy: str) -> None:
    with pytest.raises(BadInput, match=f"{found}.*{remedy}$"):
        spectrogram_config(AudioRecipe().replace(**changes))


@pytest.mark.parametrize("changes", [{}, {"n_bins": 64}, {"sample_rate": 2000, "n_bins": 224, "hop_seconds": 0.0325}])
def test_what_can_be_heard(changes: dict[str, object]) -> None:
    recipe = AudioRecipe().replace(**changes)
    assert spectrogram_config(recipe).bands == recipe.n_bins
