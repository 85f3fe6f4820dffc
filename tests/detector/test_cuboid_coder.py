"""Volumes as numbers on a grid of the ground, and back."""

from __future__ import annotations

import numpy as np
import pytest

from tallymark.detector.coders import CuboidCoder
from tallymark.detector.tta import ALL, View
from tallymark.geometry import Cuboids

CODE, SIDE = CuboidCoder(), 16


def volumes(count: int = 40, seed: int = 0) -> Cuboids:
    rng = np.random.default_rng(seed)
    place, z = rng.uniform(1, SIDE - 1, (count, 2)), rng.uniform(-1, 2, (count, 1))
    return Cuboids.of(np.hstack([place, z, rng.uniform(0.4, 5, (count, 3)), rng.uniform(-9, 9, (count, 1))]))


def turned(view: View, shapes: Cuboids) -> Cuboids:
    """Volumes as they lie in a view of the grid: their middles and the tips of their headings are turned."""

    def at(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x, y = (y, x) if view.transpose else (x, y)
        return (SIDE - x if view.mirror else x), (SIDE - y if view.flip else y)

    x, y = at(shapes.x, shapes.y)
    tip_x, tip_y = at(shapes.x + np.cos(shapes.yaw), shapes.y + np.sin(shapes.yaw))
    yaw = np.arctan2(tip_y - y, tip_x - x)
    return Cuboids(x, y, shapes.z, shapes.width, shapes.length, shapes.height, yaw)


def assert_same(told: Cuboids, truth: Cuboids) -> None:
    for one, other in zip(told.columns[:-1], truth.columns[:-1], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
    np.testing.assert_allclose(np.exp(1j * told.yaw), np.exp(1j * truth.yaw), atol=1e-9)


def test_what_is_told_is_read_back() -> None:
    truth, rng = volumes(), np.random.default_rng(1)
    x, y = truth.x + rng.uniform(-2, 2, 40), truth.y + rng.uniform(-2, 2, 40)
    values = CODE.encode(truth, x, y)
    assert values.shape == (40, CODE.values)
    told = CODE.decode(x, y, values)
    assert_same(told, truth)
    np.testing.assert_allclose(CODE.iou(told, truth), 1)


@pytest.mark.parametrize("view", ALL, ids=lambda view: "".join("tmf"[k] for k in range(3) if view[k]) or "same")
def test_a_view_turns_numbers_as_it_turns_volumes(view: View) -> None:
    truth = volumes()
    seen = turned(view, truth)
    x, y = seen.x + 0.3, seen.y - 0.4
    values = CODE.encode(seen, x, y)[:, :, None, None]
    back = CODE.invert_tta(values, view)[:, :, 0, 0]
    dx, dy = 0.3, -0.4
    dx, dy = (-dx if view.mirror else dx), (-dy if view.flip else dy)
    dx, dy = (dy, dx) if view.transpose else (dx, dy)
    assert_same(CODE.decode(truth.x + dx, truth.y + dy, back), truth)


def test_a_heading_that_nobody_knows_still_leaves_the_line() -> None:
    truth = volumes()
    values = CODE.encode(truth, truth.x, truth.y)
    values[:, 8:] *= -0.01  # a faint guess, and a wrong one
    told = CODE.decode(truth.x, truth.y, values)
    np.testing.assert_allclose(CODE.iou(told, truth), 1)
    np.testing.assert_allclose(np.cos(told.yaw - truth.yaw), -1)


def test_the_ground_is_scaled_and_heights_are_not() -> None:
    truth = volumes()
    grid = truth.scale(4)
    np.testing.assert_array_equal(grid.height, truth.height)
    np.testing.assert_array_equal(grid.z, truth.z)
    np.testing.assert_allclose(grid.ground.area, 16 * truth.ground.area)
    every = np.arange(len(truth))
    shifted = Cuboids(truth.x + 0.2, *truth.columns[1:])
    shared, union = truth.overlap(shifted, every, every)
    wider, whole = grid.overlap(shifted.scale(4), every, every)
    np.testing.assert_allclose(wider / whole, shared / union)


@pytest.mark.parametrize("view", ALL)
def test_points_that_are_listed_turn_as_a_grid_does(view: View) -> None:
    rng = np.random.default_rng(2)
    cell = np.append(rng.choice(SIDE**2, 30, replace=False), -1).astype(np.float32)
    listed = np.column_stack([cell, rng.uniform(-0.5, 0.5, (31, 2)), rng.random((31, 3))]).astype(np.float32)
    listed[-1, 1:] = 0

    def drawn(points: np.ndarray) -> np.ndarray:
        grid = np.zeros((SIDE, SIDE, 3), np.float32)
        row, column = np.divmod(points[:-1, 0].astype(int), SIDE)
        grid[row, column] = points[:-1, 3:]
        return grid

    seen = view.apply_points(listed, SIDE)
    np.testing.assert_array_equal(drawn(seen), view.apply(drawn(listed)))
    assert seen[-1].tolist() == [-1, 0, 0, 0, 0, 0]
    row, column = np.divmod(listed[:-1, 0], SIDE)
    there = volumes(30)
    there = Cuboids(column + 0.5 + listed[:-1, 1], row + 0.5 + listed[:-1, 2], *there.columns[2:])
    row, column = np.divmod(seen[:-1, 0], SIDE)
    np.testing.assert_allclose(column + 0.5 + seen[:-1, 1], turned(view, there).x, atol=1e-4)
    np.testing.assert_allclose(row + 0.5 + seen[:-1, 2], turned(view, there).y, atol=1e-4)
