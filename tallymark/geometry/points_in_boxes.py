"""Which points lie inside which volumes."""

from __future__ import annotations

import numpy as np

from tallymark.geometry import Cuboids

SLACK = 1e-3
"""Metres around the ends of a volume in which points are looked at too: coordinates may be rounded to 32 bits."""


def inside(points: np.ndarray, volumes: Cuboids) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of a point, (n, 3 or more), and a volume that it lies in: the numbers of both, volume by volume.

    Its faces belong to a volume; a point that is not finite lies nowhere. The points are sorted along x once; of each
    volume only those between its ends are looked at.
    """
    order = np.argsort(points[:, 0])  # what is not a number comes last
    ordered = points[order, :3]
    across = volumes.extents[0]
    first = np.searchsorted(ordered[:, 0], (across.centre - across.half - SLACK).astype(points.dtype), "left")
    last = np.searchsorted(ordered[:, 0], (across.centre + across.half + SLACK).astype(points.dtype), "right")
    spans = zip(first.tolist(), last.tolist(), strict=True)
    found = [start + np.flatnonzero(members(ordered[start:end], volumes, at)) for at, (start, end) in enumerate(spans)]
    counts = np.array([len(one) for one in found], np.int64)
    return order[np.concatenate([np.empty(0, np.int64), *found])], np.repeat(np.arange(len(volumes)), counts)


def points_inside(points: np.ndarray, volumes: Cuboids) -> np.ndarray:
    """How many of the points, in the frame of the volumes, lie in each."""
    return np.bincount(inside(points, volumes)[1], minlength=len(volumes))


def members(points: np.ndarray, cuboids: Cuboids, cuboid: int) -> np.ndarray:
    """For each point, (n, 3 or more), whether it lies in one volume; a point that is not finite does not."""
    x, y, z, width, length, height, yaw = (float(column[cuboid]) for column in cuboids.columns)
    dx, dy, dz = (points[:, axis].astype(float) - centre for axis, centre in enumerate((x, y, z)))
    along = dx * np.cos(yaw) + dy * np.sin(yaw)
    across = dy * np.cos(yaw) - dx * np.sin(yaw)
    inside: np.ndarray = (np.abs(along) <= length / 2) & (np.abs(across) <= width / 2) & (np.abs(dz) <= height / 2)
    return inside
