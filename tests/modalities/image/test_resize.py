"""Resizing: area averaging by matrix products gives the very bytes of OpenCV."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from tallymark.modalities.image.resize import PERIODS, resize

SIDES = (16, 32, 48, 96, 100, 128)


@pytest.mark.parametrize("height", SIDES)
@pytest.mark.parametrize("width", SIDES)
def test_shrinking_gives_the_bytes_of_opencv(width: int, height: int) -> None:
    rng = np.random.default_rng(width * height)
    image = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
    image[: height // 2] //= 128  # where halves, which are rounded to even numbers, are common
    for by in range(1, 17):
        shown = max(width * by // 17, 1), max(height * by // 16, 1)
        np.testing.assert_array_equal(resize(image, *shown), cv2.resize(image, shown, interpolation=cv2.INTER_AREA))


@pytest.mark.parametrize(("side", "shown"), [(768, 576), (512, 288), (512, 384), (512, 480)])
def test_sizes_of_the_challenges_at_their_speeds_are_exact(
    side: int, shown: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = np.random.default_rng(side).integers(0, 256, (side, side, 3), dtype=np.uint8)
    expected = cv2.resize(image, (shown, shown), interpolation=cv2.INTER_AREA)
    monkeypatch.delattr(cv2, "resize")
    np.testing.assert_array_equal(resize(image, shown, shown), expected)


def test_sums_are_exact_in_single_precision() -> None:
    assert 255 * max(PERIODS) ** 2 < 2**24
    assert all(period.bit_count() == 1 for period in PERIODS)
