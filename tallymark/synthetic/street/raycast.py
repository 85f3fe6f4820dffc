"""Ray casting against simple solids: the first hit of each lidar or camera ray.

Frames and units: metres, z up. A solid is upright and rotated by its yaw: a box, whose sides may be inclined inwards,
or an ellipsoid. Only the rays in a solid's window of the ray grid are tested, all such pairs in one vectorized pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from tallymark.geometry.pairs import ragged
from tallymark.geometry.poses import Poses

GROUND = -1
NOTHING = -2
RANGE = 105.0
"""Maximum range of the lidar in metres."""
SLACK = 0.001
"""Margin of the windows in radians."""
TILT = 0.06
"""Largest tilt of a lidar in radians."""

Ground = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From an origin (3,) and directions (3, …) to distances (…), inf for rays that do not hit the ground."""

Three = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Components x, y and z."""


@dataclass(frozen=True, eq=False)
class Solids:
    """Columns of n solids.

    center, half (n, 3): centre, and half of length, width, height. taper (n, 2): relative decrease of length and width
    at the top. ball (n,): an ellipsoid instead of a box. passes: fraction of rays that pass through (glass, leaves).
    depth: largest penetration of a ray in metres. color (n, 3): BGR. owner: the object that it is part of, or -1.
    """

    center: np.ndarray
    half: np.ndarray
    yaw: np.ndarray
    taper: np.ndarray
    ball: np.ndarray
    passes: np.ndarray
    depth: np.ndarray
    color: np.ndarray
    owner: np.ndarray

    def __len__(self) -> int:
        return len(self.yaw)

    @classmethod
    def join(cls, parts: Sequence[Solids]) -> Solids:
        """The solids of all parts."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def take(self, index: np.ndarray) -> Solids:
        """The solids at these positions."""
        return Solids(*(getattr(self, field.name)[index] for field in fields(self)))

    @property
    def corners(self) -> np.ndarray:
        """(n, 8, 3) corners of the 3D box around each."""
        signs = np.array([[x, y, z] for z in (-1, 1) for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1))])
        x, y, z = np.moveaxis(signs * self.half[:, None], -1, 0)
        cos = np.cos(self.yaw)[:, None]
        sin = np.sin(self.yaw)[:, None]
        return np.stack([cos * x - sin * y, sin * x + cos * y, z], axis=-1) + self.center[:, None]


def cast(
    solids: Solids,
    origin: np.ndarray,
    directions: np.ndarray,
    windows: np.ndarray,
    start: np.ndarray,
    rng: np.random.Generator | None,
) -> tuple[np.ndarray, np.ndarray]:
    """The distance to the first hit of each ray, and the number of the solid (or `GROUND`, `NOTHING`).

    Parameters
    ----------
    directions
        (3, rows, columns) unit vectors.
    windows
        (n, 4) first and last (exclusive) row, first and last column of each solid in the ray grid.
    start
        (rows, columns) distances to the ground.
    rng
        For rays that pass through or penetrate; None if every solid is opaque.
    """
    distance = start.astype(np.float32).ravel()
    which = np.where(distance < np.inf, GROUND, NOTHING)
    rays = directions.reshape(3, -1)
    columns = directions.shape[2]
    top, bottom, left, right = windows.T
    width = np.maximum(right - left, 0)
    away = origin - solids.center
    near = np.linalg.norm(away, axis=1) - np.linalg.norm(solids.half, axis=1)
    area = np.where(near < RANGE, np.maximum(bottom - top, 0) * width, 0)
    visible = np.flatnonzero(area)
    for number, step in ragged(np.zeros_like(visible), area[visible]):
        solid = visible[number]
        ray = (top[solid] + step // width[solid]) * columns + left[solid] + step % width[solid]
        at = _intersect(solids, away, solid, rays[:, ray])
        if rng is not None:
            at[rng.random(len(at), np.float32) < solids.passes[solid]] = np.inf
            at += solids.depth.astype(np.float32)[solid] * rng.random(len(at), np.float32)
        nearer = np.flatnonzero(at < distance[ray])
        at, ray, solid = at[nearer], ray[nearer], solid[nearer]
        np.minimum.at(distance, ray, at)
        first = at == distance[ray]
        which[ray[first]] = solid[first]
    return distance.reshape(start.shape), which.reshape(start.shape)


def _intersect(solids: Solids, away: np.ndarray, solid: np.ndarray, rays: np.ndarray) -> np.ndarray:
    """Distances at which rays (3, m), one for each of the solids (m,), enter it; inf if they miss.

    Computed in the solid's frame, in which it reaches from -1 to 1. away (n, 3): the origin relative to the solids.
    """

    def each(column: np.ndarray) -> np.ndarray:
        return column.astype(np.float32)[solid]

    cos = np.cos(solids.yaw)
    sin = np.sin(solids.yaw)
    length, width, height = solids.half.T
    x, y, z = rays
    towards = (
        each(cos / length) * x + each(sin / length) * y,
        each(cos / width) * y - each(sin / width) * x,
        each(1 / height) * z,
    )
    east, north, up = away.T
    start = each((cos * east + sin * north) / length), each((cos * north - sin * east) / width), each(up / height)
    ball = solids.ball[solid]
    at = _intersect_box(towards, start, each(solids.taper[:, 0] / 2), each(solids.taper[:, 1] / 2))
    at[ball] = _intersect_ellipsoid(*(np.stack([part[ball] for part in parts]) for parts in (towards, start)))
    return at


def _intersect_box(towards: Three, start: Three, lean_x: np.ndarray, lean_y: np.ndarray) -> np.ndarray:
    """Slab method: a ray is inside after the last side that it enters through, and before the first that it leaves."""
    enter = np.zeros(len(lean_x), np.float32)
    leave = np.full(len(lean_x), np.inf, np.float32)
    none = np.float32(0)
    for axis, lean in ((0, lean_x), (1, lean_y), (2, none)):
        for sign in (np.float32(1), np.float32(-1)):
            slope = sign * towards[axis] + lean * towards[2]
            room = (1 - lean) - (sign * start[axis] + lean * start[2])
            with np.errstate(divide="ignore", invalid="ignore"):
                at = room / slope
            np.maximum(enter, np.where(slope < 0, at, none), out=enter)
            np.minimum(leave, np.where(slope > 0, at, np.float32(np.inf)), out=leave)
    return np.where((enter < leave) & (enter > 0), enter, np.float32(np.inf))


def _intersect_ellipsoid(towards: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Intersection with the unit sphere: the smaller root of a quadratic equation."""
    a = (towards * towards).sum(axis=0)
    b = (towards * start).sum(axis=0)
    c = (start * start).sum(axis=0) - 1
    root = np.maximum(b * b - a * c, 0)
    return np.where((root > 0) & (b < 0), (-b - np.sqrt(root)) / a, np.float32(np.inf))


def rotate(matrix: np.ndarray, rays: np.ndarray) -> np.ndarray:
    """Multiply a matrix (k, 3) by rays (3, …). Without BLAS, whose threads would compete with ours."""
    return np.einsum("ij,j...->i...", matrix, rays)


def _ground_distance(solids: Solids, origin: np.ndarray) -> np.ndarray:
    """Lower bound of the horizontal distance to each solid in metres, for a sensor that may be tilted."""
    away = solids.center - origin
    cos = np.cos(solids.yaw)
    sin = np.sin(solids.yaw)
    ahead = cos * away[:, 0] + sin * away[:, 1]
    left = cos * away[:, 1] - sin * away[:, 0]
    gaps = np.maximum(np.abs([ahead, left]) - solids.half[:, :2].T, 0)
    return np.maximum(np.hypot(*gaps) - TILT * (np.abs(away[:, 2]) + solids.half[:, 2]), 0)


@dataclass(frozen=True)
class Lidar:
    """A spinning lidar.

    columns: rays of each beam per revolution. noise: standard deviation of ranges in metres. drop: fraction of lost
    returns.
    """

    beams: int = 64
    columns: int = 1024
    noise: float = 0.015
    drop: float = 0.04

    @property
    def elevations(self) -> np.ndarray:
        """Elevation of each beam in radians, from the lowest; densest just below the horizon."""
        position = np.linspace(0, 1, self.beams)
        return np.radians(np.interp(position, [0, 0.22, 0.88, 1], [-25, -8, 2.5, 12]))

    @property
    def directions(self) -> np.ndarray:
        """(3, beams, columns) unit vectors in the sensor frame; column 0 is along x."""
        up = self.elevations[:, None]
        azimuth = np.arange(self.columns) * (2 * np.pi / self.columns)
        rows = [np.cos(up) * np.cos(azimuth), np.cos(up) * np.sin(azimuth), np.sin(up) * np.ones(self.columns)]
        return np.array(rows, np.float32)

    def windows(self, solids: Solids, pose: Poses) -> np.ndarray:
        """(n, 4) windows of the solids in the ray grid, which is repeated so that windows may cross its end."""
        x, y, z = np.moveaxis(pose.inverse().apply(solids.corners.reshape(-1, 3)).reshape(-1, 8, 3), -1, 0)
        near = _ground_distance(solids, pose.translation[0])
        far = np.hypot(x, y).max(axis=1)
        top = z.max(axis=1)
        bottom = z.min(axis=1)
        high = np.arctan2(top, np.where(top > 0, near, far)) + SLACK
        low = np.arctan2(bottom, np.where(bottom < 0, near, far)) - SLACK
        middle = np.arctan2(y.mean(axis=1), x.mean(axis=1))
        spread = (np.arctan2(y, x) - middle[:, None] + np.pi) % (2 * np.pi) - np.pi
        first = spread.min(axis=1) - SLACK
        last = spread.max(axis=1) + SLACK
        step = 2 * np.pi / self.columns
        left = np.floor((middle + first) / step).astype(int) % self.columns
        right = left + np.minimum(np.ceil((last - first) / step).astype(int) + 1, self.columns)
        left = np.where(near > 0, left, 0)
        right = np.where(near > 0, right, self.columns)
        rows = np.searchsorted(self.elevations, low), np.searchsorted(self.elevations, high, "right")
        return np.stack([*rows, left, right], axis=1)

    def sweep(
        self, solids: Solids, ground: Ground, pose: Poses, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """A point cloud (m, 5) of x, y, z in the sensor frame, intensity and ring, and the owner (m,) of each point."""
        directions = self.directions
        origin = pose.translation[0]
        matrix = pose.matrices()[0].astype(np.float32)
        rays = rotate(matrix, directions)
        floor = ground(origin, rays)
        windows = self.windows(solids, pose)
        twice = np.concatenate([rays, rays], axis=2)
        distance, which = cast(solids, origin, twice, windows, np.concatenate([floor, floor], axis=1), rng)
        first = distance[:, : self.columns]
        second = distance[:, self.columns :]
        which = np.where(second < first, which[:, self.columns :], which[:, : self.columns])
        distance = np.minimum(first, second)
        # Far returns are weak, and many of them are lost.
        strength = np.clip(1.25 - distance / RANGE, 0, 1) * (1 - self.drop)
        kept = (rng.random(distance.shape, np.float32) < strength) & (distance < RANGE)
        measured = distance[kept] + self.noise * rng.standard_normal(int(kept.sum()), np.float32)
        ring = np.broadcast_to(np.arange(self.beams, dtype=np.float32)[:, None], kept.shape)[kept]
        intensity = np.full(len(ring), 100, np.float32)  # a placeholder, as in the Lyft data
        points = np.stack([*(directions[:, kept] * measured), intensity, ring], axis=1)
        owners = np.append(solids.owner, [-1, -1])  # for NOTHING and GROUND, which index from the end
        return points, owners[which[kept]]
