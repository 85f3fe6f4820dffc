"""Sweeps seen from above, and volumes seen by a camera."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from tallymark.drawing.boxes_and_masks import FAINT, NIGHT, PALETTE, Colour, draw_outlines
from tallymark.geometry import Cuboids

SIDE = 480
FAR = 75.0
"""Metres to each side of the vehicle that a view from above shows at most."""
NEAR = 0.5
"""Metres before a camera from which on a corner is drawn."""
EDGES = ((0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7))


def colour_of(kind: int) -> Colour:
    """The colour of a class."""
    return PALETTE[kind % len(PALETTE)]


@dataclass(frozen=True)
class BEVView:
    """A square of ground: its middle in metres and how far it reaches to each side."""

    x: float
    y: float
    reach: float

    @classmethod
    def of(cls, points: np.ndarray, cuboids: Cuboids) -> BEVView:
        """What holds the vehicle, the volumes and nearly all points, within 75 m."""
        cloud = np.percentile(points[:, :2], [2, 98], axis=0) if len(points) else np.empty((0, 2))
        corners = cuboids.ground.corners.reshape(-1, 2)
        places = np.concatenate([cloud, corners[np.isfinite(corners).all(axis=1)], [[-10, -10], [10, 10]]])
        low, high = np.clip([places.min(axis=0), places.max(axis=0)], -FAR, FAR)
        x, y = ((low + high) / 2).tolist()
        return cls(x, y, float((high - low).max()) / 2 + 3)

    @property
    def scale(self) -> float:
        """Pixels to a metre."""
        return SIDE / (2 * self.reach)

    def place(self, ground: np.ndarray) -> np.ndarray:
        """Metres (…, 2) as pixels: x up, y left."""
        return SIDE / 2 - (ground - (self.x, self.y))[..., ::-1] * self.scale


def draw_above(points: np.ndarray, cuboids: Cuboids, kind: np.ndarray, view: BEVView | None = None) -> np.ndarray:
    """Points (n, 3 or more) and volumes of one frame from above: x points up, y to the left, rings every 20 m.

    Points are brighter the higher they lie. A line from a volume's middle to its front marks the heading.
    `kind` is the class of each volume, which decides its colour.
    """
    points = points[np.isfinite(points[:, :3]).all(axis=1)]
    view = view or BEVView.of(points, cuboids)
    picture = _rings(view)
    _sprinkle(picture, points, view)
    ground = cuboids.ground
    ahead = np.stack([np.cos(ground.angle), np.sin(ground.angle)], axis=1) * (ground.length / 2)[:, None]
    middle = np.stack([ground.x, ground.y], axis=1)
    noses = np.stack([middle, middle + ahead], axis=1)
    for number in np.unique(kind).tolist():
        own, colour = kind == number, colour_of(number)
        picture = draw_outlines(picture, view.place(ground.corners[own]), colour, thick=2)
        picture = draw_outlines(picture, view.place(noses[own]), colour, closed=False, thick=2)
    return picture


def corners_of(cuboids: Cuboids) -> np.ndarray:
    """(n, 8, 3): the four corners of the floor, then those of the roof; the front ones are 0, 3, 4 and 7."""
    floor = cuboids.ground.corners
    low = np.broadcast_to((cuboids.z - cuboids.height / 2)[:, None, None], (*floor.shape[:2], 1))
    high = np.broadcast_to((cuboids.z + cuboids.height / 2)[:, None, None], (*floor.shape[:2], 1))
    return np.concatenate([np.concatenate([floor, low], axis=2), np.concatenate([floor, high], axis=2)], axis=1)


def seen_by_camera(corners: np.ndarray, matrix: np.ndarray, size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Where corners (n, 8, 3) in a camera's frame lie in its picture (n, 8, 2), and which volumes are in view.

    The camera looks along z; x runs right and y down. A volume is in view if it is wholly in front of the camera
    and its middle lies in the picture.
    """
    flat = corners.reshape(-1, 3) @ matrix.T
    with np.errstate(divide="ignore", invalid="ignore"):
        place = (flat[:, :2] / flat[:, 2:]).reshape(-1, 8, 2)
    ahead = (corners[:, :, 2] > NEAR).all(axis=1)
    middle = place.mean(axis=1)
    inside = ((middle >= 0) & (middle < size)).all(axis=1)
    return place, ahead & inside


def draw_in_camera(picture: np.ndarray, place: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Volumes by the pixels of their corners (n, 8, 2); the cross on one face marks the front."""
    for corners, number in zip(place, kind.tolist(), strict=True):
        lines = [corners[list(edge)] for edge in EDGES] + [corners[[0, 7]], corners[[3, 4]]]
        picture = draw_outlines(picture, lines, colour_of(number), closed=False)
    return picture


def _rings(view: BEVView) -> np.ndarray:
    """The empty view: rings every 20 m, and a mark where the vehicle is, pointing along x."""
    canvas = Image.new("RGB", (SIDE, SIDE), NIGHT)
    draw = ImageDraw.Draw(canvas)
    x, y = view.place(np.zeros(2)).tolist()
    font = ImageFont.load_default(13)
    for metres in range(20, 281, 20):
        far = metres * view.scale
        draw.ellipse((x - far, y - far, x + far, y + far), outline=(48, 55, 64))
        draw.text((x + 4, y - far + 9), f"{metres} m", fill=FAINT, font=font, anchor="lm")
    draw.polygon([(x, y - 9), (x - 5, y + 6), (x + 5, y + 6)], fill=(255, 255, 255))
    return np.array(canvas)


def _sprinkle(canvas: np.ndarray, points: np.ndarray, view: BEVView) -> None:
    """A pixel for each point; where several fall, the highest shows."""
    place = np.floor(view.place(points[:, :2])).astype(np.int64)
    inside = ((place >= 0) & (place < SIDE)).all(axis=1)
    place, height = place[inside], points[inside, 2]
    if not len(height):
        return
    order = np.argsort(height)
    low, high = np.percentile(height, [2, 98])
    grey = np.clip(70 + 185 * (height - low) / max(high - low, 0.5), 70, 255).astype(np.uint8)
    colours = cv2.cvtColor(cv2.applyColorMap(grey[order, None], cv2.COLORMAP_BONE), cv2.COLOR_BGR2RGB)[:, 0]
    canvas[place[order, 1], place[order, 0]] = colours
