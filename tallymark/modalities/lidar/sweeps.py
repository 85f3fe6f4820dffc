"""Scans: the points of an item around the vehicle, on whose ground z is 0, whatever its data say of sensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallymark.core.problems import BadInput, Problem
from tallymark.data.catalog import Catalog
from tallymark.geometry.poses import Poses
from tallymark.io.lidar import read_sweep
from tallymark.io.media import BadMedia
from tallymark.modalities.lidar.bev import BEVCanvas, BEVGrid, bin_points, pillar_points
from tallymark.modalities.lidar.recipe import LidarRecipe

NEAR, STEP = 25.0, 0.1
"""Metres around the lidar in which the ground is looked for, and to how many metres."""
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
BLOCK = 32
"""Sides of what a network sees are multiples of this."""
ALL_ROUND = 180.0


@dataclass(frozen=True, eq=False)
class Scan:
    """points: (n, 5) x forward, y left, z up, intensity, and seconds before the sample.

    stand: from this frame to the one that the truth of the data set is in.
    """

    points: np.ndarray
    stand: Poses


def read_scan(catalog: Catalog, item: int, sweeps: int = 1) -> Scan:
    """The sweep of an item, with those before it where they are known; a `BadMedia` if it cannot be read.

    Where no table tells where the vehicle stood, truth is in the frame of the lidar, and the ground is found out.
    """
    if catalog.drive is not None:
        return Scan(catalog.drive.points(item, sweeps, "ego"), catalog.drive.ego_pose(item))
    path = catalog.path(item)
    if path is None:
        raise BadMedia("missing_media", "no file", "get the file, or leave the item out")
    points = read_sweep(path)
    points = points[np.isfinite(points[:, :3]).all(axis=1)]
    ground = estimate_ground_height(points)
    own = np.column_stack([points[:, :4], np.zeros(len(points))]).astype(np.float32)
    own[:, 2] -= ground
    return Scan(own, Poses.of(UPRIGHT, (0, 0, ground)))


def bev_grid(recipe: LidarRecipe) -> BEVGrid:
    """What a recipe sees of the ground; its side must be one that a network can halve often enough."""
    if recipe.z_min >= recipe.z_max:
        found, remedy = f"z_min={recipe.z_min:g} z_max={recipe.z_max:g}", "give e.g. z_min=-2 z_max=4"
        raise BadInput(Problem("bad_option", "recipe", found, "z_min below z_max", remedy))
    bird = BEVGrid(recipe.bev_range, recipe.z_min, recipe.z_max, recipe.voxel_size, recipe.height_bins)
    if bird.side % BLOCK or abs(bird.side * bird.voxel_size - 2 * bird.bev_range) > bird.voxel_size / 1000:
        side = max(round(bird.side / BLOCK), 1) * BLOCK
        found, expected = (
            f"bev_range={recipe.bev_range:g} voxel_size={recipe.voxel_size:g}",
            f"2 bev_range / voxel_size a multiple of {BLOCK}",
        )
        raise BadInput(
            Problem("bad_option", "recipe", found, expected, f"give e.g. bev_range={side * recipe.voxel_size / 2:g}")
        )
    return bird


def bev_input(
    points: np.ndarray, recipe: LidarRecipe, rng: np.random.Generator | None = None, board: BEVCanvas | None = None
) -> np.ndarray:
    """Points as the network of a recipe is shown them: bins (side, side, channels), or a list (points, 1, 6).

    board: one of the recipe's own ground to draw bins on, if it may be used again.
    """
    bird = bev_grid(recipe)
    points = points if recipe.fov_degrees >= ALL_ROUND else points[in_field_of_view(points, recipe.fov_degrees)]
    if recipe.bev_encoder == "bins":
        return bin_points(points, bird) if board is None else board.draw(points)
    return pillar_points(points, bird, recipe.max_points, rng)[:, None]


def in_field_of_view(points: np.ndarray, degrees: float) -> np.ndarray:
    """Which points (n, 2 or more) lie within so many degrees to either side of straight ahead."""
    inside: np.ndarray = np.abs(np.arctan2(points[:, 1], points[:, 0])) <= np.radians(degrees)
    return inside


def estimate_ground_height(points: np.ndarray) -> float:
    """The height that the lowest points of most square metres near the lidar have: 0 without any."""
    near = points[(np.abs(points[:, :2]) < NEAR).all(axis=1)]
    if not len(near):
        return 0.0
    row, column = np.floor(near[:, :2] + NEAR).astype(np.int64).T
    lowest = np.full(int(2 * NEAR) ** 2, np.inf)
    np.minimum.at(lowest, row * int(2 * NEAR) + column, near[:, 2])
    lowest = lowest[np.isfinite(lowest)]
    level = np.floor(lowest / STEP)
    levels, count = np.unique(level, return_counts=True)
    return float(np.median(lowest[np.abs(level - levels[count.argmax()]) <= 1]))
