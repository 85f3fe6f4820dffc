"""Photographs of dishes: a plate, lit from one side, on a table with other objects, from a random camera position."""

from __future__ import annotations

import math
from collections.abc import Callable

import cv2
import numpy as np

from tallymark.synthetic.dishes.menu import Dish
from tallymark.synthetic.dishes.plates import OUTLINES, Plate, circle, rotated, serve
from tallymark.synthetic.paint import blur, fill, finish, fractal, grain, ramp

Prepare = Callable[[np.random.Generator, Dish, int], Plate]
SMALLEST = 16
"""Smallest longer side of a photograph in pixels."""
TABLES = (
    ((92, 58, 36), (150, 104, 66)),
    ((190, 160, 124), (226, 204, 170)),
    ((36, 34, 36), (70, 68, 68)),
    ((214, 212, 208), (246, 244, 240)),
    ((140, 40, 40), (180, 70, 60)),
    ((70, 90, 110), (120, 140, 150)),
)


def photograph(rng: np.random.Generator, dish: Dish, size: int, prepare: Prepare = serve) -> np.ndarray:
    """A photograph of the dish as uint8 RGB; its longer side has `size` pixels. prepare: it on its plate."""
    ratio = float(rng.choice([1, 1, 3 / 4, 4 / 3, 2 / 3, 3 / 2, 9 / 16]))
    width, height = (round(size * min(1, relative)) for relative in (ratio, 1 / ratio))
    side = min(max(32, round(size * 1.1)), 1400)
    plate = prepare(rng, dish, side)
    homography = _homography(rng, side, width, height)
    table = _table(rng, height, width)
    canvas = (width, height)
    plate_mask = cv2.warpPerspective((plate.height > 0).astype(np.float32), homography, canvas, flags=cv2.INTER_LINEAR)
    rendered = cv2.warpPerspective(
        _light(plate), homography, canvas, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    shadow = cv2.warpAffine(plate_mask, np.array([[1, 0, size * 0.015], [0, 1, size * 0.02]]), canvas)
    table *= (1 - 0.55 * blur(shadow, size * 0.02))[..., None]
    table += (rendered - table) * plate_mask[..., None]
    return _develop(rng, table)


def _light(plate: Plate) -> np.ndarray:
    """The plate lit from one side: shaded slopes, cast shadows, specular highlights."""
    rng = plate.rng
    side = len(plate.layers)
    soft = blur(plate.height.astype(np.float32), side / 260)
    angle = rng.uniform(0, 2 * math.pi)
    strength = rng.uniform(0.012, 0.03)
    x = math.cos(angle)
    y = math.sin(angle)
    slope = (x * cv2.Sobel(soft, cv2.CV_32F, 1, 0) + y * cv2.Sobel(soft, cv2.CV_32F, 0, 1)) * (256 / side)
    move = np.array([[1, 0, -x * side / 70], [0, 1, -y * side / 70]])
    shadow = np.clip(blur(cv2.warpAffine(soft, move, (side, side)), side / 150) - soft, 0, 30)
    shade = np.clip(1 + strength * np.clip(slope, -30, 30), 0.45, 1.5) * (1 - 0.015 * shadow)
    shade *= 1 + 0.16 * plate.cloud(0.05)
    gleam = np.clip(slope - 14, 0, 20) * rng.uniform(0, 5)
    return plate.color * shade[..., None] + gleam[..., None]


def _table(rng: np.random.Generator, height: int, width: int) -> np.ndarray:
    """A table of wood, stone or cloth, with other objects on it."""
    dark, light = TABLES[rng.integers(len(TABLES))]
    cloud = fractal(rng, height, width, rng.uniform(20, 160), 3, 0.6, rng.choice([1, 1, 12, 0.08]))
    if rng.random() < 0.25:
        check = max(6, int(width * rng.uniform(0.04, 0.12)))
        rows, columns = np.indices((height, width)) // check
        cloud = 0.4 * cloud + 0.3 * ((rows % 2) + (columns % 2))
    table = finish(ramp(cloud, (dark, light)))
    for _ in range(rng.integers(0, 5)):  # glasses, other plates, cutlery
        middle = rng.random(2) * (width, height)
        color = rng.uniform(40, 230) + rng.normal(0, 18, 3)
        size = rng.uniform(0.06, 0.3) * width
        shape = rotated(OUTLINES["strip"] * [2.5, 0.3], rng.uniform(0, 6, 1), np.array([size]))[0]
        for inner in (1.0, 0.85):
            outline = circle(32) * size * inner if rng.random() < 0.6 else shape * inner
            fill(table, outline + middle, color * (0.7 + 0.3 * inner))
    return table.astype(np.float32)


def _homography(rng: np.random.Generator, side: int, width: int, height: int) -> np.ndarray:
    """The (3, 3) homography of the camera: the plate is rotated, tilted, scaled, and may be truncated by the border."""
    reach = min(width, height) * rng.uniform(0.45, 1.15)
    angle = rng.uniform(0, 2 * np.pi)
    tilt = rng.uniform(0.55, 1.0)
    corners = rotated(np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]]), np.array([angle]), np.array([reach]))[0]
    depth = 1 + (1 - tilt) * 0.35 * corners[:, 1:] / reach  # perspective: the near side is larger
    spot = np.array([width, height]) * (0.5 + rng.normal(0, 0.1, 2))
    projected = corners * [1, tilt] * depth + spot
    flat = np.array([[0, 0], [side, 0], [side, side], [0, side]], np.float32)
    return cv2.getPerspectiveTransform(flat, projected.astype(np.float32))


def _develop(rng: np.random.Generator, image: np.ndarray) -> np.ndarray:
    """Illumination gradient, white balance, contrast, saturation, blur and noise."""
    height, width = image.shape[:2]
    across, down = (np.linspace(-1, 1, count) * rng.normal(0, 0.18) for count in (width, height))
    side = (1 + across + down[:, None]) * rng.lognormal(-0.02, 0.2)
    lamp = 1 + rng.normal(0, 0.05) * np.array([1.6, 0.2, -1.8]) + rng.normal(0, 0.02, 3)
    saturation = rng.uniform(0.7, 1.25)
    contrast = rng.uniform(0.8, 1.2)
    mix = contrast * (saturation * np.eye(3) + (1 - saturation) / 3) * lamp
    rendered = cv2.transform(
        image * side.astype(np.float32)[..., None], np.column_stack([mix, np.full(3, 128 * (1 - contrast))])
    )
    rendered = blur(rendered, max(height, width) / 256 * min(rng.exponential(0.5), 2))
    grain(rng, rendered, rng.uniform(1, 9))
    return finish(rendered)
