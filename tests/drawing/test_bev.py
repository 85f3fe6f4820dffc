"""Cuboids in bird's-eye view and in camera images."""

from __future__ import annotations

import numpy as np

from tallymark.drawing.bev import BEVView, cuboid_corners, draw_bev, project_to_camera
from tallymark.drawing.colors import class_color
from tallymark.geometry import Cuboids
from tests.drawing.pixels import has_color


def test_a_cuboid_ahead_is_drawn_above_the_centre_with_its_heading() -> None:
    car = Cuboids.of(np.array([[20, 10, 0, 2, 4, 1.5, 0]]))
    drawn = has_color(draw_bev(np.empty((0, 4)), car, np.array([0]), BEVView(0, 0, 40)), class_color(0))
    rows, columns = np.nonzero(drawn)
    assert abs(rows.mean() - 120) < 4
    assert abs(columns.mean() - 180) < 4
    half = 4 / 2 * 6
    assert drawn[int(120 - half / 2), 180 - 1 : 180 + 2].any()
    assert not drawn[int(120 + half / 2), 180 - 1 : 180 + 2].any()


def test_only_cuboids_in_front_of_a_camera_and_in_its_image_are_visible() -> None:
    cuboids = Cuboids.of(np.array([[0, 0, 10, 2, 2, 2, 0], [0, 0, -10, 2, 2, 2, 0], [50, 0, 10, 2, 2, 2, 0]]))
    matrix = np.array([[100.0, 0, 50], [0, 100, 50], [0, 0, 1]])
    pixels, visible = project_to_camera(cuboid_corners(cuboids), matrix, (100, 100))
    assert visible.tolist() == [True, False, False]
    np.testing.assert_allclose(pixels[0].mean(axis=0), [50, 50])
