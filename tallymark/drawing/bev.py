"""Point clouds and cuboids in bird's-eye view (BEV), and cuboids projected into camera images."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from PIL import Image, ImageDraw

from tallymark.data.road_map import NO_ROAD, ROAD, SIDEWALK
from tallymark.drawing.boxes_and_masks import draw_outlines
from tallymark.drawing.colors import BACKGROUND, MUTED, TRUTH, Color, class_color
from tallymark.drawing.text import font
from tallymark.geometry import Cuboids

SIDE = 480
"""Side of a BEV image in pixels."""
MAX_RANGE = 75.0
"""Metres to each side of the vehicle that a BEV image shows at most."""
RING_STEP = 20
"""Metres between the range rings."""
SURFACES: dict[int, Color] = {NO_ROAD: BACKGROUND, SIDEWALK: (30, 42, 36), ROAD: (40, 46, 58)}
"""Colours of the surfaces of a road map."""
SURFACE_COLORS = np.array([SURFACES[kind] for kind in range(len(SURFACES))], np.uint8)
MIN_DEPTH = 0.5
"""Metres in front of a camera from which corners are projected."""
EDGES = ((0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7))
"""The twelve edges of a cuboid, as pairs of its corners."""


@dataclass(frozen=True)
class BEVView:
    """The square of ground that a BEV image shows: its centre, and metres from there to each side.

    side: of the image in pixels.
    """

    x: float
    y: float
    reach: float
    side: int = SIDE

    @classmethod
    def around(cls, points: np.ndarray, cuboids: Cuboids, side: int = SIDE) -> BEVView:
        """The square that contains the vehicle, the cuboids and nearly all points, within `MAX_RANGE`."""
        cloud = np.percentile(points[:, :2], [2, 98], axis=0) if len(points) else np.empty((0, 2))
        corners = cuboids.ground.corners.reshape(-1, 2)
        places = np.concatenate([cloud, corners[np.isfinite(corners).all(axis=1)], [[-10, -10], [10, 10]]])
        low, high = np.clip([places.min(axis=0), places.max(axis=0)], -MAX_RANGE, MAX_RANGE)
        x, y = ((low + high) / 2).tolist()
        return cls(x, y, float((high - low).max()) / 2 + 3, side)

    @property
    def scale(self) -> float:
        """Pixels per metre."""
        return self.side / (2 * self.reach)

    def to_pixels(self, ground: np.ndarray) -> np.ndarray:
        """Metres (…, 2) as pixels: x points up, y to the left."""
        return self.side / 2 - (ground - (self.x, self.y))[..., ::-1] * self.scale

    def ground(self) -> np.ndarray:
        """The place (side, side, 2) of each pixel in metres: the inverse of `to_pixels`."""
        along = (self.side / 2 - np.arange(self.side) - 0.5) / self.scale
        ground = np.empty((self.side, self.side, 2))
        ground[..., 0] = (along + self.x)[:, None]
        ground[..., 1] = along + self.y
        return ground


Surface = Callable[[np.ndarray], np.ndarray | None]
"""What a road map has at places (n, 2) in the frame of the points; None without a map."""


def draw_bev(
    points: np.ndarray,
    cuboids: Cuboids,
    labels: np.ndarray,
    view: BEVView | None = None,
    *,
    surface: Surface | None = None,
    truth: Cuboids | None = None,
) -> np.ndarray:
    """Points (n, 3 or more) and cuboids of one frame in bird's-eye view, with range rings every 20 m.

    x points up and y to the left. Higher points are brighter. A line from a cuboid's centre to its front marks its
    heading. `labels` are the classes of the cuboids and decide their colours; `truth` is drawn in thin lines.
    """
    points = points[np.isfinite(points[:, :3]).all(axis=1)]
    view = view or BEVView.around(points, cuboids)
    image = _draw_rings(_draw_surface(view, surface), view)
    _draw_points(image, points, view)
    if truth is not None:
        image = draw_outlines(image, view.to_pixels(truth.ground.corners), TRUTH)
    ground = cuboids.ground
    forward = np.stack([np.cos(ground.angle), np.sin(ground.angle)], axis=1) * (ground.length / 2)[:, None]
    center = np.stack([ground.x, ground.y], axis=1)
    headings = np.stack([center, center + forward], axis=1)
    for label in np.unique(labels).tolist():
        of_class = labels == label
        color = class_color(label)
        image = draw_outlines(image, view.to_pixels(ground.corners[of_class]), color, thickness=2)
        image = draw_outlines(image, view.to_pixels(headings[of_class]), color, closed=False, thickness=2)
    return image


def cuboid_corners(cuboids: Cuboids) -> np.ndarray:
    """(n, 8, 3): the four lower corners, then the four upper ones; those of the front are 0, 3, 4 and 7."""
    floor = cuboids.ground.corners
    low = np.broadcast_to((cuboids.z - cuboids.height / 2)[:, None, None], (*floor.shape[:2], 1))
    high = np.broadcast_to((cuboids.z + cuboids.height / 2)[:, None, None], (*floor.shape[:2], 1))
    return np.concatenate([np.concatenate([floor, low], axis=2), np.concatenate([floor, high], axis=2)], axis=1)


def project_to_camera(corners: np.ndarray, matrix: np.ndarray, size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Project corners (n, 8, 3) in a camera's frame to pixels (n, 8, 2), and which cuboids are visible.

    The camera's z axis points forward, x right and y down; `matrix` is its (3, 3) intrinsic matrix. A cuboid is
    visible if all of it is in front of the camera and its centre lies in the image of this (width, height).
    """
    flat = corners.reshape(-1, 3) @ matrix.T
    with np.errstate(divide="ignore", invalid="ignore"):
        pixels = (flat[:, :2] / flat[:, 2:]).reshape(-1, 8, 2)
    in_front = (corners[:, :, 2] > MIN_DEPTH).all(axis=1)
    center = pixels.mean(axis=1)
    inside = ((center >= 0) & (center < size)).all(axis=1)
    return pixels, in_front & inside


def draw_projected_cuboids(
    image: np.ndarray, pixels: np.ndarray, colors: Sequence[Color], thickness: int = 1
) -> np.ndarray:
    """Cuboids by the pixels of their corners (n, 8, 2), each in its colour; the cross on one face marks the front."""
    for corners, color in zip(pixels, colors, strict=True):
        lines = [corners[list(edge)] for edge in EDGES] + [corners[[0, 7]], corners[[3, 4]]]
        image = draw_outlines(image, lines, color, closed=False, thickness=thickness)
    return image


def _draw_surface(view: BEVView, surface: Surface | None) -> np.ndarray:
    """An empty BEV image, with the roads and sidewalks of a map."""
    found = None if surface is None else surface(view.ground().reshape(-1, 2))
    if found is None:
        return np.full((view.side, view.side, 3), BACKGROUND, np.uint8)
    return SURFACE_COLORS[found.reshape(view.side, view.side)]


def _draw_rings(image: np.ndarray, view: BEVView) -> np.ndarray:
    """The image with range rings, and a triangle at the vehicle that points along x."""
    canvas = Image.fromarray(image)
    draw = ImageDraw.Draw(canvas)
    x, y = view.to_pixels(np.zeros(2)).tolist()
    farthest = float(np.hypot(max(x, view.side - x), max(y, view.side - y))) / view.scale
    for metres in range(RING_STEP, math.ceil(farthest) + 1, RING_STEP):
        radius = metres * view.scale
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), outline=(48, 55, 64))
        draw.text((x + 4, y - radius + 9), f"{metres} m", fill=MUTED, font=font(13), anchor="lm")
    draw.polygon([(x, y - 9), (x - 5, y + 6), (x + 5, y + 6)], fill=(255, 255, 255))
    return np.array(canvas)


def _draw_points(canvas: np.ndarray, points: np.ndarray, view: BEVView) -> None:
    """Colour one pixel per point in place; where several coincide, the highest is visible."""
    columns, rows = np.floor(view.to_pixels(points[:, :2])).T
    inside = (columns >= 0) & (columns < view.side) & (rows >= 0) & (rows < view.side)
    pixel, height = (rows[inside] * view.side + columns[inside]).astype(np.int64), points[inside, 2]
    if not len(height):
        return
    order = np.argsort(height)
    low, high = np.percentile(height, [2, 98])
    gray = np.clip(70 + 185 * (height - low) / max(high - low, 0.5), 70, 255).astype(np.uint8)
    colors = cv2.cvtColor(cv2.applyColorMap(gray[order, None], cv2.COLORMAP_BONE), cv2.COLOR_BGR2RGB)[:, 0]
    canvas.reshape(-1, 3)[pixel[order]] = colors
