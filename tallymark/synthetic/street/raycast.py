"""Rays against simple solids: what a lidar or a camera sees first, and how far away.

Frames and units: metres, z up. A solid is upright and turned by its yaw: a box whose sides may lean inwards, or a ball
(an ellipsoid). Only the rays in a solid's window of the grid are tried on it, and all such pairs at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from tallymark.geometry.pairs import ragged
from tallymark.geometry.poses import Poses

GROUND, NOTHING = -1, -2
RANGE = 105.0
"""Metres from which nothing comes back."""
SLACK, TILT = 0.001, 0.06
"""Radians by which windows are wider than they must be, and that a lidar is tilted at most."""

Ground = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Origin (3,) and directions (3, …) to distances (…), inf where the ground is not met."""

Three = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Along x, y and z."""


@dataclass(frozen=True, eq=False)
class Solids:
    """Columns of n solids.

    `centre`, `half` (n, 3): middle, and half of length, width, height. `taper` (n, 2): the share of length and width
    that is gone at the top. `ball` (n,): an ellipsoid instead of a box. `passes`: the share of rays that go through
    (glass, leaves). `depth`: metres that a ray may get into it. `colour` (n, 3): blue, green, red. `owner`: the thing
    it is a part of, or -1.
    """

    centre: np.ndarray
    half: np.ndarray
    yaw: np.ndarray
    taper: np.ndarray
    ball: np.ndarray
    passes: np.ndarray
    depth: np.ndarray
    colour: np.ndarray
    owner: np.ndarray

    def __len__(self) -> int:
        return len(self.yaw)

    @classmethod
    def join(cls, parts: Sequence[Solids]) -> Solids:
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def take(self, index: np.ndarray) -> Solids:
        return Solids(*(getattr(self, field.name)[index] for field in fields(self)))

    @property
    def corners(self) -> np.ndarray:
        """(n, 8, 3): of the box around each."""
        signs = np.array([[x, y, z] for z in (-1, 1) for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1))])
        x, y, z = np.moveaxis(signs * self.half[:, None], -1, 0)
        cos, sin = np.cos(self.yaw)[:, None], np.sin(self.yaw)[:, None]
        return np.stack([cos * x - sin * y, sin * x + cos * y, z], axis=-1) + self.centre[:, None]


def cast(
    solids: Solids,
    origin: np.ndarray,
    directions: np.ndarray,
    windows: np.ndarray,
    start: np.ndarray,
    draw: np.random.Generator | None,
) -> tuple[np.ndarray, np.ndarray]:
    """The distance to the first solid along each ray, and its number.

    `directions` (3, rows, columns) are unit vectors, `start` (rows, columns) the distances to the ground, `windows`
    (n, 4) the first and last row and column (excluded) of each solid. Without `draw` every solid is opaque.
    """
    distance = start.astype(np.float32).ravel()
    which = np.where(distance < np.inf, GROUND, NOTHING)
    rays, columns = directions.reshape(3, -1), directions.shape[2]
    top, bottom, left, right = windows.T
    width = np.maximum(right - left, 0)
    away = origin - solids.centre
    near = np.linalg.norm(away, axis=1) - np.linalg.norm(solids.half, axis=1)
    area = np.where(near < RANGE, np.maximum(bottom - top, 0) * width, 0)
    seen = np.flatnonzero(area)
    for number, step in ragged(np.zeros_like(seen), area[seen]):
        solid = seen[number]
        ray = (top[solid] + step // width[solid]) * columns + left[solid] + step % width[solid]
        at = _meet(solids, away, solid, rays[:, ray])
        if draw is not None:
            at[draw.random(len(at), np.float32) < solids.passes[solid]] = np.inf
            at += solids.depth.astype(np.float32)[solid] * draw.random(len(at), np.float32)
        nearer = np.flatnonzero(at < distance[ray])
        at, ray, solid = at[nearer], ray[nearer], solid[nearer]
        np.minimum.at(distance, ray, at)
        first = at == distance[ray]
        which[ray[first]] = solid[first]
    return distance.reshape(start.shape), which.reshape(start.shape)


def _meet(solids: Solids, away: np.ndarray, solid: np.ndarray, rays: np.ndarray) -> np.ndarray:
    """Where rays (3, m), one for each of the solids (m,), enter it; inf where they do not. `away` (n, 3): the origin.

    Seen in the solid's own frame, turned and scaled so that it reaches from -1 to 1.
    """

    def each(column: np.ndarray) -> np.ndarray:
        return column.astype(np.float32)[solid]

    cos, sin = np.cos(solids.yaw), np.sin(solids.yaw)
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
    at = _meet_box(towards, start, each(solids.taper[:, 0] / 2), each(solids.taper[:, 1] / 2))
    at[ball] = _meet_ball(*(np.stack([part[ball] for part in parts]) for parts in (towards, start)))
    return at


def _meet_box(towards: Three, start: Three, lean_x: np.ndarray, lean_y: np.ndarray) -> np.ndarray:
    """Six sides: a ray is inside after the last one that it comes in through, and before the first one out."""
    enter, leave = np.zeros(len(lean_x), np.float32), np.full(len(lean_x), np.inf, np.float32)
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


def _meet_ball(towards: np.ndarray, start: np.ndarray) -> np.ndarray:
    a, b, c = (towards * towards).sum(axis=0), (towards * start).sum(axis=0), (start * start).sum(axis=0) - 1
    root = np.maximum(b * b - a * c, 0)
    return np.where((root > 0) & (b < 0), (-b - np.sqrt(root)) / a, np.float32(np.inf))


def turn(matrix: np.ndarray, rays: np.ndarray) -> np.ndarray:
    """`matrix` (k, 3) by rays (3, …). Not by BLAS, whose own threads would only be in the way of ours."""
    return np.einsum("ij,j...->i...", matrix, rays)


def _ground_distance(solids: Solids, origin: np.ndarray) -> np.ndarray:
    """Metres to the outline of each solid seen from above, less what the tilt of a sensor can make of its height."""
    away = solids.centre - origin
    cos, sin = np.cos(solids.yaw), np.sin(solids.yaw)
    ahead, aside = cos * away[:, 0] + sin * away[:, 1], cos * away[:, 1] - sin * away[:, 0]
    gaps = np.maximum(np.abs([ahead, aside]) - solids.half[:, :2].T, 0)
    return np.maximum(np.hypot(*gaps) - TILT * (np.abs(away[:, 2]) + solids.half[:, 2]), 0)


@dataclass(frozen=True)
class Lidar:
    """A turning lidar: `beams` one above the other, `columns` a turn; `noise` in metres, `drop` the share it loses."""

    beams: int = 64
    columns: int = 1024
    noise: float = 0.015
    drop: float = 0.04

    @property
    def elevations(self) -> np.ndarray:
        """Radians of each beam from the lowest, closest together where the road runs away to the horizon."""
        share = np.linspace(0, 1, self.beams)
        return np.radians(np.interp(share, [0, 0.22, 0.88, 1], [-25, -8, 2.5, 12]))

    @property
    def directions(self) -> np.ndarray:
        """(3, beams, columns) in the frame of the sensor, column 0 along x."""
        up, turn = self.elevations[:, None], np.arange(self.columns) * (2 * np.pi / self.columns)
        rows = [np.cos(up) * np.cos(turn), np.cos(up) * np.sin(turn), np.sin(up) * np.ones(self.columns)]
        return np.array(rows, np.float32)

    def windows(self, solids: Solids, pose: Poses) -> np.ndarray:
        """(n, 4): where solids lie in the grid of rays, of which a second turn follows the first."""
        x, y, z = np.moveaxis(pose.inverse().apply(solids.corners.reshape(-1, 3)).reshape(-1, 8, 3), -1, 0)
        near, far = _ground_distance(solids, pose.translation[0]), np.hypot(x, y).max(axis=1)
        top, bottom = z.max(axis=1), z.min(axis=1)
        high = np.arctan2(top, np.where(top > 0, near, far)) + SLACK
        low = np.arctan2(bottom, np.where(bottom < 0, near, far)) - SLACK
        middle = np.arctan2(y.mean(axis=1), x.mean(axis=1))
        spread = (np.arctan2(y, x) - middle[:, None] + np.pi) % (2 * np.pi) - np.pi
        first, last = spread.min(axis=1) - SLACK, spread.max(axis=1) + SLACK
        step = 2 * np.pi / self.columns
        left = np.floor((middle + first) / step).astype(int) % self.columns
        right = left + np.minimum(np.ceil((last - first) / step).astype(int) + 1, self.columns)
        left, right = np.where(near > 0, left, 0), np.where(near > 0, right, self.columns)
        rows = np.searchsorted(self.elevations, low), np.searchsorted(self.elevations, high, "right")
        return np.stack([*rows, left, right], axis=1)

    def sweep(
        self, solids: Solids, ground: Ground, pose: Poses, draw: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Points (m, 5) as x, y, z in the sensor's frame, intensity and ring, and the owner (m,) of each (or -1)."""
        own = self.directions
        origin, matrix = pose.translation[0], pose.matrices()[0].astype(np.float32)
        seen = turn(matrix, own)
        floor = ground(origin, seen)
        windows = self.windows(solids, pose)
        twice = np.concatenate([seen, seen], axis=2)
        distance, which = cast(solids, origin, twice, windows, np.concatenate([floor, floor], axis=1), draw)
        first, second = distance[:, : self.columns], distance[:, self.columns :]
        which = np.where(second < first, which[:, self.columns :], which[:, : self.columns])
        distance = np.minimum(first, second)
        # Far returns are weak, and many of them are lost.
        strength = np.clip(1.25 - distance / RANGE, 0, 1) * (1 - self.drop)
        kept = (draw.random(distance.shape, np.float32) < strength) & (distance < RANGE)
        measured = distance[kept] + self.noise * draw.standard_normal(int(kept.sum()), np.float32)
        ring = np.broadcast_to(np.arange(self.beams, dtype=np.float32)[:, None], kept.shape)[kept]
        intensity = np.full(len(ring), 100, np.float32)  # a placeholder, as in the Lyft data
        points = np.stack([*(own[:, kept] * measured), intensity, ring], axis=1)
        owners = np.append(solids.owner, [-1, -1])  # for NOTHING and GROUND, counted from the end
        return points, owners[which[kept]]
