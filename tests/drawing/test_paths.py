"""Outlines as SVG paths: where the shape is, short, and never with a number that is none."""

from __future__ import annotations

import numpy as np

from tallymark.drawing.paths import ground_paths, mask_paths, polygon_path, projected_paths, rectangle_paths
from tallymark.geometry import Cuboids, Masks
from tallymark.geometry.affine import translation
from tests.drawing.svg import filled, iou, lines_of

AS_IT_IS = translation(0, 0)


def test_rectangles_are_short_and_rounded() -> None:
    rows = np.array([[1.26, -0.01, 30, 12.5], [0, 0, np.nan, 5], [0, 0, np.inf, 5], [0, 0, 1e12, 5]])
    assert rectangle_paths(rows) == ["M1.3 0H30V12.5H1.3Z", "", "", "M0 0H100000V5H0Z"]
    assert rectangle_paths(np.empty((0, 4))) == []


def test_polygons_of_nothing_are_empty() -> None:
    assert polygon_path([]) == polygon_path([np.empty((0, 2))]) == polygon_path([np.full((3, 2), np.nan)]) == ""
    assert polygon_path([np.array([[0, 0], [3, 0.04]])], closed=False) == "M0 0L3 0"


def test_masks_are_outlined_with_their_parts_and_holes() -> None:
    mask = np.zeros((60, 80), bool)
    mask[5:40, 10:50] = True
    mask[15:30, 20:35] = False
    mask[20:24, 25:30] = True  # an island in the hole
    mask[50:55, 60:75] = True
    (path,) = mask_paths(Masks.of([mask], mask.shape), AS_IT_IS)
    assert (filled(path, mask.shape) == mask).all()
    assert path.count("M") == 4


def test_outlines_of_masks_are_simplified_below_half_a_pixel() -> None:
    rows, columns = np.mgrid[:200, :200]
    disk = (rows - 100) ** 2 + (columns - 90) ** 2 < 70**2
    slanted = np.abs(rows - 0.37 * columns - 60) < 9
    masks = Masks.of([disk, slanted], disk.shape)
    half = np.array([[0.5, 0, 0], [0, 0.5, 0]])
    for mask, path, small in zip((disk, slanted), mask_paths(masks, AS_IT_IS), mask_paths(masks, half), strict=True):
        assert iou(filled(path, mask.shape), mask) > 0.97
        assert iou(filled(small, (100, 100)), mask[::2, ::2]) > 0.94
        assert len(small) < len(path) / 3  # steps of half a pixel are straight lines


def test_masks_smaller_than_a_pixel_keep_an_outline() -> None:
    mask = np.zeros((400, 400), bool)
    mask[200:203, 100:102] = True
    empty = np.zeros_like(mask)
    path, nothing = mask_paths(Masks.of([mask, empty], mask.shape), np.array([[0.1, 0, 0], [0, 0.1, 0]]))
    (corners,) = lines_of(path)
    np.testing.assert_allclose([corners.min(axis=0), corners.max(axis=0)], [[10, 20], [10.2, 20.3]], atol=0.1)
    assert nothing == ""


def test_footprints_have_a_line_to_the_front() -> None:
    cuboids = Cuboids.of(np.array([[10, 20, 0, 2, 6, 1, 0], [0, 0, 0, 2, 6, 1, np.nan]]))
    path, bad = ground_paths(cuboids, AS_IT_IS)
    outline, heading = lines_of(path)
    np.testing.assert_allclose([outline.min(axis=0), outline.max(axis=0)], [[7, 19], [13, 21]])
    np.testing.assert_allclose(heading, [[10, 20], [13, 20]])
    assert bad == ""


def test_projected_cuboids_have_all_edges() -> None:
    corners = np.arange(16.0).reshape(1, 8, 2).repeat(2, axis=0)
    path, hidden = projected_paths(corners, np.array([True, False]))
    assert hidden == ""
    assert sorted(map(len, lines_of(path))) == [2] * 6 + [4] * 2
