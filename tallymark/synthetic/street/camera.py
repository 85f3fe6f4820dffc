"""Pictures of a street by a pinhole camera: every pixel is a ray, so what hides what is right to the pixel."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from tallymark.geometry.poses import Poses
from tallymark.synthetic.street.raycast import GROUND, NOTHING, Solids, cast, turn
from tallymark.synthetic.street.road import Road

FOCAL = 0.58
"""Focal length as a share of the picture's width: a view of 80 degrees."""
SUN = (0.45, -0.35, 0.82)
SKY, HAZE = (200, 160, 110), (215, 205, 195)
ASPHALT, PAVING, GRASS, PAINT = (85, 82, 80), (150, 155, 158), (70, 120, 95), (215, 225, 225)
CLOSEST = 0.2


@dataclass(frozen=True)
class Camera:
    """A pinhole with its frame as usual for pictures: x to the right, y down, z ahead."""

    width: int
    height: int

    @property
    def intrinsic(self) -> np.ndarray:
        """(3, 3): from the camera's frame to pixels, of which the first has its middle at 0.5."""
        focal = FOCAL * self.width
        return np.array([[focal, 0, self.width / 2], [0, focal, self.height / 2], [0, 0, 1]])

    def project(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points (…, 3) in the camera's frame as pixels (…, 2), and how far ahead they are."""
        ahead = points[..., 2]
        with np.errstate(divide="ignore", invalid="ignore"):
            return (points @ self.intrinsic.T)[..., :2] / ahead[..., None], ahead

    def windows(self, solids: Solids, pose: Poses) -> np.ndarray:
        """(n, 4): first and last row and column (excluded) of each solid."""
        corners = pose.inverse().apply(solids.corners.reshape(-1, 3)).reshape(-1, 8, 3)
        pixels, ahead = self.project(corners)
        limit = np.array([self.width, self.height])
        low = np.clip(np.floor(pixels.min(axis=1)), 0, limit)
        high = np.clip(np.ceil(pixels.max(axis=1)), 0, limit)
        # One that reaches behind the camera may be anywhere in the picture.
        partly = (ahead.min(axis=1) < CLOSEST)[:, None]
        low, high = np.where(partly, 0, low), np.where(partly, limit, high)
        high[self._out_of_view(corners) | (ahead.max(axis=1) < CLOSEST)] = 0
        return np.stack([low[:, 1], high[:, 1], low[:, 0], high[:, 0]], axis=1).astype(int)

    def _out_of_view(self, corners: np.ndarray) -> np.ndarray:
        """Whether all corners (n, 8, 3) lie beyond the same edge of the picture, be they ahead or behind."""
        x, y, ahead = np.moveaxis(corners, -1, 0)
        right, down = ahead * (0.5 / FOCAL), ahead * (0.5 / FOCAL * self.height / self.width)
        return np.any([side.all(axis=1) for side in (x > right, x < -right, y > down, y < -down)], axis=0)

    def picture(self, solids: Solids, road: Road, pose: Poses, draw: np.random.Generator) -> np.ndarray:
        """(height, width, 3) blue, green, red of what is ahead, from the camera's pose in the street's frame."""
        right, down = np.arange(self.width) + 0.5, np.arange(self.height)[:, None] + 0.5
        focal = FOCAL * self.width
        grid = np.broadcast_arrays((right - self.width / 2) / focal, (down - self.height / 2) / focal, 1.0)
        own = np.array(grid, np.float32)
        own /= np.sqrt((own * own).sum(axis=0))
        origin = pose.translation[0]
        rays = turn(pose.matrices()[0].astype(np.float32), own)
        distance, which = cast(solids, origin, rays, self.windows(solids, pose), road.meet(origin, rays), None)
        seen = np.empty((self.height, self.width, 3), np.float32)
        _paint_sky(seen, which, rays)
        _paint_ground(seen, which, origin, rays, distance, road)
        _paint_solids(seen, which, origin, rays, distance, solids)
        far = 1 - np.exp(np.where(which == NOTHING, 0, distance) / np.float32(-160))[..., None]
        seen += far * (np.array(HAZE, np.float32) - seen)
        seen *= np.float32(draw.uniform(0.75, 1.1))
        grain = draw.standard_normal(seen.shape[:2], np.float32)[..., None] * 5
        return np.clip(cv2.GaussianBlur(seen, (3, 3), 0.6) + grain, 0, 255).astype(np.uint8)


def _paint_sky(seen: np.ndarray, which: np.ndarray, rays: np.ndarray) -> None:
    sky = which == NOTHING
    share = np.clip(rays[2][sky] * 3, 0, 1)[:, None]
    seen[sky] = share * np.array(SKY, np.float32) + (1 - share) * np.array(HAZE, np.float32)


def _paint_ground(
    seen: np.ndarray, which: np.ndarray, origin: np.ndarray, rays: np.ndarray, distance: np.ndarray, road: Road
) -> None:
    """Asphalt with lines, paving behind the curb, grass behind that."""
    ground = which == GROUND
    x, y = (float(origin[axis]) + rays[axis][ground] * distance[ground] for axis in (0, 1))
    behind, (left, ahead) = road.beyond(x, y), road.lateral(x, y)
    line = (np.abs(left) < 0.12) & (np.abs(ahead) > road.crossing_half) & (x % 6 < 3.5)
    places = [line & (behind < 0), behind < 0, behind < 3.4]
    surface = np.select(places, [0, 1, 2], 3)
    seen[ground] = np.array([PAINT, ASPHALT, PAVING, GRASS], np.float32)[surface]


def _paint_solids(
    seen: np.ndarray, which: np.ndarray, origin: np.ndarray, rays: np.ndarray, distance: np.ndarray, solids: Solids
) -> None:
    """The solids' colours, lighter where a side faces the sun."""
    hit = which >= 0
    part = which[hit]

    def each(column: np.ndarray) -> np.ndarray:
        return column.astype(np.float32)[part].T

    x, y, z = rays[:, hit] * distance[hit] - each(solids.centre - origin)
    cos, sin = each(np.cos(solids.yaw)), each(np.sin(solids.yaw))
    own = np.stack([cos * x + sin * y, cos * y - sin * x, z]) / each(solids.half)
    size = np.abs(own)
    ahead, left, up = np.where(
        solids.ball[part], own / np.sqrt((own * own).sum(axis=0)), np.sign(own) * (size == size.max(axis=0))
    )
    light = SUN[0] * (cos * ahead - sin * left) + SUN[1] * (sin * ahead + cos * left) + SUN[2] * up
    seen[hit] = (each(solids.colour) * (0.6 + 0.4 * np.clip(light, -0.3, 1))).T
