"""Maps of streets in the form of the Lyft data set: an image of the ground, and where each drive is on it.

The image is north up with 0.1 m per pixel; its lower left corner is the origin of world coordinates. A map has at most
16 drives, each in a square cell of its own, so that no street runs into another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np

from tallymark.geometry.poses import Poses
from tallymark.synthetic.street.road import Road

RESOLUTION = 0.1
"""Metres per pixel."""
STEP = 4
"""Pixels of a side of the squares that the map is drawn with."""
DRIVES = 16
"""Drives on one map."""
CELL = 250.0
METRES_PER_FRAME = 2.6
MAX_CELL = 500.0
"""A cell is as wide as a lidar sees to both sides, and longer by the length of the drive, up to this."""
PAVEMENT = 3.4
"""Width of the sidewalk in metres."""
NOTHING_GREY, SIDEWALK_GREY, ROAD_GREY = 255, 211, 128
"""The colours of the Lyft map."""


def cell_side(frames: int) -> float:
    """Metres of the side of a cell, for drives of this many key frames."""
    return min(CELL + METRES_PER_FRAME * frames, MAX_CELL)


def cell_of(drive: int) -> tuple[int, int]:
    """Column and row of the cell of a drive: any number of drives fill a square, from its lower left corner."""
    at = drive % DRIVES
    shell = math.isqrt(at)
    step = at - shell * shell
    return (shell, step) if step <= shell else (2 * shell - step, shell)


def cell_center(drive: int, frames: int) -> tuple[float, float]:
    """x and y of the centre of a drive's cell in world coordinates."""
    column, row = cell_of(drive)
    return (column + 0.5) * cell_side(frames), (row + 0.5) * cell_side(frames)


def draw_map(roads: Sequence[Road], homes: Sequence[Poses], frames: int) -> bytes:
    """The map of up to 16 drives, in their order, as a PNG file: their roads, and their poses in the world."""
    size = round(cell_side(frames) / RESOLUTION / STEP)
    cells = math.isqrt(max(len(roads) - 1, 0)) + 1
    grey = np.full((cells * size, cells * size), NOTHING_GREY, np.uint8)
    for at, (road, home) in enumerate(zip(roads, homes, strict=True)):
        column, row = cell_of(at)
        east, north = np.meshgrid(np.arange(size) + column * size, np.arange(size) + row * size)
        world = np.stack([east + 0.5, north + 0.5, np.zeros_like(east)], axis=2).reshape(-1, 3) * (RESOLUTION * STEP)
        x, y, _ = home.inverse().apply(world).T
        behind = road.beyond(x, y).reshape(size, size)
        cell = np.select([behind < 0, behind < PAVEMENT], [ROAD_GREY, SIDEWALK_GREY], NOTHING_GREY)
        grey[row * size : (row + 1) * size, column * size : (column + 1) * size] = cell
    image = np.repeat(np.repeat(grey[::-1], STEP, axis=0), STEP, axis=1)  # the first row is the northernmost
    return cv2.imencode(".png", image, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1].tobytes()
