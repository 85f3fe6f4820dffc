"""Sweeps around the vehicle: x forward, y left, z above its ground, whatever the data set says about its sensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallymark.core.problems import BadInput, Problem
from tallymark.data.catalog import Catalog
from tallymark.detector.strides import BLOCK
from tallymark.geometry.poses import Poses
from tallymark.io.lidar import read_sweep
from tallymark.modalities.base import path_of
from tallymark.modalities.lidar.bev import BEVCanvas, BEVGrid, bin_points, pillar_points, select_points
from tallymark.modalities.lidar.painting import paint, painted_columns
from tallymark.modalities.lidar.recipe import LidarRecipe

GROUND_RANGE = 25.0
"""Metres around the lidar in which the height of the ground is estimated."""
GROUND_STEP = 0.1
"""Metres per bin of the histogram of ground heights."""
PLAIN = LidarRecipe()
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
"""The quaternion of no rotation."""
ALL_ROUND = 180.0
"""Degrees to either side of a field of view without limits."""


@dataclass(frozen=True, eq=False)
class Scan:
    """points: (n, 5 or more) x forward, y left, z up, intensity, seconds before the sample, and painted columns.

    pose: of this frame in the frame that the truth of the data set is in.
    """

    points: np.ndarray
    pose: Poses


def read_scan(catalog: Catalog, item: int, recipe: LidarRecipe = PLAIN) -> Scan:
    """The sweep of an item, with those before it where they are known; a `BadMedia` if it cannot be read.

    Where no table has poses, the truth is in the frame of the lidar, and the height of the ground is estimated.
    """
    if catalog.drive is not None:
        points = catalog.drive.points(item, recipe.sweeps, "ego")
        return Scan(paint(points, catalog.drive, item, recipe), catalog.drive.ego_pose(item))
    points = read_sweep(path_of(catalog, item))
    if not np.isfinite(points).all():
        points = points[np.isfinite(points[:, :3]).all(axis=1)]
    own = np.zeros((5, len(points)), np.float32).T  # column by column, as they are used
    own[:, :4] = points[:, :4]
    ground = estimate_ground_height(own)
    own[:, 2] -= ground
    return Scan(paint(own, None, item, recipe), Poses.of(UPRIGHT, (0, 0, ground)))


MAX_SIDE = 4096
"""Cells along x and along y, at most."""


def bev_grid(recipe: LidarRecipe) -> BEVGrid:
    """The bird's-eye view of a recipe; a `BadInput` unless the network can halve its side as often as it has to."""
    if recipe.z_min >= recipe.z_max:
        found = f"z_min={recipe.z_min:g} z_max={recipe.z_max:g}"
        raise BadInput(Problem("bad_option", "recipe", found, "z_min below z_max", "give e.g. z_min=-2 z_max=4"))
    heights = recipe.z_min, recipe.z_max
    grid = BEVGrid(recipe.bev_range, *heights, recipe.voxel_size, recipe.height_bins, painted_columns(recipe))
    if grid.side > MAX_SIDE:
        found = f"bev_range={recipe.bev_range:g} voxel_size={recipe.voxel_size:g}"
        expected = f"at most {MAX_SIDE} cells to a side: 2 bev_range / voxel_size"
        raise BadInput(Problem("bad_option", "recipe", found, expected, "give a larger voxel_size"))
    if grid.side % BLOCK or abs(grid.side * grid.voxel_size - 2 * grid.bev_range) > grid.voxel_size / 1000:
        side = max(round(grid.side / BLOCK), 1) * BLOCK
        found = f"bev_range={recipe.bev_range:g} voxel_size={recipe.voxel_size:g}"
        expected = f"2 bev_range / voxel_size a multiple of {BLOCK}"
        remedy = f"give e.g. bev_range={side * recipe.voxel_size / 2:g}"
        raise BadInput(Problem("bad_option", "recipe", found, expected, remedy))
    return grid


def bev_input(
    points: np.ndarray, recipe: LidarRecipe, rng: np.random.Generator | None = None, canvas: BEVCanvas | None = None
) -> np.ndarray:
    """Points as the input of the network: height bins (side, side, channels), or a list for pillars (points, 1, 6).

    canvas: of the recipe's grid, to draw height bins on where the result is used before the next call.
    """
    grid = bev_grid(recipe)
    points = cut_field_of_view(points, recipe.fov_degrees)
    if recipe.bev_encoder == "bins":
        return bin_points(points, grid) if canvas is None else canvas.draw(points)
    return pillar_points(points, grid, recipe.max_points, rng)[:, None]


def cut_field_of_view(points: np.ndarray, degrees: float) -> np.ndarray:
    """The points in a field of view; all of them if it is all around: rounding can put an angle above 180."""
    return points if degrees >= ALL_ROUND else select_points(points, in_field_of_view(points, degrees))


def in_field_of_view(points: np.ndarray, degrees: float) -> np.ndarray:
    """Which points (n, 2 or more) lie within so many degrees to either side of straight ahead."""
    inside: np.ndarray = np.abs(np.arctan2(points[:, 1], points[:, 0])) <= np.radians(degrees)
    return inside


def estimate_ground_height(points: np.ndarray) -> float:
    """The most common height of the lowest point in each square metre near the lidar; 0 without any points."""
    near = np.flatnonzero(np.maximum(np.abs(points[:, 0]), np.abs(points[:, 1])) < GROUND_RANGE)
    if not len(near):
        return 0.0
    side = int(2 * GROUND_RANGE)
    places = (np.floor(points[near, axis] + GROUND_RANGE).astype(np.int64) for axis in (0, 1))
    row, column = (np.minimum(place, side - 1) for place in places)  # a sum can round up
    lowest = np.full(side**2, np.inf)
    np.minimum.at(lowest, row * side + column, points[near, 2].astype(float))  # of one type it is far faster
    lowest = lowest[np.isfinite(lowest)]
    level = np.floor(lowest / GROUND_STEP)
    levels, count = np.unique(level, return_counts=True)
    return float(np.median(lowest[np.abs(level - levels[count.argmax()]) <= 1]))
