"""The bird's-eye view, against a loop over the points."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallymark.modalities.lidar.bev import FULL_CELL, POINT_FEATURES, BEVCanvas, BEVGrid, bin_points, pillar_points

SMALL = BEVGrid(bev_range=4, z_min=-1, z_max=3, voxel_size=0.5, height_bins=4)


def some_points(seed: int, count: int) -> np.ndarray:
    """More points than the grid has, many in the same cell, some at the very edges, a few that are not finite."""
    rng = np.random.default_rng(seed)
    points = rng.normal(0, 2.5, (count, 5)).astype(np.float32)
    points[:, 4] = rng.choice([0, 0.2, 0.4], count)
    points[::7, :2] = np.round(points[::7, :2] * 2) / 2
    points[::11, 2] = np.round(points[::11, 2])
    points[:4, :3] = [[np.nan, 0, 0], [0, np.inf, 0], [0, 0, -np.inf], [4, 0, 0]]
    return points


def by_loop(points: np.ndarray, bev: BEVGrid) -> np.ndarray:
    grid = np.zeros((bev.side, bev.side, bev.channels))
    found: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for x, y, z, _, lag in points.tolist():
        if -bev.bev_range <= x < bev.bev_range and -bev.bev_range <= y < bev.bev_range and bev.z_min <= z < bev.z_max:
            row, column = (
                math.floor((y + bev.bev_range) / bev.voxel_size),
                math.floor((x + bev.bev_range) / bev.voxel_size),
            )
            found.setdefault((row, column), []).append(((z - bev.z_min) / (bev.z_max - bev.z_min), lag))
    for cell, members in found.items():
        heights = [height for height, _ in members]
        for k in range(bev.height_bins):
            count = sum(math.floor(height * bev.height_bins) == k for height in heights)
            grid[cell][k] = math.log1p(count) / math.log1p(FULL_CELL)
        rest = max(heights), min(heights), math.log1p(len(members)) / math.log1p(FULL_CELL)
        grid[cell][bev.height_bins :] = *rest, sum(lag for _, lag in members) / len(members)
    return grid


@given(st.integers(0, 2**32 - 1), st.integers(4, 300))
def test_bins_are_those_of_a_loop(seed: int, count: int) -> None:
    points = some_points(seed, count)
    grid = bin_points(points, SMALL)
    assert grid.dtype == np.float32
    assert grid.shape == (16, 16, 8) == (SMALL.side, SMALL.side, SMALL.channels)
    np.testing.assert_allclose(grid, by_loop(points, SMALL), atol=1e-6)


def test_a_canvas_shows_only_the_last_points() -> None:
    canvas = BEVCanvas(SMALL)
    for seed, count in ((0, 300), (1, 4), (2, 100)):
        points = some_points(seed, count)
        assert np.array_equal(canvas.draw(points), bin_points(points, SMALL))


def test_a_point_is_in_its_cell() -> None:
    grid = bin_points(np.array([[-3.9, 3.9, 0.5, 9, 0.3]], np.float32), SMALL)
    assert np.argwhere(grid.any(axis=2)).tolist() == [[15, 0]]
    one = math.log(2) / math.log1p(FULL_CELL)
    assert np.allclose(grid[15, 0], [0, one, 0, 0, 0.375, 0.375, one, 0.3])


def test_a_full_cell_counts_as_1() -> None:
    grid = bin_points(np.zeros((FULL_CELL, 5), np.float32), SMALL)
    assert grid[8, 8, 1] == grid[8, 8, -2] == 1


@pytest.mark.parametrize("count", [0, 1])
def test_points_outside_leave_the_grid_empty(count: int) -> None:
    points = np.full((count, 5), 100, np.float32)
    assert not bin_points(points, SMALL).any()
    assert (pillar_points(points, SMALL, 3)[:, 0] == -1).all()


@given(st.integers(0, 2**32 - 1), st.integers(4, 300))
def test_pillar_points_can_be_converted_back(seed: int, count: int) -> None:
    points = some_points(seed, count)
    grid = by_loop(points, SMALL)
    listed = pillar_points(points, SMALL, 300)
    assert listed.shape == (300, POINT_FEATURES)
    used = listed[listed[:, 0] >= 0]
    assert not listed[len(used) :, 1:].any()
    assert (listed[len(used) :, 0] == -1).all()
    row, column = np.divmod(used[:, 0].astype(int), SMALL.side)
    x, y = (
        (at + 0.5 + offset) * SMALL.voxel_size - SMALL.bev_range
        for at, offset in ((column, used[:, 1]), (row, used[:, 2]))
    )
    back = np.column_stack([x, y, used[:, 3] * 4 - 1, np.zeros(len(used)), used[:, 4]])
    assert (np.abs(used[:, 1:3]) <= 0.5 + 1e-6).all()
    assert np.allclose(used[:, 5], np.hypot(x, y) / SMALL.bev_range, atol=1e-6)
    filled = np.zeros(grid.shape[:2])
    np.add.at(filled, (row, column), 1)
    assert np.allclose(np.log1p(filled) / math.log1p(FULL_CELL), grid[..., -2])
    inside = np.isfinite(points[:, :3]).all(axis=1) & (points[:, 2] >= -1) & (points[:, 2] < 3)
    inside &= ((points[:, :2] >= -4) & (points[:, :2] < 4)).all(axis=1)
    np.testing.assert_allclose(back[:, [0, 1, 2, 4]], points[inside][:, [0, 1, 2, 4]], atol=1e-5)


def test_too_many_points_are_subsampled() -> None:
    points = np.random.default_rng(0).uniform(-0.9, 0.9, (1000, 5)).astype(np.float32)
    even = pillar_points(points, SMALL, 100)
    assert np.array_equal(even, pillar_points(points[::10], SMALL, 100))
    drawn = [pillar_points(points, SMALL, 100, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])
    whole = pillar_points(points, SMALL, 1000)
    assert len(np.unique(drawn[0], axis=0)) == 100
    assert len(np.unique(np.concatenate([whole, drawn[0]]), axis=0)) == 1000


def test_an_empty_grid_is_refused() -> None:
    for wrong in ((0, -1, 3, 0.5, 4), (4, 3, -1, 0.5, 4), (4, -1, 3, 0, 4), (4, -1, 3, 0.5, 0), (4, -1, 3, 100, 4)):
        with pytest.raises(ValueError, match="an empty grid"):
            BEVGrid(*wrong)
    with pytest.raises(ValueError, match="numbered"):
        pillar_points(np.zeros((1, 5), np.float32), BEVGrid(2049, -1, 1, 1, 1), 1)
