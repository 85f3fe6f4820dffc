"""Outlines of masks: valid polygons that fill exactly the same pixels."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from tallymark.formats.coco_segmentation import rasterize, union
from tallymark.geometry import Masks
from tallymark.geometry.outlines import as_one_ring, outlines, signed_area

PICTURES = {
    "a pixel": (["#"], 1, 0),
    "a frame": (["###", "#.#", "###"], 1, 1),
    "two parts that touch": (["#.", ".#"], 2, 0),
    "a hole that touches the outside": (["###.", "#.##", "##.#", ".###"], 1, 2),
    "a spiral closed at a corner": (["####", "#..#", "#.#.", "####"], 1, 1),
}


@pytest.mark.parametrize("name", PICTURES)
def test_parts_and_holes(name: str) -> None:
    lines, parts, holes = PICTURES[name]
    filled = np.array([[letter == "#" for letter in line] for line in lines])
    found = outlines(Masks.of([filled], filled.shape), 0)
    assert (len(found), sum(len(polygon) - 1 for polygon in found)) == (parts, holes)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 1), st.floats(0.05, 0.95))
def test_polygons_are_valid_and_fill_the_same_pixels(height: int, width: int, seed: int, share: float) -> None:
    filled = np.random.default_rng(seed).random((height, width)) < share
    polygons = outlines(Masks.of([filled], (height, width)), 0)
    shapes = [shapely.Polygon(outer, holes) for outer, *holes in polygons]
    assert all(shape.is_valid for shape in shapes)
    assert sum(shape.area for shape in shapes) == filled.sum()
    if not polygons:
        assert not filled.any()
        return
    assert all(signed_area(outer) > 0 and all(signed_area(hole) < 0 for hole in holes) for outer, *holes in polygons)
    start, length = union([rasterize(as_one_ring(polygons), (height, width))])
    assert (Masks(start, length, np.array([0, len(start)]), (height, width)).bitmap(0) == filled).all()
