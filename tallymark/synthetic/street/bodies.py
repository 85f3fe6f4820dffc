"""Bodies of road users: each class has a few designs, composed of solids that fill its 3D box.

Parts are in coordinates relative to the 3D box, which reaches from -1 to 1: centre and half extent along length,
width and height. At least one part touches each face of the box.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from tallymark.synthetic.street.raycast import Solids

Paint = Literal["own", "glass", "dark", "skin"]


class Part(NamedTuple):
    """A box, whose sides may be inclined inwards by `taper`, or an ellipsoid (`ball`)."""

    middle: tuple[float, float, float]
    half: tuple[float, float, float]
    paint: Paint = "own"
    taper: tuple[float, float] = (0.0, 0.0)
    ball: bool = False


class Design(NamedTuple):
    """Mean length, width and height in metres, their relative standard deviation, and the parts."""

    size: tuple[float, float, float]
    spread: float
    parts: tuple[Part, ...]


def _wheels(front: float, rear: float, top: float) -> tuple[Part, Part]:
    """Two axles with wheels that touch the ground."""
    half = (top + 1) / 2
    return (
        Part((front, 0, half - 1), (0.13, 0.96, half), "dark"),
        Part((rear, 0, half - 1), (0.13, 0.96, half), "dark"),
    )


_SEDAN = (
    Part((0, 0, -0.22), (1, 1, 0.42), taper=(0.05, 0.06)),
    Part((-0.1, 0, 0.6), (0.6, 0.88, 0.4), "glass", taper=(0.45, 0.25)),
    *_wheels(0.62, -0.6, -0.4),
)
_WAGON = (
    Part((0, 0, -0.15), (1, 1, 0.45), taper=(0.04, 0.05)),
    Part((-0.2, 0, 0.65), (0.76, 0.9, 0.35), "glass", taper=(0.25, 0.2)),
    *_wheels(0.62, -0.6, -0.4),
)
_PICKUP = (
    Part((0, 0, -0.25), (1, 1, 0.4), taper=(0.03, 0.03)),
    Part((0.12, 0, 0.57), (0.36, 0.9, 0.43), "glass", taper=(0.35, 0.2)),
    *_wheels(0.64, -0.6, -0.35),
)
_VAN = (
    Part((-0.08, 0, 0.12), (0.92, 1, 0.88), taper=(0.06, 0.06)),
    Part((0.8, 0, -0.35), (0.2, 0.95, 0.4)),
    *_wheels(0.65, -0.6, -0.5),
)
_TRUCK = (
    Part((0.8, 0, -0.05), (0.2, 0.92, 0.7), taper=(0.12, 0.05)),
    Part((-0.22, 0, 0.2), (0.78, 1, 0.8)),
    Part((0, 0, -0.68), (0.95, 0.5, 0.12), "dark"),
    *_wheels(0.7, -0.65, -0.55),
)
_FLATBED = (
    Part((0.72, 0, 0.15), (0.28, 0.95, 0.85), taper=(0.15, 0.05)),
    Part((-0.3, 0, -0.42), (0.7, 1, 0.2)),
    Part((-0.75, 0, 0.1), (0.2, 0.7, 0.4)),
    *_wheels(0.62, -0.6, -0.55),
)
_BUS = (
    Part((0, 0, 0.1), (1, 1, 0.75), taper=(0.02, 0.04)),
    Part((-0.3, 0, 0.92), (0.3, 0.6, 0.08)),
    *_wheels(0.62, -0.5, -0.6),
)
_DIGGER = (
    Part((-0.3, 0, -0.45), (0.7, 1, 0.55), "dark"),
    Part((-0.4, 0.1, 0.4), (0.35, 0.6, 0.45)),
    Part((0.35, -0.2, 0.8), (0.65, 0.12, 0.2)),
    Part((0.9, -0.2, -0.1), (0.1, 0.4, 0.9)),
)
_AMBULANCE = (
    Part((-0.22, 0, 0.1), (0.78, 1, 0.75)),
    Part((0.75, 0, -0.25), (0.25, 0.92, 0.5), taper=(0.3, 0.1)),
    Part((0.1, 0, 0.92), (0.08, 0.7, 0.08), "skin"),
    *_wheels(0.65, -0.6, -0.5),
)
_PATROL = (
    *(part._replace(middle=(*part.middle[:2], part.middle[2] * 0.92 - 0.08)) for part in _WAGON[:2]),
    Part((-0.15, 0, 0.92), (0.07, 0.6, 0.08), "skin"),
    *_wheels(0.62, -0.6, -0.4),
)
_WALKER = (
    Part((0.55, 0.25, -0.55), (0.45, 0.25, 0.45), "dark", taper=(0.3, 0)),
    Part((-0.55, -0.25, -0.55), (0.45, 0.25, 0.45), "dark", taper=(0.3, 0)),
    Part((0, 0, 0.2), (0.5, 1, 0.55), ball=True),
    Part((0.05, 0, 0.84), (0.28, 0.3, 0.16), "skin", ball=True),
)
_STANDING = (
    Part((0, 0, -0.5), (0.55, 0.6, 0.5), "dark", taper=(0.1, 0.1)),
    Part((0.1, 0, 0.2), (0.9, 1, 0.55), ball=True),
    Part((-0.5, 0, 0.2), (0.5, 0.5, 0.35), ball=True),
    Part((0, 0, 0.84), (0.3, 0.3, 0.16), "skin", ball=True),
)
_CYCLE = (
    Part((0.65, 0, -0.6), (0.35, 0.08, 0.4), "dark", ball=True),
    Part((-0.65, 0, -0.6), (0.35, 0.08, 0.4), "dark", ball=True),
    Part((0, 0, -0.4), (0.6, 0.08, 0.1)),
)
_RIDDEN = (
    *_CYCLE,
    Part((0.35, 0, 0.0), (0.06, 1, 0.05), "dark"),
    Part((-0.05, 0, 0.3), (0.3, 0.7, 0.48), ball=True),
    Part((-0.05, 0, -0.3), (0.18, 0.4, 0.4), "dark"),
    Part((0.1, 0, 0.85), (0.13, 0.3, 0.15), "skin", ball=True),
)
_LEFT_STANDING = (
    Part((0.6, 0, -0.3), (0.4, 0.1, 0.7), "dark", ball=True),
    Part((-0.6, 0, -0.3), (0.4, 0.1, 0.7), "dark", ball=True),
    Part((0, 0, 0.1), (0.5, 0.12, 0.15)),
    Part((0.45, 0, 0.4), (0.05, 0.1, 0.5)),
    Part((0.45, 0, 0.9), (0.06, 1, 0.1), "dark"),
)
_MOTORCYCLE = (
    Part((0.7, 0, -0.6), (0.3, 0.2, 0.4), "dark", ball=True),
    Part((-0.7, 0, -0.6), (0.3, 0.25, 0.4), "dark", ball=True),
    Part((0, 0, -0.3), (0.6, 0.5, 0.35)),
    Part((0.4, 0, 0.2), (0.06, 1, 0.06), "dark"),
    Part((-0.1, 0, 0.35), (0.25, 0.7, 0.45), ball=True),
    Part((0, 0, 0.85), (0.13, 0.3, 0.15), "dark", ball=True),
)
_FOUR_LEGGED = (
    Part((-0.15, 0, 0.15), (0.7, 1, 0.4), ball=True),
    Part((0.7, 0, 0.6), (0.3, 0.6, 0.4), ball=True),
    Part((0.35, 0, -0.5), (0.1, 0.7, 0.5), "dark"),
    Part((-0.6, 0, -0.5), (0.1, 0.7, 0.5), "dark"),
    Part((-0.9, 0, 0.3), (0.1, 0.15, 0.2)),
)

DESIGNS: dict[str, tuple[Design, ...]] = {
    "car": (
        Design((4.7, 1.9, 1.5), 0.05, _SEDAN),
        Design((4.8, 1.98, 1.78), 0.06, _WAGON),
        Design((5.6, 2.0, 1.9), 0.05, _PICKUP),
    ),
    "other_vehicle": (Design((6.6, 2.3, 2.7), 0.1, _VAN), Design((7.5, 2.6, 3.1), 0.1, _DIGGER)),
    "bus": (Design((12.2, 2.95, 3.4), 0.06, _BUS),),
    "truck": (Design((9.0, 2.7, 3.4), 0.14, _TRUCK), Design((8.0, 2.5, 2.7), 0.12, _FLATBED)),
    "bicycle": (Design((1.78, 0.62, 1.72), 0.06, _RIDDEN), Design((1.72, 0.55, 1.08), 0.05, _LEFT_STANDING)),
    "motorcycle": (Design((2.3, 0.9, 1.6), 0.07, _MOTORCYCLE), Design((2.2, 0.85, 1.15), 0.06, _LEFT_STANDING)),
    "pedestrian": (Design((0.82, 0.72, 1.74), 0.08, _WALKER), Design((0.62, 0.7, 1.7), 0.09, _STANDING)),
    "animal": (Design((0.85, 0.32, 0.6), 0.2, _FOUR_LEGGED),),
    "emergency_vehicle": (Design((6.6, 2.4, 2.6), 0.06, _AMBULANCE), Design((5.0, 2.0, 1.85), 0.03, _PATROL)),
}
CLASSES = tuple(DESIGNS)
PAINTS = {"glass": (70, 60, 50), "dark": (35, 35, 35), "skin": (110, 150, 220)}
GLASS = 0.45
"""Fraction of lidar rays that pass through a window."""


@dataclass(frozen=True, eq=False)
class Bodies:
    """The parts of n objects, each in the object's frame in metres: x ahead, y left, z up from the ground."""

    parts: Solids

    @classmethod
    def of(cls, designs: list[Design], size: np.ndarray, color: np.ndarray) -> Bodies:
        """From the designs of n objects; `size` (n, 3) is length, width, height; `color` (n, 3) is BGR."""
        rows = [(owner, part) for owner, design in enumerate(designs) for part in design.parts]
        owner = np.array([at for at, _ in rows], int)
        half = size[owner] / 2
        middle = np.array([part.middle for _, part in rows]).reshape(-1, 3) * half
        middle[:, 2] += half[:, 2]
        paints = [color[at] if part.paint == "own" else np.array(PAINTS[part.paint], float) for at, part in rows]
        return cls(
            Solids(
                middle,
                np.array([part.half for _, part in rows]).reshape(-1, 3) * half,
                np.zeros(len(rows)),
                np.array([part.taper for _, part in rows]).reshape(-1, 2),
                np.array([part.ball for _, part in rows], bool),
                np.array([GLASS if part.paint == "glass" else 0.0 for _, part in rows]),
                np.zeros(len(rows)),
                np.array(paints).reshape(-1, 3),
                owner,
            )
        )

    def at(self, x: np.ndarray, y: np.ndarray, z: np.ndarray, yaw: np.ndarray) -> Solids:
        """The solids of objects at x, y with their lowest point at z and this yaw."""
        parts = self.parts
        owner = parts.owner
        cos = np.cos(yaw)[owner]
        sin = np.sin(yaw)[owner]
        ahead, left, up = parts.center.T
        center = [x[owner] + cos * ahead - sin * left, y[owner] + sin * ahead + cos * left, z[owner] + up]
        rest = (parts.taper, parts.ball, parts.passes, parts.depth, parts.color, owner)
        return Solids(np.stack(center, axis=1), parts.half, yaw[owner], *rest)
