"""Images of a street by a pinhole camera, rendered by ray casting: one ray per pixel."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from tallymark.geometry.poses import Poses
from tallymark.synthetic.street.raycast import GROUND, NOTHING, Solids, cast, rotate
from tallymark.synthetic.street.road import Road

FOCAL = 0.58
"""Focal length relative to the image width: a field of view of about 80 degrees."""
SUN = (0.45, -0.35, 0.82)
SKY = (200, 160, 110)
HAZE = (215, 205, 195)
ASPHALT = (85, 82, 80)
PAVING = (150, 155, 158)
GRASS = (70, 120, 95)
PAINT = (215, 225, 225)
NEAR = 0.2
"""Distance of the near plane in metres."""


@dataclass(frozen=True)
class Camera:
    """A pinhole camera; its frame has x to the right, y down and z ahead."""

    width: int
    height: int

    @property
    def intrinsic(self) -> np.ndarray:
        """The (3, 3) intrinsic matrix; the centre of the first pixel is at 0.5."""
        focal = FOCAL * self.width
        return np.array([[focal, 0, self.width / 2], [0, focal, self.height / 2], [0, 0, 1]])

    def project(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pixel coordinates (…, 2) of points (…, 3) in the camera frame, and their depth."""
        ahead = points[..., 2]
        with np.errstate(divide="ignore", invalid="ignore"):
            return (points @ self.intrinsic.T)[..., :2] / ahead[..., None], ahead

    def windows(self, solids: Solids, pose: Poses) -> np.ndarray:
        """(n, 4) first and last (exclusive) row, first and last column of each solid in the image."""
        corners = pose.inverse().apply(solids.corners.reshape(-1, 3)).reshape(-1, 8, 3)
        pixels, ahead = self.project(corners)
        limit = np.array([self.width, self.height])
        low = np.clip(np.floor(pixels.min(axis=1)), 0, limit)
        high = np.clip(np.ceil(pixels.max(axis=1)), 0, limit)
        # A solid that reaches behind the near plane may be anywhere in the image.
        behind = (ahead.min(axis=1) < NEAR)[:, None]
        low, high = np.where(behind, 0, low), np.where(behind, limit, high)
        high[self._outside_frustum(corners) | (ahead.max(axis=1) < NEAR)] = 0
        return np.stack([low[:, 1], high[:, 1], low[:, 0], high[:, 0]], axis=1).astype(int)

    def _outside_frustum(self, corners: np.ndarray) -> np.ndarray:
        """Whether all corners (n, 8, 3) are outside the same side plane of the view frustum."""
        x, y, ahead = np.moveaxis(corners, -1, 0)
        right = ahead * (0.5 / FOCAL)
        down = ahead * (0.5 / FOCAL * self.height / self.width)
        return np.any([side.all(axis=1) for side in (x > right, x < -right, y > down, y < -down)], axis=0)

    def render(self, solids: Solids, road: Road, pose: Poses, rng: np.random.Generator) -> np.ndarray:
        """The (height, width, 3) BGR image, given the camera's pose in the street frame."""
        right = np.arange(self.width) + 0.5
        down = np.arange(self.height)[:, None] + 0.5
        focal = FOCAL * self.width
        grid = np.broadcast_arrays((right - self.width / 2) / focal, (down - self.height / 2) / focal, 1.0)
        directions = np.array(grid, np.float32)
        directions /= np.sqrt((directions * directions).sum(axis=0))
        origin = pose.translation[0]
        rays = rotate(pose.matrices()[0].astype(np.float32), directions)
        distance, which = cast(solids, origin, rays, self.windows(solids, pose), road.intersect(origin, rays), None)
        image = np.empty((self.height, self.width, 3), np.float32)
        _paint_sky(image, which, rays)
        _paint_ground(image, which, origin, rays, distance, road)
        _paint_solids(image, which, origin, rays, distance, solids)
        far = 1 - np.exp(np.where(which == NOTHING, 0, distance) / np.float32(-160))[..., None]
        image += far * (np.array(HAZE, np.float32) - image)
        image *= np.float32(rng.uniform(0.75, 1.1))
        grain = rng.standard_normal(image.shape[:2], np.float32)[..., None] * 5
        return np.clip(cv2.GaussianBlur(image, (3, 3), 0.6) + grain, 0, 255).astype(np.uint8)


def _paint_sky(image: np.ndarray, which: np.ndarray, rays: np.ndarray) -> None:
    """A gradient from the haze at the horizon to the sky."""
    sky = which == NOTHING
    share = np.clip(rays[2][sky] * 3, 0, 1)[:, None]
    image[sky] = share * np.array(SKY, np.float32) + (1 - share) * np.array(HAZE, np.float32)


def _paint_ground(
    image: np.ndarray, which: np.ndarray, origin: np.ndarray, rays: np.ndarray, distance: np.ndarray, road: Road
) -> None:
    """Asphalt with lane markings, pavement behind the curb, and grass behind that."""
    ground = which == GROUND
    x, y = (float(origin[axis]) + rays[axis][ground] * distance[ground] for axis in (0, 1))
    behind = road.beyond(x, y)
    left, ahead = road.lateral(x, y)
    line = (np.abs(left) < 0.12) & (np.abs(ahead) > road.crossing_half) & (x % 6 < 3.5)
    places = [line & (behind < 0), behind < 0, behind < 3.4]
    surface = np.select(places, [0, 1, 2], 3)
    image[ground] = np.array([PAINT, ASPHALT, PAVING, GRASS], np.float32)[surface]


def _paint_solids(
    image: np.ndarray, which: np.ndarray, origin: np.ndarray, rays: np.ndarray, distance: np.ndarray, solids: Solids
) -> None:
    """The colours of the solids, brighter on sides that face the sun."""
    hit = which >= 0
    part = which[hit]

    def each(column: np.ndarray) -> np.ndarray:
        return column.astype(np.float32)[part].T

    x, y, z = rays[:, hit] * distance[hit] - each(solids.center - origin)
    cos = each(np.cos(solids.yaw))
    sin = each(np.sin(solids.yaw))
    own = np.stack([cos * x + sin * y, cos * y - sin * x, z]) / each(solids.half)
    size = np.abs(own)
    ahead, left, up = np.where(
        solids.ball[part], own / np.sqrt((own * own).sum(axis=0)), np.sign(own) * (size == size.max(axis=0))
    )
    light = SUN[0] * (cos * ahead - sin * left) + SUN[1] * (sin * ahead + cos * left) + SUN[2] * up
    image[hit] = (each(solids.color) * (0.6 + 0.4 * np.clip(light, -0.3, 1))).T
