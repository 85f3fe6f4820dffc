"""Lidar sweeps: flat files of 32-bit floats."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tallymark.io.media import THUMBNAIL, BadMedia, Inspection, Medium, digest, read_bytes
from tallymark.io.suffixes import LIDAR_SUFFIXES

MAX_RINGS = 256
"""More beams than any lidar has."""
THUMBNAIL_RANGE = 50.0
"""Metres to each side that the thumbnail shows."""


def read_sweep(path: Path, columns: int | None = None) -> np.ndarray:
    """Points as (n, columns) float32: x, y, z, intensity and, in files of five columns, ring.

    Without `columns` their number is inferred: 5 if every fifth value is a ring number, else 4 (as in KITTI).
    """
    data = read_bytes(path)
    floats = np.frombuffer(data, "<f4", count=len(data) // 4)
    count = columns or _infer_columns(floats)
    if len(data) % (4 * count):
        found = f"{len(data) / 4:.10g} floats, not divisible by {count}"
        raise BadMedia("ragged_sweep", found, "get the file again, truncate or pad its last point, or exclude the item")
    return floats.reshape(-1, count)


def inspect_sweep(path: Path, columns: int | None = None) -> Inspection:
    """Read all of a sweep; the thumbnail is the density of points in the bird's-eye view."""
    points = read_sweep(path, columns)
    faults = []
    not_finite = int(np.count_nonzero(~np.isfinite(points).all(axis=1)))
    if not_finite:
        remedy = "none: these points are dropped when the sweep is read"
        faults.append(("not_finite", f"{not_finite} points", "finite numbers", remedy))
    near = np.where(np.isfinite(points[:, :2]), points[:, :2], np.inf)
    scale = THUMBNAIL / (2 * THUMBNAIL_RANGE)
    cell = np.floor(np.clip((near + THUMBNAIL_RANGE) * scale, -1, THUMBNAIL)).astype(np.int64)
    cell = cell[((cell >= 0) & (cell < THUMBNAIL)).all(axis=1)]
    density = np.bincount(cell[:, 1] * THUMBNAIL + cell[:, 0], minlength=THUMBNAIL**2).reshape(THUMBNAIL, THUMBNAIL)
    thumbnail = np.clip(40 * np.log1p(density), 0, 255).astype(np.uint8)
    return Inspection((len(points), points.shape[1]), thumbnail, digest([points.tobytes()]), tuple(faults))


def _infer_columns(floats: np.ndarray) -> int:
    """5 if every fifth value may be a ring number, else 4."""
    rings = floats[4::5]
    return 5 if len(rings) and bool(np.all((rings == np.round(rings)) & (rings >= 0) & (rings < MAX_RINGS))) else 4


SWEEP = Medium("lidar", "sweep", frozenset(LIDAR_SUFFIXES), inspect_sweep, comparable=False)
"""Consecutive sweeps are all similar."""
