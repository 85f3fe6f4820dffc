"""Cuboids as numbers on a grid of the ground, and back."""

from __future__ import annotations

import numpy as np
import pytest

from tallymark.detector.cuboid_coder import CuboidCoder
from tallymark.detector.tta import ALL, TTATransform
from tallymark.geometry import Cuboids

CODER = CuboidCoder()
SIDE = 16


def transform_name(transform: TTATransform) -> str:
    return "+".join(name for name, used in transform._asdict().items() if used) or "identity"


TRANSFORMS = pytest.mark.parametrize("transform", ALL, ids=transform_name)


def random_cuboids(count: int = 40, seed: int = 0) -> Cuboids:
    rng = np.random.default_rng(seed)
    center = rng.uniform(1, SIDE - 1, (count, 2))
    z = rng.uniform(-1, 2, (count, 1))
    return Cuboids.of(np.hstack([center, z, rng.uniform(0.4, 5, (count, 3)), rng.uniform(-9, 9, (count, 1))]))


def transform_cuboids(transform: TTATransform, shapes: Cuboids) -> Cuboids:
    """Cuboids on a transformed grid: both their centres and the points that they head for are transformed."""

    def at(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x, y = (y, x) if transform.transpose else (x, y)
        return (SIDE - x if transform.hflip else x), (SIDE - y if transform.vflip else y)

    x, y = at(shapes.x, shapes.y)
    tip_x, tip_y = at(shapes.x + np.cos(shapes.yaw), shapes.y + np.sin(shapes.yaw))
    yaw = np.arctan2(tip_y - y, tip_x - x)
    return Cuboids(x, y, shapes.z, shapes.width, shapes.length, shapes.height, yaw)


def assert_same(decoded: Cuboids, truth: Cuboids) -> None:
    for one, other in zip(decoded.columns[:-1], truth.columns[:-1], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
    np.testing.assert_allclose(np.exp(1j * decoded.yaw), np.exp(1j * truth.yaw), atol=1e-9)


def test_decode_inverts_encode() -> None:
    truth = random_cuboids()
    rng = np.random.default_rng(1)
    x, y = truth.x + rng.uniform(-2, 2, 40), truth.y + rng.uniform(-2, 2, 40)
    values = CODER.encode(truth, x, y)
    assert values.shape == (40, CODER.values)
    decoded = CODER.decode(x, y, values)
    assert_same(decoded, truth)
    np.testing.assert_allclose(CODER.iou(decoded, truth), 1)


@TRANSFORMS
def test_values_of_transformed_cuboids_are_inverted(transform: TTATransform) -> None:
    truth = random_cuboids()
    transformed = transform_cuboids(transform, truth)
    dx, dy = 0.3, -0.4
    values = CODER.encode(transformed, transformed.x + dx, transformed.y + dy)[:, :, None, None]
    inverted = CODER.invert_tta(values, transform)[:, :, 0, 0]
    dx, dy = (-dx if transform.hflip else dx), (-dy if transform.vflip else dy)
    dx, dy = (dy, dx) if transform.transpose else (dx, dy)
    assert_same(CODER.decode(truth.x + dx, truth.y + dy, inverted), truth)


def test_a_wrong_heading_keeps_the_orientation() -> None:
    truth = random_cuboids()
    values = CODER.encode(truth, truth.x, truth.y)
    values[:, 8:] *= -0.01  # small, and of the opposite sign
    decoded = CODER.decode(truth.x, truth.y, values)
    np.testing.assert_allclose(CODER.iou(decoded, truth), 1)
    np.testing.assert_allclose(np.cos(decoded.yaw - truth.yaw), -1)


def test_scaling_changes_the_footprint_and_not_the_height() -> None:
    truth = random_cuboids()
    grid = truth.scale(4)
    np.testing.assert_array_equal(grid.height, truth.height)
    np.testing.assert_array_equal(grid.z, truth.z)
    np.testing.assert_allclose(grid.ground.area, 16 * truth.ground.area)
    every = np.arange(len(truth))
    shifted = Cuboids(truth.x + 0.2, *truth.columns[1:])
    intersection, union = truth.overlap(shifted, every, every)
    scaled_intersection, scaled_union = grid.overlap(shifted.scale(4), every, every)
    np.testing.assert_allclose(scaled_intersection / scaled_union, intersection / union)


@TRANSFORMS
def test_pillar_points_are_transformed_as_a_grid_is(transform: TTATransform) -> None:
    rng = np.random.default_rng(2)
    cell = np.append(rng.choice(SIDE**2, 30, replace=False), -1).astype(np.float32)
    points = np.column_stack([cell, rng.uniform(-0.5, 0.5, (31, 2)), rng.random((31, 3))]).astype(np.float32)
    points[-1, 1:] = 0

    def rasterized(points: np.ndarray) -> np.ndarray:
        grid = np.zeros((SIDE, SIDE, 3), np.float32)
        row, column = np.divmod(points[:-1, 0].astype(int), SIDE)
        grid[row, column] = points[:-1, 3:]
        return grid

    transformed = transform.apply_points(points, SIDE)
    np.testing.assert_array_equal(rasterized(transformed), transform.apply(rasterized(points)))
    assert transformed[-1].tolist() == [-1, 0, 0, 0, 0, 0]
    row, column = np.divmod(points[:-1, 0], SIDE)
    others = random_cuboids(30).columns[2:]
    cuboids = Cuboids(column + 0.5 + points[:-1, 1], row + 0.5 + points[:-1, 2], *others)
    row, column = np.divmod(transformed[:-1, 0], SIDE)
    expected = transform_cuboids(transform, cuboids)
    np.testing.assert_allclose(column + 0.5 + transformed[:-1, 1], expected.x, atol=1e-4)
    np.testing.assert_allclose(row + 0.5 + transformed[:-1, 2], expected.y, atol=1e-4)


def test_a_peak_is_the_mean_over_the_neighbours_that_regress_its_centre() -> None:
    """At the edge of the grid: the cell to the right regresses the same cuboid, and the one above another."""
    truth = random_cuboids(2)
    coded = [CODER.encode(truth, np.full(2, x), np.full(2, y)) for x, y in ((2.5, 1.5), (3.5, 1.5), (2.5, 0.5))]
    values = np.full((2, CODER.values, 4, 4), 77.0)
    values[1, :, 1, 2], values[1, :, 1, 3], values[1, :, 0, 2] = coded[0][0], coded[1][0], coded[2][1]
    values[1, 3:, 1, 2] -= 0.3
    values[1, 3:, 1, 3] += 0.1
    heat, quality = np.full((3, 4, 4), 0.8), np.full((2, 4, 4), 0.5)
    quality[1, 1, 3] = 0.25
    label, group, y, x = (np.array([number]) for number in (2, 1, 1, 2))
    outputs = {"heat": heat, "quality": quality, "values": values.reshape(-1, 4, 4)}
    read = CODER.read_values(outputs, label, group, y, x)
    np.testing.assert_allclose(read[0, :3], coded[0][0, :3])
    np.testing.assert_allclose(read[0, 3:], coded[0][0, 3:] - (2 * 0.3 - 0.1) / 3)
    outputs["quality"] = quality * 0
    assert np.isfinite(CODER.read_values(outputs, label, group, y, x)).all()
