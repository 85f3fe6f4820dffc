"""Scans: the points of an item around the vehicle, on whose ground z is 0, whatever its data say of sensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallymark.core.problems import BadInput, Problem
from tallymark.core.recipe import LidarRecipe
from tallymark.data.catalog import Catalog
from tallymark.geometry.poses import Poses
from tallymark.io.lidar import read_sweep
from tallymark.io.media import BadMedia
from tallymark.modalities.lidar.bev import Bird, Board, bin_points, list_points

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
        return Scan(catalog.drive.points(item, sweeps, "ego"), catalog.drive.stand(item))
    path = catalog.path(item)
    if path is None:
        raise BadMedia("missing_media", "no file", "get the file, or leave the item out")
    points = read_sweep(path)
    points = points[np.isfinite(points[:, :3]).all(axis=1)]
    ground = find_ground(points)
    own = np.column_stack([points[:, :4], np.zeros(len(points))]).astype(np.float32)
    own[:, 2] -= ground
    return Scan(own, Poses.of(UPRIGHT, (0, 0, ground)))


def bird_of(recipe: LidarRecipe) -> Bird:
    """What a recipe sees of the ground; its side must be one that a network can halve often enough."""
    if recipe.low >= recipe.high:
        found, remedy = f"low={recipe.low:g} high={recipe.high:g}", "give e.g. low=-2 high=4"
        raise BadInput(Problem("bad_option", "recipe", found, "low below high", remedy))
    bird = Bird(recipe.reach, recipe.low, recipe.high, recipe.cell, recipe.slices)
    if bird.side % BLOCK or abs(bird.side * bird.cell - 2 * bird.reach) > bird.cell / 1000:
        side = max(round(bird.side / BLOCK), 1) * BLOCK
        found, expected = f"reach={recipe.reach:g} cell={recipe.cell:g}", f"2 reach / cell a multiple of {BLOCK}"
        raise BadInput(Problem("bad_option", "recipe", found, expected, f"give e.g. reach={side * recipe.cell / 2:g}"))
    return bird


def seen_from_above(
    points: np.ndarray, recipe: LidarRecipe, rng: np.random.Generator | None = None, board: Board | None = None
) -> np.ndarray:
    """Points as the network of a recipe is shown them: bins (side, side, channels), or a list (points, 1, 6).

    board: one of the recipe's own ground to draw bins on, if it may be used again.
    """
    bird = bird_of(recipe)
    points = points if recipe.front >= ALL_ROUND else points[ahead_of(points, recipe.front)]
    if recipe.reader == "bins":
        return bin_points(points, bird) if board is None else board.draw(points)
    return list_points(points, bird, recipe.points, rng)[:, None]


def ahead_of(points: np.ndarray, degrees: float) -> np.ndarray:
    """Which points (n, 2 or more) lie within so many degrees to either side of straight ahead."""
    inside: np.ndarray = np.abs(np.arctan2(points[:, 1], points[:, 0])) <= np.radians(degrees)
    return inside


def find_ground(points: np.ndarray) -> float:
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
