"""A road on an inclined plane, with curbs and a crossing: positions on it, and intersections of rays with it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tallymark.synthetic.street.raycast import rotate

Place = tuple[np.ndarray, np.ndarray, np.ndarray]
"""x, y and heading."""
MAX_RANGE = 300.0
"""Distance in metres beyond which rays do not hit the ground."""


@dataclass(frozen=True)
class Road:
    """An arc of curvature `bend` (1/m, positive to the left) and half width `half`, on a plane of gradient `slope`.

    A straight street of half width `crossing_half` crosses it at right angles after `crossing` metres. curb: height.
    """

    bend: float
    half: float
    crossing: float
    crossing_half: float
    slope: tuple[float, float]
    curb: float

    def place(self, along: np.ndarray | float, left: np.ndarray | float) -> Place:
        """x, y and heading at a distance `along` the street and `left` of its centre line, in metres."""
        angle = np.asarray(along) * self.bend
        radius = 1 / self.bend
        return (radius - left) * np.sin(angle), radius - (radius - left) * np.cos(angle), angle

    def place_across(self, along: np.ndarray | float, left: np.ndarray | float) -> Place:
        """The same for the crossing street, which runs to the left of this one."""
        x, y, angle = self.place(self.crossing, 0.0)
        cos = np.cos(angle)
        sin = np.sin(angle)
        return x - sin * along - cos * left, y + cos * along - sin * left, np.full(np.shape(along), angle + np.pi / 2)

    def lateral(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Metres to the left of the centre line of this street, and ahead of that of the crossing one."""
        radius = 1 / self.bend
        left = radius - math.copysign(1, radius) * np.hypot(x, y - radius)
        x_crossing, y_crossing, angle = (float(value) for value in self.place(self.crossing, 0.0))
        return left, (x - x_crossing) * math.cos(angle) + (y - y_crossing) * math.sin(angle)

    def beyond(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Metres behind the nearest curb; negative on the road."""
        left, ahead = self.lateral(x, y)
        return np.minimum(np.abs(left) - self.half, np.abs(ahead) - self.crossing_half)

    def height(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """z of the ground at x, y."""
        return self.slope[0] * x + self.slope[1] * y + np.where(self.beyond(x, y) > 0, self.curb, 0)

    def intersect(self, origin: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """Distances to the ground along rays: to the plane of the pavement, of the road, or to the curb between."""
        rise = np.array([*self.slope, -1.0], np.float32)
        above = float(origin[2] - self.slope[0] * origin[0] - self.slope[1] * origin[1])
        falls = rotate(rise[None], directions)[0]
        distance = np.full(falls.shape, np.inf, np.float32)
        down = falls > above / MAX_RANGE
        x = directions[0][down]
        y = directions[1][down]
        east = float(origin[0])
        north = float(origin[1])
        level = above / falls[down]
        upper = level * np.float32((above - self.curb) / above)
        behind_upper = self.beyond(east + upper * x, north + upper * y)
        behind = self.beyond(east + level * x, north + level * y)
        between = np.where(behind_upper < 0, behind_upper, 0) / np.minimum(behind_upper - behind, -1e-6)
        curb = upper + (level - upper) * np.clip(between, 0, 1)
        distance[down] = np.where(behind_upper >= 0, upper, np.where(behind <= 0, level, curb))
        return distance
