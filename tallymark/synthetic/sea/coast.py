"""Land: shores, islands and harbours, with roads and buildings."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from tallymark.synthetic.paint import Color, fill, fractal, ramp, resize, stroke
from tallymark.synthetic.sea.vessel import CARGO

GROUNDS: list[list[Color]] = [
    [(206, 188, 150), (150, 138, 104), (84, 96, 62), (52, 70, 44)],
    [(222, 204, 168), (190, 164, 122), (160, 132, 96), (120, 104, 80)],
    [(150, 146, 130), (96, 104, 76), (48, 66, 40), (30, 48, 30)],
]
"""Colours from the beach inland, of a green coast, desert and dark forest."""


@dataclass(frozen=True)
class Berth:
    """An edge that ships moor at, from (x0, y0) to (x1, y1), with the water on the right (y down)."""

    x0: float
    y0: float
    x1: float
    y1: float


@dataclass(frozen=True, eq=False)
class Land:
    """Land of a scene.

    height: signed distance from the shore, relative to a chip's side. quays: polygons (n, 2) on the water.
    """

    height: np.ndarray
    quays: list[np.ndarray]
    berths: list[Berth]
    angle: float

    def dry(self) -> np.ndarray:
        """Mask of land and quays, uint8 0 or 255."""
        mask = (self.height > 0).astype(np.uint8) * 255
        for quay in self.quays:
            cv2.fillPoly(mask, [np.rint(quay).astype(np.int32)], 255)
        return mask


def shore(rng: np.random.Generator, height: int, width: int, side: int) -> Land:
    """An irregular coastline across the scene, or up to three islands."""
    rows = height // 4
    columns = width // 4
    rough = fractal(rng, rows, columns, side / 8, 2, 0.55) - 0.5
    y, x = np.mgrid[:rows, :columns].astype(np.float32) * 4 / side
    angle = rng.uniform(0, 2 * np.pi)
    if rng.random() < 0.6:
        along = x * np.cos(angle) + y * np.sin(angle)
        level = along - np.quantile(along, rng.uniform(0.45, 0.9)) + 0.5 * rough
    else:
        level = np.full((rows, columns), -1, np.float32)
        for _ in range(rng.integers(1, 4)):
            far = np.hypot(x - rng.uniform(0, width / side), y - rng.uniform(0, height / side))
            level = np.maximum(level, rng.uniform(0.02, 0.2) - far)
        level = level + 0.3 * rough
    return Land(resize(level.astype(np.float32), height, width), [], [], angle)


def harbour(rng: np.random.Generator, height: int, width: int, side: int) -> Land:
    """A straight quay with piers, on flat land."""
    angle = rng.uniform(0, 2 * np.pi)
    out = np.array([np.cos(angle), np.sin(angle)])
    along = np.array([out[1], -out[0]])
    middle = np.array([width, height]) / 2 + out * rng.uniform(-0.35, 0.25) * side
    far = float(width + height)
    quays = [np.array([middle + along * far, middle - along * far, middle - along * far - out * far,
                       middle + along * far - out * far])]  # fmt: skip
    berths = []
    at = -0.6 * width
    while at < 0.6 * width:
        gap = rng.uniform(0.08, 0.4) * side
        wide = rng.uniform(0.01, 0.06) * side
        long = rng.uniform(0.1, 0.5) * side
        root = middle + along * at
        berths.append(Berth(*root, *(root + along * gap)))
        near = root + along * gap
        beyond = root + along * (gap + wide)
        quays.append(np.array([near - out, near + out * long, beyond + out * long, beyond - out]))
        berths += [Berth(*near, *(near + out * long)), Berth(*(beyond + out * long), *beyond)]
        at += gap + wide
    return Land(np.full((height, width), -1, np.float32), quays, berths, angle)


def paint_land(rng: np.random.Generator, image: np.ndarray, land: Land, side: int) -> None:
    """Paint the land onto a uint8 image, in place."""
    height, width = image.shape[:2]
    rough = resize(fractal(rng, height // 2, width // 2, side / 12, 2, 0.95), height, width)
    built = np.zeros((height, width), np.uint8)
    for quay in land.quays:
        fill(built, quay, 255)
    if land.quays:
        concrete = np.array((168, 160, 146)) * rng.uniform(0.5, 1.1) + rng.normal(0, 4, 3)
        ground = ramp(rough, (concrete * 0.75, concrete, np.minimum(concrete * 1.2, 250)))
        cover = built.astype(np.float32) / 255
    else:
        inland = np.clip(land.height * 8, 0, 1) * 0.6 + rough * 0.45
        ground = ramp(inland, [np.asarray(c) for c in GROUNDS[rng.integers(len(GROUNDS))]])
        cover = np.clip(land.height * side / 2, 0, 1)
    image[:] = (image + (ground - image) * cover[..., None]).astype(np.uint8)
    dry = cv2.erode(land.dry(), np.ones((9, 9), np.uint8))
    _roads(rng, image, dry, land)
    _buildings(rng, image, dry, land, side)


def _roads(rng: np.random.Generator, image: np.ndarray, dry: np.ndarray, land: Land) -> None:
    """Straight roads on dry land."""
    height, width = dry.shape
    drawn = image.copy()
    for _ in range(rng.integers(1, 5)):
        direction = land.angle + rng.choice([0, np.pi / 2]) + rng.normal(0, 0.05)
        middle = rng.uniform(0, (width, height))
        step = np.array([np.cos(direction), np.sin(direction)]) * (width + height)
        grey = rng.uniform(70, 170) * np.array([1, 0.97, 0.93])
        stroke(drawn, np.stack([middle - step, middle + step]), grey, int(rng.integers(2, 6)))
    cv2.copyTo(drawn, dry, image)


def _buildings(rng: np.random.Generator, image: np.ndarray, dry: np.ndarray, land: Land, side: int) -> None:
    """Houses, sheds and stacks of containers, each with a shadow; some have the shape of a ship."""
    height, width = dry.shape
    count = int(rng.uniform(60, 500) * np.count_nonzero(dry) / dry.size)
    cos = np.cos(land.angle)
    sin = np.sin(land.angle)
    rotation = np.array([(cos, sin), (-sin, cos)])
    for spot in rng.uniform(0, (width, height), (count, 2)):
        if not dry[int(spot[1]), int(spot[0])]:
            continue
        long = side * rng.lognormal(-3.9, 0.6)
        slim = rng.uniform(0.18, 0.9)
        box = np.array([(-1, -slim), (1, -slim), (1, slim), (-1, slim)]) * long / 2 @ rotation
        corners = box + spot
        if not all(dry[int(v), int(u)] for u, v in np.clip(corners, 0, (width - 1, height - 1))):
            continue
        color = CARGO[rng.integers(len(CARGO))] if rng.random() < 0.4 else np.full(3, rng.uniform(90, 250))
        fill(image, corners + long * 0.12, (30, 32, 34))
        fill(image, corners, np.clip(color * rng.uniform(0.7, 1.2), 0, 255))
        fill(image, (box * (0.5, 1) if slim > 0.5 else box * 0.6) + spot, np.clip(color * 0.85, 0, 255))
