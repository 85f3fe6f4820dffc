"""Polygons and run lengths against other ways of saying the same."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallymark.formats.gathered import Refused
from tallymark.formats.outlines import (
    counts_of,
    decode_counts,
    encode_counts,
    fill,
    masks_of,
    runs_of,
    runs_of_counts,
    union,
)
from tallymark.geometry import Masks

SHAPE = (40, 60)


@given(st.lists(st.integers(0, 1 << 40), max_size=30))
def test_compressed_counts_come_back(counts: list[int]) -> None:
    assert decode_counts(encode_counts(counts)) == counts


def test_compressed_counts_as_others_write_them() -> None:
    mask = pytest.importorskip("pycocotools.mask")
    rng = np.random.default_rng(3)
    for _ in range(20):
        picture = cv2.blur(rng.uniform(0, 1, SHAPE), (7, 7)) > 0.5
        theirs = mask.encode(np.asfortranarray(picture.astype(np.uint8)))["counts"].decode()
        assert theirs == encode_counts(counts_of(Masks.of([picture], SHAPE), 0))
        runs = runs_of({"size": list(SHAPE), "counts": theirs}, SHAPE)
        assert (masks_of([runs], SHAPE).bitmap(0) == picture).all()


@given(st.integers(0, 1 << 32))
def test_a_polygon_holds_the_pixels_whose_centres_are_inside(seed: int) -> None:
    rng = np.random.default_rng(seed)
    corners = rng.uniform(-10, 70, (rng.integers(3, 7), 2)).astype(np.float32)  # some cross themselves or the edge
    picture = masks_of([fill(corners, SHAPE)], SHAPE).bitmap(0)
    for row, column in rng.integers(0, SHAPE, (40, 2)).tolist():
        assert picture[row, column] == odd_crossings(corners, column + 0.5, row + 0.5)


def odd_crossings(corners: np.ndarray, x: float, y: float) -> bool:
    """Whether a ray to the right crosses an odd number of edges."""
    inside = False
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if (y0 > y) != (y1 > y) and x < x0 + (y - y0) * (x1 - x0) / (y1 - y0):
            inside = not inside
    return inside


def test_a_square_of_ten_has_a_hundred_pixels() -> None:
    start, length = fill(np.array([[10, 5], [20, 5], [20, 15], [10, 15]], float), SHAPE)
    assert length.tolist() == [10] * 10
    assert start.tolist() == [column * 40 + 5 for column in range(10, 20)]


def test_parts_are_one_mask() -> None:
    whole = runs_of([[0, 0, 4, 0, 4, 4, 0, 4], [2, 2, 6, 2, 6, 6, 2, 6]], SHAPE)
    picture = np.zeros(SHAPE, bool)
    picture[:4, :4] = picture[2:6, 2:6] = True
    assert (masks_of([whole], SHAPE).bitmap(0) == picture).all()
    assert int(whole[1].sum()) == 28
    assert len(union([(np.empty(0, np.int64), np.empty(0, np.int64))])[0]) == 0


def test_a_polygon_outside_holds_nothing() -> None:
    assert len(runs_of([[100, 100, 110, 100, 110, 110]], SHAPE)[0]) == 0


@pytest.mark.parametrize("counts", [[3, -1, 2398], [2399], [1.5, 2398.5], "12", None])
def test_counts_that_do_not_fill_the_picture_are_refused(counts: object) -> None:
    with pytest.raises(Refused):
        runs_of_counts(counts, SHAPE)
