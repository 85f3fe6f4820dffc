"""Points inside volumes, against looking at every pair."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tallymark.data.geometry import Cuboids
from tallymark.data.inside import members, points_inside


@given(st.integers(0, 1 << 32))
def test_as_many_as_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(-6, 6, (300, 4)).astype(np.float32)
    points[rng.integers(0, 300, 3), rng.integers(0, 3)] = (np.nan, np.inf, -np.inf)
    volumes = Cuboids.of(
        np.column_stack([rng.uniform(-5, 5, (8, 3)), rng.uniform(0.5, 9, (8, 3)), rng.uniform(-7, 7, 8)])
    )
    counts = points_inside(points, volumes)
    assert counts.tolist() == [int(members(points, volumes, at).sum()) for at in range(8)]


def test_length_runs_along_the_heading() -> None:
    volumes = Cuboids.of(np.array([[1, 1, 0, 1, 4, 2, np.pi / 2], [1, 1, 0, 1, 4, 2, 0]]))
    points = np.array([[1, 2.9, 0], [2.9, 1, 0], [1, 1, 1], [1, 1, 1.01], [np.nan, 1, 0]])
    assert members(points, volumes, 0).tolist() == [True, False, True, False, False]
    assert points_inside(points, volumes).tolist() == [2, 2]


def test_nothing_in_nothing() -> None:
    none = Cuboids.of(np.empty((0, 7)))
    assert points_inside(np.empty((0, 4)), none).tolist() == []
    assert points_inside(np.empty((0, 4)), Cuboids.of(np.ones((2, 7)))).tolist() == [0, 0]
    assert points_inside(np.zeros((3, 3)), none).tolist() == []
