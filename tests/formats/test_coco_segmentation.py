"""COCO polygons and RLE, compared with independent implementations."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallymark.formats.coco_segmentation import (
    counts_of,
    decode_counts,
    encode_counts,
    masks_of,
    parse_counts,
    parse_segmentation,
    rasterize,
    union,
)
from tallymark.formats.parsing import ParseError
from tallymark.geometry import Masks

SHAPE = (40, 60)


@given(st.lists(st.integers(0, 1 << 40), max_size=30))
def test_compressed_counts_round_trip(counts: list[int]) -> None:
    assert decode_counts(encode_counts(counts)) == counts


def test_compressed_counts_equal_those_of_pycocotools() -> None:
    coco_mask = pytest.importorskip("pycocotools.mask")
    rng = np.random.default_rng(3)
    for _ in range(20):
        mask = cv2.blur(rng.uniform(0, 1, SHAPE), (7, 7)) > 0.5
        theirs = coco_mask.encode(np.asfortranarray(mask.astype(np.uint8)))["counts"].decode()
        assert theirs == encode_counts(counts_of(Masks.of([mask], SHAPE), 0))
        runs = parse_segmentation({"size": list(SHAPE), "counts": theirs}, SHAPE)
        assert (masks_of([runs], SHAPE).bitmap(0) == mask).all()


@given(st.integers(0, 1 << 32))
def test_a_polygon_contains_the_pixels_whose_centres_are_inside(seed: int) -> None:
    rng = np.random.default_rng(seed)
    corners = rng.uniform(-10, 70, (rng.integers(3, 7), 2)).astype(np.float32)  # some cross themselves or the edge
    mask = masks_of([rasterize(corners, SHAPE)], SHAPE).bitmap(0)
    for row, column in rng.integers(0, SHAPE, (40, 2)).tolist():
        assert mask[row, column] == odd_crossings(corners, column + 0.5, row + 0.5)


def odd_crossings(corners: np.ndarray, x: float, y: float) -> bool:
    """Whether a ray to the right crosses an odd number of edges."""
    inside = False
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if (y0 > y) != (y1 > y) and x < x0 + (y - y0) * (x1 - x0) / (y1 - y0):
            inside = not inside
    return inside


def test_a_square_of_ten_has_a_hundred_pixels() -> None:
    start, length = rasterize(np.array([[10, 5], [20, 5], [20, 15], [10, 15]], float), SHAPE)
    assert length.tolist() == [10] * 10
    assert start.tolist() == [column * 40 + 5 for column in range(10, 20)]


def test_several_polygons_are_one_mask() -> None:
    whole = parse_segmentation([[0, 0, 4, 0, 4, 4, 0, 4], [2, 2, 6, 2, 6, 6, 2, 6]], SHAPE)
    mask = np.zeros(SHAPE, bool)
    mask[:4, :4] = True
    mask[2:6, 2:6] = True
    assert (masks_of([whole], SHAPE).bitmap(0) == mask).all()
    assert int(whole[1].sum()) == 28
    assert len(union([(np.empty(0, np.int64), np.empty(0, np.int64))])[0]) == 0


def test_a_polygon_outside_the_image_is_empty() -> None:
    assert len(parse_segmentation([[100, 100, 110, 100, 110, 110]], SHAPE)[0]) == 0


@pytest.mark.parametrize("counts", [[3, -1, 2398], [2399], [1.5, 2398.5], "12", None])
def test_counts_that_do_not_add_up_to_the_image_are_rejected(counts: object) -> None:
    with pytest.raises(ParseError):
        parse_counts(counts, SHAPE)
