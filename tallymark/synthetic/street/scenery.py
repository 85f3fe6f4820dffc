"""Background objects along a street: buildings, walls, hedges, trees, poles, signs, bins.

Some are hard negatives: bins and cabinets of the size of people, containers of the size of cars.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tallymark.geometry import RotatedBoxes
from tallymark.synthetic.street.raycast import Solids
from tallymark.synthetic.street.road import Road

Color = tuple[float, float, float]
GREEN = (50, 105, 60)
TRUNK = (50, 70, 95)
METAL = (120, 120, 120)
WALL = (150, 155, 160)
BIN = (60, 90, 60)
PLASTER = np.array([(150, 165, 185), (120, 130, 150), (175, 180, 185), (105, 120, 165), (140, 150, 140)])


class Piece(NamedTuple):
    """One solid: position along the street and to its left, (length, width, height), colour, and height of its base."""

    along: float
    left: float
    size: tuple[float, float, float]
    color: Color
    base: float = 0.0
    yaw_offset: float = 0.0
    taper: float = 0.0
    ball: bool = False
    passes: float = 0.0
    depth: float = 0.0
    foot: float | None = None
    """Side in metres of the ground that it occupies, if that is smaller than its length and width."""


def scenery(rng: np.random.Generator, road: Road, reach: tuple[float, float]) -> tuple[Solids, RotatedBoxes]:
    """The solids along both sides, and the rectangle of ground that each occupies."""
    pieces: list[Piece] = []
    for side in (-1, 1):
        pieces += _buildings(rng, road, reach, side)
        pieces += _fences(rng, road, reach, side)
        pieces += _trees(rng, road, reach, side)
        pieces += _furniture(rng, road, reach, side)
    free = road.crossing_half + 3
    pieces = [piece for piece in pieces if abs(piece.along - road.crossing) > free + piece.size[0] / 2]
    along = np.array([piece.along for piece in pieces])
    left = np.array([piece.left for piece in pieces])
    size = np.array([piece.size for piece in pieces])
    x, y, yaw = road.place(along, left)
    yaw = yaw + np.array([piece.yaw_offset for piece in pieces])
    z = road.height(x, y) + np.array([piece.base for piece in pieces]) + size[:, 2] / 2
    solids = Solids(
        np.stack([x, y, z], axis=1),
        size / 2,
        yaw,
        np.repeat([[piece.taper] for piece in pieces], 2, axis=1),
        np.array([piece.ball for piece in pieces]),
        np.array([piece.passes for piece in pieces]),
        np.array([piece.depth for piece in pieces]),
        np.array([piece.color for piece in pieces], float),
        np.full(len(pieces), -1),
    )
    feet = np.array([piece.size[:2] if piece.foot is None else (piece.foot, piece.foot) for piece in pieces])
    return solids, RotatedBoxes(x, y, feet[:, 0], feet[:, 1], yaw)


def _steps(rng: np.random.Generator, reach: tuple[float, float], gap: float) -> np.ndarray:
    """Random positions along the street, `gap` metres apart on average."""
    count = int(3 * (reach[1] - reach[0]) / gap) + 10
    along = reach[0] + np.cumsum(gap * rng.uniform(0.4, 1.6, count))
    return along[along < reach[1]]


def _buildings(rng: np.random.Generator, road: Road, reach: tuple[float, float], side: int) -> list[Piece]:
    """A row of buildings, set back by a few metres, with some gaps. Their bases are below the sloping ground."""
    pieces = []
    along = reach[0] - 20
    setback = rng.uniform(5, 14)
    while along < reach[1] + 20:
        length = rng.uniform(8, 30)
        width = rng.uniform(8, 16)
        height = rng.uniform(3.5, 13)
        if rng.random() < 0.85:
            left = side * (road.half + setback + rng.uniform(0, 4) + width / 2)
            color = tuple(PLASTER[rng.integers(len(PLASTER))] + rng.normal(0, 8, 3))
            pieces.append(Piece(along + length / 2, left, (length, width, height), color, base=-1.0))
        along += length + rng.exponential(4) + 0.5
    return pieces


def _fences(rng: np.random.Generator, road: Road, reach: tuple[float, float], side: int) -> list[Piece]:
    """Walls and hedges behind the pavement."""
    pieces = []
    for along in _steps(rng, reach, 16):
        length = rng.uniform(3, 11)
        left = side * (road.half + rng.uniform(3.4, 4.8))
        if rng.random() < 0.5:
            size = (length, rng.uniform(0.6, 1.3), rng.uniform(0.7, 2.0))
            pieces.append(Piece(along, left, size, GREEN, taper=0.15, passes=0.15, depth=0.35))
        else:
            pieces.append(Piece(along, left, (length, 0.2, rng.uniform(0.6, 2.2)), WALL))
    return pieces


def _trees(rng: np.random.Generator, road: Road, reach: tuple[float, float], side: int) -> list[Piece]:
    """Trees: a trunk, and a crown that some rays pass through."""
    pieces = []
    for along in _steps(rng, reach, rng.uniform(9, 30)):
        left = side * (road.half + rng.uniform(0.7, 4))
        thick = rng.uniform(0.2, 0.6)
        clear = rng.uniform(2.4, 4)
        wide = rng.uniform(2, 6)
        tall = rng.uniform(2.5, 6)
        pieces.append(Piece(along, left, (thick, thick, clear + 1), TRUNK, taper=0.2, foot=thick))
        crown = Piece(along, left, (wide, wide * rng.uniform(0.8, 1.2), tall), GREEN, base=clear, foot=thick)
        pieces.append(crown._replace(ball=True, passes=0.45, depth=min(wide, tall) / 3))
    return pieces


def _furniture(rng: np.random.Generator, road: Road, reach: tuple[float, float], side: int) -> list[Piece]:
    """Poles, signs, bins, cabinets and containers on the pavement and in the yards."""
    pieces = []
    for along in _steps(rng, reach, 28):
        left = side * (road.half + 0.6)
        pieces.append(Piece(along, left, (0.22, 0.22, rng.uniform(5, 9)), METAL, taper=0.4))
        arm = Piece(along, left - side * 1.2, (0.15, 2.6, 0.15), METAL, base=rng.uniform(4.5, 5), foot=0.1)
        pieces.append(arm)
    for along in _steps(rng, reach, 35):
        left = side * (road.half + rng.uniform(0.4, 1))
        size = (0.05, rng.uniform(0.5, 0.9), rng.uniform(0.5, 0.9))
        pieces.append(Piece(along, left, (0.08, 0.08, 2.3), METAL))
        pieces.append(Piece(along, left, size, (60, 60, 190), base=1.9, foot=0.08))
    for along in _steps(rng, reach, 15):
        left = side * (road.half + rng.uniform(0.6, 7))
        yaw_offset = rng.uniform(-np.pi, np.pi)
        size = (rng.uniform(0.4, 1.0), rng.uniform(0.4, 0.9), rng.uniform(0.7, 1.8))
        pieces.append(Piece(along, left, size, BIN, yaw_offset=yaw_offset))
    for along in _steps(rng, reach, 60):
        left = side * (road.half + rng.uniform(5, 12))
        size = (rng.uniform(2, 5), rng.uniform(1.4, 2.2), 1.5)
        pieces.append(Piece(along, left, size, (70, 110, 120), yaw_offset=rng.normal(0, 0.5)))
    return pieces
