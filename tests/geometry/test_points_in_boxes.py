"""Points in cuboids, compared with testing every pair."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tallymark.geometry import Cuboids
from tallymark.geometry.points_in_boxes import count_points_in_cuboids, in_cuboid, points_in_cuboids


@given(st.integers(0, 1 << 32))
def test_points_in_cuboids_equals_testing_each_pair(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(-6, 6, (300, 4)).astype(np.float32)
    points[rng.integers(0, 300, 3), rng.integers(0, 3)] = (np.nan, np.inf, -np.inf)
    cuboids = Cuboids.of(
        np.column_stack([rng.uniform(-5, 5, (8, 3)), rng.uniform(0.5, 9, (8, 3)), rng.uniform(-7, 7, 8)])
    )
    expected = np.zeros((300, 8), bool)
    for at in range(8):
        x, y, z, width, length, height, yaw = (column[at] for column in cuboids.columns)
        with np.errstate(invalid="ignore"):
            offset = (points[:, 0] - x + 1j * (points[:, 1] - y)) * np.exp(-1j * yaw)
            flat = (np.abs(offset.real) <= length / 2) & (np.abs(offset.imag) <= width / 2)
            expected[:, at] = flat & (np.abs(points[:, 2] - z) <= height / 2)
    point, cuboid = points_in_cuboids(points, cuboids)
    found = np.zeros_like(expected)
    found[point, cuboid] = True
    assert np.array_equal(found, expected)
    assert len(point) == expected.sum()
    assert (np.diff(cuboid) >= 0).all()
    assert count_points_in_cuboids(points, cuboids).tolist() == expected.sum(axis=0).tolist()


def test_length_runs_along_the_heading() -> None:
    cuboids = Cuboids.of(np.array([[1, 1, 0, 1, 4, 2, np.pi / 2], [1, 1, 0, 1, 4, 2, 0]]))
    points = np.array([[1, 2.9, 0], [2.9, 1, 0], [1, 1, 1], [1, 1, 1.01], [np.nan, 1, 0]])
    assert in_cuboid(points, cuboids, 0).tolist() == [True, False, True, False, False]
    assert count_points_in_cuboids(points, cuboids).tolist() == [2, 2]


def test_nothing_in_nothing() -> None:
    none = Cuboids.of(np.empty((0, 7)))
    assert count_points_in_cuboids(np.empty((0, 4)), none).tolist() == []
    assert count_points_in_cuboids(np.empty((0, 4)), Cuboids.of(np.ones((2, 7)))).tolist() == [0, 0]
    assert count_points_in_cuboids(np.zeros((3, 3)), none).tolist() == []
