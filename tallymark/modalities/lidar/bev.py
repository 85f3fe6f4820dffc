"""Bird's-eye view (BEV): the points of a lidar in the cells of a grid on the ground.

Rows of the grid run along y and columns along x, so that cell (0, 0) is at x = y = -bev_range.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FULL_CELL = 64
"""Points in a cell that count as 1."""
EXTRA_CHANNELS = 4
"""Channels besides the height bins: highest and lowest point, count, lag."""
POINT_FEATURES = 6
"""Columns of `pillar_points`, besides painted ones."""
MAX_CELLS = 1 << 24
"""Integers up to this are exact as float32."""


@dataclass(frozen=True)
class BEVGrid:
    """bev_range: metres to each side of the vehicle. z_min, z_max: range of heights in metres.

    voxel_size: metres per cell. height_bins: into which the heights are divided. Upper ends are excluded.
    painted: further columns of the points, after the first five.
    """

    bev_range: float
    z_min: float
    z_max: float
    voxel_size: float
    height_bins: int
    painted: int = 0

    def __post_init__(self) -> None:
        if not (
            self.bev_range > 0
            and self.voxel_size > 0
            and self.z_min < self.z_max
            and self.height_bins > 0
            and self.side > 0
        ):
            raise ValueError(f"an empty grid: {self}")

    @property
    def side(self) -> int:
        """Cells along x and along y."""
        return round(2 * self.bev_range / self.voxel_size)

    @property
    def channels(self) -> int:
        """Channels of `bin_points`."""
        return self.height_bins + EXTRA_CHANNELS + self.painted


def select_points(points: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """The points (n, columns) where `kept` is true, column by column in memory, as they are used."""
    return points.T.take(np.flatnonzero(kept), axis=1).T


def bin_points(points: np.ndarray, grid: BEVGrid) -> np.ndarray:
    """A grid (side, side, channels) in float32 of points (n, 5 or more): x, y, z, intensity, seconds before the sample.

    The channels are the number of points in each height bin, the lowest first; the highest and the lowest point, as
    shares of the range of heights; the number of all points; their mean lag in seconds; and the mean of each further
    column of the points. Counts are logarithmic, 1 for `FULL_CELL` points. All channels of empty cells are 0.
    """
    return BEVCanvas(grid).draw(points)


class BEVCanvas:
    """A grid that is drawn on repeatedly: clearing it takes far less time than allocating one."""

    def __init__(self, grid: BEVGrid) -> None:
        self.grid = grid
        self._cells = np.zeros((grid.side**2, grid.channels), np.float32)
        self._rows = _as_rows(self._cells)
        self._filled = np.empty(0, np.int64)

    def draw(self, points: np.ndarray) -> np.ndarray:
        """The grid of `bin_points`; it is valid until the next call."""
        self._rows[self._filled] = np.zeros((), self._rows.dtype)
        self._filled, channels = _channels(points, self.grid)
        self._rows[self._filled] = _as_rows(channels)
        return self._cells.reshape(self.grid.side, self.grid.side, -1)


def _as_rows(cells: np.ndarray) -> np.ndarray:
    """(n,): the channels of each cell as one value, which NumPy copies in half of the time."""
    return cells.view(np.dtype((np.void, cells.strides[0])))[:, 0]


def _channels(points: np.ndarray, grid: BEVGrid) -> tuple[np.ndarray, np.ndarray]:
    """The cells with any points, which are few, and the channels of each."""
    cell, height, inside = _cells(points, grid)
    has_points = np.zeros(grid.side**2, bool)
    has_points[cell] = True
    filled = np.flatnonzero(has_points)
    index = np.empty(len(has_points), np.int64)
    index[filled] = np.arange(len(filled))
    own = index.take(cell)
    channel = own * grid.channels
    channel += (height * np.float32(grid.height_bins)).astype(np.int64)
    # All channels at once: those after the height bins have no counts, and are filled in below.
    counts = np.bincount(channel, minlength=len(filled) * grid.channels).reshape(-1, grid.channels)
    count = np.einsum("cb->c", counts[:, : grid.height_bins])  # in half of the time of a sum
    channels = _log_count(counts)
    highest = np.zeros(len(filled), np.float32)
    lowest = np.ones(len(filled), np.float32)
    np.maximum.at(highest, own, height)
    np.minimum.at(lowest, own, height)
    after = grid.height_bins
    channels[:, after] = highest
    channels[:, after + 1] = lowest
    channels[:, after + 2] = _log_count(count)
    means = {after + EXTRA_CHANNELS + at: 5 + at for at in range(grid.painted)}
    if points[:, 4].any():  # no lag at all, where there is only one sweep
        means[after + 3] = 4
    for mean_channel, column in means.items():
        channels[:, mean_channel] = np.bincount(own, points[inside, column], minlength=len(filled)) / count
    return filled, channels


def pillar_points(points: np.ndarray, grid: BEVGrid, count: int, rng: np.random.Generator | None = None) -> np.ndarray:
    """Points (n, 5 or more) as a list (count, 6 or more) in float32, for `PillarEncoder`.

    The columns are the cell (row * side + column); the offset from the centre of the cell along x and y, in cells; the
    height as a share of the range; the lag in seconds; the distance from the vehicle, 1 at `bev_range`; and the further
    columns of the points. More than `count` points are subsampled: at random, or evenly without `rng`. Fewer are padded
    with cell -1 and zeros.
    """
    if grid.side**2 > MAX_CELLS:
        raise ValueError(f"the cells of a grid of {grid.side} x {grid.side} cannot be numbered in float32")
    cell, height, inside = _cells(points, grid)
    if len(inside) > count:
        if rng is None:
            chosen = np.arange(count) * len(inside) // count
        else:
            chosen = rng.choice(len(inside), count, replace=False, shuffle=False)
        cell, height, inside = cell[chosen], height[chosen], inside[chosen]
    x, y, lag = (points[:, axis].take(inside) for axis in (0, 1, 4))
    row, column = np.divmod(cell, grid.side)
    listed = np.zeros((count, POINT_FEATURES + grid.painted), np.float32)
    listed[:, 0] = -1
    used = listed[: len(inside)]
    used[:, 0] = cell
    used[:, 1] = (x + grid.bev_range) / grid.voxel_size - column - 0.5
    used[:, 2] = (y + grid.bev_range) / grid.voxel_size - row - 0.5
    used[:, 3] = height
    used[:, 4] = lag
    used[:, 5] = np.hypot(x, y) / grid.bev_range
    for at in range(grid.painted):
        used[:, POINT_FEATURES + at] = points[:, 5 + at].take(inside)
    return listed


def _cells(points: np.ndarray, grid: BEVGrid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the points inside the grid: their cells, their heights as shares of the range, and their indices.

    Points that are not finite are outside.
    """
    column, row = ((points[:, axis] + grid.bev_range) / grid.voxel_size for axis in (0, 1))
    height = (points[:, 2] - grid.z_min) / (grid.z_max - grid.z_min)
    within = (column >= 0) & (column < grid.side) & (row >= 0) & (row < grid.side) & (height >= 0) & (height < 1)
    inside = np.flatnonzero(within)
    with np.errstate(invalid="ignore"):  # of points that are not finite
        cell = np.floor(row) * grid.side + np.floor(column)  # before points are taken: that is slower than arithmetic
    return cell.take(inside).astype(np.int64), height.take(inside), inside


def _log_count(count: np.ndarray) -> np.ndarray:
    """Counts as logarithms: 0 for none, 1 for `FULL_CELL`."""
    table: np.ndarray = (np.log1p(np.arange(count.max(initial=0) + 1)) / np.log1p(FULL_CELL)).astype(np.float32)
    return table.take(count)
