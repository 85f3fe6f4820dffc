"""What stands along a street and is not looked for: buildings, walls, hedges, trees, poles, signs, bins.

Some of it is meant to be mistaken: bins and cabinets of the size of people, containers of the size of cars.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tallymark.geometry import RotatedBoxes
from tallymark.synthetic.street.raycast import Solids
from tallymark.synthetic.street.road import Road

Colour = tuple[float, float, float]
GREEN, TRUNK, METAL, WALL, BIN = (50, 105, 60), (50, 70, 95), (120, 120, 120), (150, 155, 160), (60, 90, 60)
PLASTER = np.array([(150, 165, 185), (120, 130, 150), (175, 180, 185), (105, 120, 165), (140, 150, 140)])


class Piece(NamedTuple):
    """One solid: where along the street and to its left, length, width, height, and what is under it."""

    along: float
    left: float
    size: tuple[float, float, float]
    colour: Colour
    base: float = 0.0
    turn: float = 0.0
    taper: float = 0.0
    ball: bool = False
    passes: float = 0.0
    depth: float = 0.0
    foot: float | None = None
    """Metres of ground it takes, where that is less than its own length and width."""


def scenery(draw: np.random.Generator, road: Road, reach: tuple[float, float]) -> tuple[Solids, RotatedBoxes]:
    """The solids along both sides, and the ground that each of them takes."""
    pieces: list[Piece] = []
    for side in (-1, 1):
        pieces += _buildings(draw, road, reach, side)
        pieces += _fences(draw, road, reach, side)
        pieces += _trees(draw, road, reach, side)
        pieces += _furniture(draw, road, reach, side)
    free = road.crossing_half + 3
    pieces = [piece for piece in pieces if abs(piece.along - road.crossing) > free + piece.size[0] / 2]
    along, left = np.array([piece.along for piece in pieces]), np.array([piece.left for piece in pieces])
    size = np.array([piece.size for piece in pieces])
    x, y, yaw = road.place(along, left)
    yaw = yaw + np.array([piece.turn for piece in pieces])
    z = road.height(x, y) + np.array([piece.base for piece in pieces]) + size[:, 2] / 2
    solids = Solids(
        np.stack([x, y, z], axis=1),
        size / 2,
        yaw,
        np.repeat([[piece.taper] for piece in pieces], 2, axis=1),
        np.array([piece.ball for piece in pieces]),
        np.array([piece.passes for piece in pieces]),
        np.array([piece.depth for piece in pieces]),
        np.array([piece.colour for piece in pieces], float),
        np.full(len(pieces), -1),
    )
    feet = np.array([piece.size[:2] if piece.foot is None else (piece.foot, piece.foot) for piece in pieces])
    return solids, RotatedBoxes(x, y, feet[:, 0], feet[:, 1], yaw)


def _steps(draw: np.random.Generator, reach: tuple[float, float], gap: float) -> np.ndarray:
    count = int(3 * (reach[1] - reach[0]) / gap) + 10
    along = reach[0] + np.cumsum(gap * draw.uniform(0.4, 1.6, count))
    return along[along < reach[1]]


def _buildings(draw: np.random.Generator, road: Road, reach: tuple[float, float], side: int) -> list[Piece]:
    """A row of blocks, set back by a few metres, here and there a gap. They are sunk a little into the slope."""
    pieces, along, setback = [], reach[0] - 20, draw.uniform(5, 14)
    while along < reach[1] + 20:
        length, width, height = draw.uniform(8, 30), draw.uniform(8, 16), draw.uniform(3.5, 13)
        if draw.random() < 0.85:
            left = side * (road.half + setback + draw.uniform(0, 4) + width / 2)
            colour = tuple(PLASTER[draw.integers(len(PLASTER))] + draw.normal(0, 8, 3))
            pieces.append(Piece(along + length / 2, left, (length, width, height), colour, base=-1.0))
        along += length + draw.exponential(4) + 0.5
    return pieces


def _fences(draw: np.random.Generator, road: Road, reach: tuple[float, float], side: int) -> list[Piece]:
    """Walls and hedges behind the pavement, in pieces."""
    pieces = []
    for along in _steps(draw, reach, 16):
        length, left = draw.uniform(3, 11), side * (road.half + draw.uniform(3.4, 4.8))
        if draw.random() < 0.5:
            size = (length, draw.uniform(0.6, 1.3), draw.uniform(0.7, 2.0))
            pieces.append(Piece(along, left, size, GREEN, taper=0.15, passes=0.15, depth=0.35))
        else:
            pieces.append(Piece(along, left, (length, 0.2, draw.uniform(0.6, 2.2)), WALL))
    return pieces


def _trees(draw: np.random.Generator, road: Road, reach: tuple[float, float], side: int) -> list[Piece]:
    pieces = []
    for along in _steps(draw, reach, draw.uniform(9, 30)):
        left, thick, clear = side * (road.half + draw.uniform(0.7, 4)), draw.uniform(0.2, 0.6), draw.uniform(2.4, 4)
        wide, tall = draw.uniform(2, 6), draw.uniform(2.5, 6)
        pieces.append(Piece(along, left, (thick, thick, clear + 1), TRUNK, taper=0.2, foot=thick))
        crown = Piece(along, left, (wide, wide * draw.uniform(0.8, 1.2), tall), GREEN, base=clear, foot=thick)
        pieces.append(crown._replace(ball=True, passes=0.45, depth=min(wide, tall) / 3))
    return pieces


def _furniture(draw: np.random.Generator, road: Road, reach: tuple[float, float], side: int) -> list[Piece]:
    """Poles, signs, bins, cabinets and containers on the pavement and in the yards."""
    pieces = []
    for along in _steps(draw, reach, 28):
        left = side * (road.half + 0.6)
        pieces.append(Piece(along, left, (0.22, 0.22, draw.uniform(5, 9)), METAL, taper=0.4))
        arm = Piece(along, left - side * 1.2, (0.15, 2.6, 0.15), METAL, base=draw.uniform(4.5, 5), foot=0.1)
        pieces.append(arm)
    for along in _steps(draw, reach, 35):
        left, size = side * (road.half + draw.uniform(0.4, 1)), (0.05, draw.uniform(0.5, 0.9), draw.uniform(0.5, 0.9))
        pieces.append(Piece(along, left, (0.08, 0.08, 2.3), METAL))
        pieces.append(Piece(along, left, size, (60, 60, 190), base=1.9, foot=0.08))
    for along in _steps(draw, reach, 15):
        left, turn = side * (road.half + draw.uniform(0.6, 7)), draw.uniform(-np.pi, np.pi)
        size = (draw.uniform(0.4, 1.0), draw.uniform(0.4, 0.9), draw.uniform(0.7, 1.8))
        pieces.append(Piece(along, left, size, BIN, turn=turn))
    for along in _steps(draw, reach, 60):
        left, size = side * (road.half + draw.uniform(5, 12)), (draw.uniform(2, 5), draw.uniform(1.4, 2.2), 1.5)
        pieces.append(Piece(along, left, size, (70, 110, 120), turn=draw.normal(0, 0.5)))
    return pieces
