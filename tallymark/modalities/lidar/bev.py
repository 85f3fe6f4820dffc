"""The ground seen from above: points of a lidar in the cells of a grid.

Rows of the grid run along y and columns along x, so that (0, 0) is the cell at x = -reach, y = -reach.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MANY = 64
"""Points in a cell that count as 1: more than a few say little more."""
BESIDES = 4
"""Channels besides the slices: highest, lowest, count, lag."""
LISTED = 6
"""Columns of `list_points`."""
EXACT = 1 << 24
"""Whole numbers below this are exact as float32."""


@dataclass(frozen=True)
class BEVGrid:
    """The part of the world that is seen, and how finely.

    reach: metres to each side of the vehicle: x and y from -reach to reach. low, high: metres, heights that are seen.
    cell: metres to a cell. slices: layers that the height is cut into. The upper ends are not part of it.
    """

    bev_range: float
    z_min: float
    z_max: float
    voxel_size: float
    height_bins: int

    def __post_init__(self) -> None:
        if not (
            self.bev_range > 0
            and self.voxel_size > 0
            and self.z_min < self.z_max
            and self.height_bins > 0
            and self.side > 0
        ):
            raise ValueError(f"nothing to be seen: {self}")

    @property
    def side(self) -> int:
        """Cells across."""
        return round(2 * self.bev_range / self.voxel_size)

    @property
    def channels(self) -> int:
        """Numbers that `bin_points` has for a cell."""
        return self.height_bins + BESIDES


def bin_points(points: np.ndarray, bird: BEVGrid) -> np.ndarray:
    """A grid (side, side, channels) float32 of points (n, 5): x, y, z, intensity, seconds before the sample.

    The channels are, for each slice from below, how many points it has; then the highest and the lowest point, as
    shares of the height that is seen; how many points there are in all; their mean lag in seconds. Counts are
    logarithms, 1 for `MANY` points. All of it is 0 where there are none.
    """
    return BEVCanvas(bird).draw(points)


class BEVCanvas:
    """A grid that is drawn on again and again: wiping off what was drawn takes far less time than a new one."""

    def __init__(self, bird: BEVGrid) -> None:
        self.bird = bird
        self._grid = np.zeros((bird.side**2, bird.channels), np.float32)
        self._filled = np.empty(0, np.int64)

    def draw(self, points: np.ndarray) -> np.ndarray:
        """The grid of these points, as `bin_points` describes it; it holds until the next one is drawn."""
        self._grid[self._filled] = 0
        self._filled, columns = _describe(points, self.bird)
        self._grid[self._filled] = columns
        return self._grid.reshape(self.bird.side, self.bird.side, -1)


def _describe(points: np.ndarray, bird: BEVGrid) -> tuple[np.ndarray, np.ndarray]:
    """The cells that have points, and the channels of each; few cells have any."""
    cell, height, seen = _cells(points, bird)
    lag = points[:, 4].take(seen)
    in_cell = np.bincount(cell, minlength=bird.side**2)
    filled = np.flatnonzero(in_cell > 0)
    place = np.empty(len(in_cell), np.int64)
    place[filled] = np.arange(len(filled))
    at, count = place[cell], in_cell[filled]
    column = np.empty((len(filled), bird.channels), np.float32)
    slices = np.bincount(
        at * bird.height_bins + (height * bird.height_bins).astype(np.int64),
        minlength=column.shape[0] * bird.height_bins,
    )
    column[:, : bird.height_bins] = _many(slices).reshape(-1, bird.height_bins)
    highest, lowest = np.zeros(len(filled), np.float32), np.ones(len(filled), np.float32)
    np.maximum.at(highest, at, height)
    np.minimum.at(lowest, at, height)
    column[:, -4], column[:, -3], column[:, -2] = highest, lowest, _many(count)
    column[:, -1] = np.bincount(at, lag, minlength=len(filled)) / count if lag.any() else 0
    return filled, column


def pillar_points(points: np.ndarray, bird: BEVGrid, most: int, rng: np.random.Generator | None = None) -> np.ndarray:
    """Points (n, 5) as a list (most, 6) float32, for a network that learns itself what to make of a cell.

    The columns are the number of the cell (row * side + column); how far the point is from the middle of its cell
    along x and along y, in cells; its height as a share of what is seen; its lag in seconds; and how far the vehicle
    is, 1 at `reach`. Of more than `most` points some are left out: by lot, or evenly without `rng`. Where there are
    fewer, the list ends with rows of which the cell is -1 and the rest 0.
    """
    if bird.side**2 > EXACT:
        raise ValueError(f"the cells of a grid of {bird.side} x {bird.side} cannot be numbered in float32")
    cell, height, seen = _cells(points, bird)
    if len(seen) > most:
        if rng is None:
            chosen = np.arange(most) * len(seen) // most
        else:
            chosen = rng.choice(len(seen), most, replace=False, shuffle=False)
        cell, height, seen = cell[chosen], height[chosen], seen[chosen]
    x, y, lag = (points[:, axis].take(seen) for axis in (0, 1, 4))
    row, column = np.divmod(cell, bird.side)
    listed = np.zeros((most, LISTED), np.float32)
    listed[:, 0] = -1
    used = listed[: len(seen)]
    used[:, 0] = cell
    used[:, 1] = (x + bird.bev_range) / bird.voxel_size - column - 0.5
    used[:, 2] = (y + bird.bev_range) / bird.voxel_size - row - 0.5
    used[:, 3] = height
    used[:, 4] = lag
    used[:, 5] = np.hypot(x, y) / bird.bev_range
    return listed


def _cells(points: np.ndarray, bird: BEVGrid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the points that are seen: their cells, their heights as shares of what is seen, and which they are.

    What is not finite is not seen.
    """
    column, row = ((points[:, axis] + bird.bev_range) / bird.voxel_size for axis in (0, 1))
    height = (points[:, 2] - bird.z_min) / (bird.z_max - bird.z_min)
    inside = (column >= 0) & (column < bird.side) & (row >= 0) & (row < bird.side) & (height >= 0) & (height < 1)
    seen = np.flatnonzero(inside)
    cell = row.take(seen).astype(np.int64) * bird.side + column.take(seen).astype(np.int64)
    return cell, height.take(seen), seen


def _many(count: np.ndarray) -> np.ndarray:
    """Counts as logarithms: 0 for none, 1 for `MANY`."""
    scaled: np.ndarray = (np.log1p(np.arange(count.max(initial=0) + 1)) / np.log1p(MANY)).astype(np.float32)
    return scaled[count]
