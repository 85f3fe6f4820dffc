"""Road maps of drives: what the ground is at a place in the world.

A map is an image, north up, with 0.1 m per pixel, whose lower left corner is the origin of world coordinates: so the
devkits of Lyft and nuScenes read theirs. In the map of Lyft the background is white, roads are grey, sidewalks light
grey and crossings coloured; the masks of nuScenes are white on black.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tallymark.io.images import read_grey

RESOLUTION = 0.1
"""Metres per pixel of the file."""
STEP = 4
"""Every fourth pixel along both axes is kept: the map of a city has a billion."""
NO_ROAD, SIDEWALK, ROAD = 0, 1, 2
SIDEWALK_GREY = (205, 217)
"""The grey levels of sidewalks in the map of Lyft."""
TOLERANCE = 5
"""Grey levels by which the background may differ from its usual one."""
CACHED = 4
"""Maps that are kept in memory."""


@dataclass(frozen=True, eq=False)
class RoadMap:
    """surface: (rows, columns) bytes of `NO_ROAD`, `SIDEWALK` or `ROAD`, the northernmost row first, 0.4 m each.

    height: of the image in pixels.
    """

    surface: np.ndarray
    height: int

    @classmethod
    def of(cls, grey: np.ndarray) -> RoadMap:
        """From the grey levels of the image. What most of its border looks like is the background."""
        border = np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])
        background = int(np.bincount(border, minlength=256).argmax())
        kept = grey[::STEP, ::STEP]
        levels = np.arange(256)
        kinds = np.full(256, ROAD, np.uint8)
        kinds[(levels >= SIDEWALK_GREY[0]) & (levels <= SIDEWALK_GREY[1])] = SIDEWALK
        kinds[np.abs(levels - background) <= TOLERANCE] = NO_ROAD
        return cls(kinds[kept], grey.shape[0])

    def at(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The surface at places in world coordinates; `NO_ROAD` beyond the map."""
        column = np.floor(x / (RESOLUTION * STEP)).astype(np.int64)
        row = np.floor((self.height - y / RESOLUTION) / STEP).astype(np.int64)
        rows, columns = self.surface.shape
        outside = (column < 0) | (column >= columns) | (row < 0) | (row >= rows)
        found: np.ndarray = self.surface.take(row * columns + column, mode="clip")
        found[outside] = NO_ROAD
        return found


_cache: dict[Path, RoadMap] = {}
_lock = threading.Lock()


def read_road_map(path: Path) -> RoadMap:
    """The map in a file, from memory if it was read before; a `BadMedia` if it cannot be read."""
    with _lock:  # others wait, and find it in memory
        if path not in _cache:
            while len(_cache) >= CACHED:
                del _cache[next(iter(_cache))]
            _cache[path] = RoadMap.of(read_grey(path))
        return _cache[path]
