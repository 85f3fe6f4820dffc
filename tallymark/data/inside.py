"""Which points lie inside which volumes."""

from __future__ import annotations

import numpy as np

from tallymark.data.geometry import Cuboids


def points_inside(points: np.ndarray, cuboids: Cuboids) -> np.ndarray:
    """How many of the points, (n, 3 or more) in the frame of the volumes, lie in each; its faces belong to it.

    The points are sorted by x once; of each volume only those between its ends are looked at.
    """
    order = np.argsort(points[:, 0])
    ordered = np.asarray(points[order, :3], float)
    end = int(np.searchsorted(ordered[:, 0], np.inf))  # what is not finite sorts behind
    across = cuboids.extents[0]
    reach = across.half * (1 + 1e-9) + 1e-9
    first = np.searchsorted(ordered[:end, 0], across.centre - reach, "left")
    last = np.searchsorted(ordered[:end, 0], across.centre + reach, "right")
    spans = zip(first.tolist(), last.tolist(), strict=True)
    counts = [np.count_nonzero(members(ordered[start:stop], cuboids, at)) for at, (start, stop) in enumerate(spans)]
    return np.array(counts, np.int64)


def members(points: np.ndarray, cuboids: Cuboids, cuboid: int) -> np.ndarray:
    """For each point, (n, 3 or more), whether it lies in one volume; a point that is not finite does not."""
    x, y, z, width, length, height, yaw = (float(column[cuboid]) for column in cuboids.columns)
    dx, dy, dz = (points[:, axis].astype(float) - centre for axis, centre in enumerate((x, y, z)))
    along = dx * np.cos(yaw) + dy * np.sin(yaw)
    across = dy * np.cos(yaw) - dx * np.sin(yaw)
    inside: np.ndarray = (np.abs(along) <= length / 2) & (np.abs(across) <= width / 2) & (np.abs(dz) <= height / 2)
    return inside
