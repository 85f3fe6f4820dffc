"""Which lidar points lie inside which cuboids."""

from __future__ import annotations

import numpy as np

from tallymark.geometry import Cuboids

SLACK = 1e-3
"""Metres added to both ends of a cuboid's search range along x: coordinates may be rounded to 32 bits."""


def points_in_cuboids(points: np.ndarray, cuboids: Cuboids) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of a point, (n, 3 or more), and a cuboid that contains it: the indices of both, cuboid by cuboid.

    The faces belong to a cuboid; a point that is not finite is in none. The points are sorted along x once, so that
    each cuboid is compared only with those between its ends.
    """
    order = np.argsort(points[:, 0])  # nan comes last
    ordered = points[order, :3]
    along_x = cuboids.extents[0]
    first = np.searchsorted(ordered[:, 0], (along_x.centre - along_x.half - SLACK).astype(points.dtype), "left")
    last = np.searchsorted(ordered[:, 0], (along_x.centre + along_x.half + SLACK).astype(points.dtype), "right")
    ranges = zip(first.tolist(), last.tolist(), strict=True)
    inside = [
        start + np.flatnonzero(in_cuboid(ordered[start:end], cuboids, cuboid))
        for cuboid, (start, end) in enumerate(ranges)
    ]
    counts = np.array([len(one) for one in inside], np.int64)
    return order[np.concatenate([np.empty(0, np.int64), *inside])], np.repeat(np.arange(len(cuboids)), counts)


def count_points_in_cuboids(points: np.ndarray, cuboids: Cuboids) -> np.ndarray:
    """How many of the points, in the coordinate frame of the cuboids, lie in each cuboid."""
    return np.bincount(points_in_cuboids(points, cuboids)[1], minlength=len(cuboids))


def in_cuboid(points: np.ndarray, cuboids: Cuboids, cuboid: int) -> np.ndarray:
    """For each point, (n, 3 or more), whether it lies in one cuboid; a point that is not finite does not."""
    x, y, z, width, length, height, yaw = (float(column[cuboid]) for column in cuboids.columns)
    dx, dy, dz = (points[:, axis].astype(float) - centre for axis, centre in enumerate((x, y, z)))
    along = dx * np.cos(yaw) + dy * np.sin(yaw)
    across = dy * np.cos(yaw) - dx * np.sin(yaw)
    inside: np.ndarray = (np.abs(along) <= length / 2) & (np.abs(across) <= width / 2) & (np.abs(dz) <= height / 2)
    return inside
