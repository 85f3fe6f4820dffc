"""Wheat heads (spikes): drawn once, and placed on photographs rotated, foreshortened and tinted."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from tallymark.synthetic.paint import fill, stroke

SUPERSAMPLING = 2
"""Heads are drawn at this multiple of their size and then reduced, for antialiasing."""


@dataclass(frozen=True, eq=False)
class Spike:
    """A head that points along x, as uint8 planes: colours, opacity, and opacity of the body without its awns.

    middle: x, y of the centre of the body.
    """

    color: np.ndarray
    cover: np.ndarray
    body: np.ndarray
    middle: np.ndarray


@dataclass(frozen=True, eq=False)
class PlacedHead:
    """A head on a photograph: the upper left corner of its patch, and its planes in the patch.

    color: float32 RGB. cover: opacity, 0 to 1. body: boolean. inside: fraction of the body inside the image.
    """

    x: int
    y: int
    color: np.ndarray
    cover: np.ndarray
    body: np.ndarray
    inside: float


def draw_head(rng: np.random.Generator, length: float, color: np.ndarray, awn: np.ndarray, awns: float) -> Spike:
    """Draw a head of this length in pixels; `awns` is the length of the awns relative to it."""
    large = length * SUPERSAMPLING
    width = large * rng.uniform(0.28, 0.42)
    margin = int(large * (0.12 + 1.1 * awns)) + 4
    canvas = (int(width + margin), int(large) + 2 * margin)
    middle = np.array([margin, canvas[0] / 2])
    kernels, tips, outward = _kernels(rng, large, width)
    dark = color * rng.uniform(0.3, 0.5)
    image = np.full((*canvas, 3), dark, np.uint8)
    cover = np.zeros(canvas, np.uint8)
    body = np.zeros(canvas, np.uint8)
    hairs = middle + _hairs(rng, tips, outward, large * awns)
    thickness = max(1, round(large / 80))
    if awns:
        stroke(image, hairs, awn, thickness + 2)
        stroke(cover, hairs, 255, thickness)
    for kernel in kernels + middle:
        center = kernel.mean(axis=0)
        bright = color * rng.uniform(0.75, 1.1)
        fill(body, kernel, 255)
        fill(image, kernel, dark)
        fill(image, center + 0.84 * (kernel - center), bright)
        fill(image, center + 0.5 * (kernel - center) + (0, -0.012 * large), np.minimum(255, bright * 1.18))
    cover = np.maximum(cover, body)
    if awns:  # awns that rise towards the camera
        upper = hairs[rng.random(len(hairs)) < 0.3]
        for hair in upper:
            stroke(image, hair, awn, thickness)
    return _shrunk(image, cover, body, np.array([margin + large / 2, canvas[0] / 2]))


def _shrunk(image: np.ndarray, cover: np.ndarray, body: np.ndarray, middle: np.ndarray) -> Spike:
    """The drawing without its empty margins, reduced to its final size."""
    x, y, width, height = cv2.boundingRect(cover)
    size = (max(1, round(width / SUPERSAMPLING)), max(1, round(height / SUPERSAMPLING)))
    image, cover, body = (
        cv2.resize(plane[y : y + height, x : x + width], size, interpolation=cv2.INTER_AREA)
        for plane in (image, cover, body)
    )
    return Spike(image, cover, body, (middle - (x, y)) * size / (width, height))


def _kernels(rng: np.random.Generator, length: float, width: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outlines of the kernels from the tip to the base of a head at 0, 0; their tips; and their angles."""
    nodes = int(rng.integers(7, 12))
    files = np.array([-1, 1, 0] if rng.random() < 0.6 else [-1, 1])
    along = np.repeat(np.linspace(0.94, 0.1, nodes), len(files))
    across = np.tile(files, nodes) + rng.normal(0, 0.08, nodes * len(files))
    along = along + np.where(across > 0.5, 0.4 / nodes, 0) + rng.normal(0, 0.06 / nodes, len(along))
    girth = np.sin(np.pi * np.clip(0.18 + 0.68 * along, 0, 1)) ** 0.8
    lean = across * rng.uniform(0.4, 0.75)
    angle = np.linspace(0, 2 * np.pi, 14, endpoint=False)
    drop = np.stack([np.cos(angle), np.sin(angle) * (1 - 0.35 * np.cos(angle))], 1) / 2
    sizes = np.stack([length * 1.9 / nodes * (0.6 + 0.4 * girth), width * 0.52 * girth], 1)
    drops = drop * sizes[:, None]
    cos = np.cos(lean)[:, None]
    sin = np.sin(lean)[:, None]
    rotated = np.stack([drops[..., 0] * cos - drops[..., 1] * sin, drops[..., 0] * sin + drops[..., 1] * cos], -1)
    bend = rng.normal(0, 0.12) * length
    places = np.stack([(along - 0.06) * length, across * width * 0.27 * girth + bend * (along - 0.5) ** 2], 1)
    return rotated + places[:, None], places + rotated[:, 0], lean


def _hairs(rng: np.random.Generator, tips: np.ndarray, lean: np.ndarray, length: float) -> np.ndarray:
    """Awns as polylines of four points, (n, 4, 2)."""
    direction = 1.1 * lean + rng.normal(0, 0.15, len(lean))
    reach = length * rng.uniform(0.6, 1.1, len(lean))
    steps = np.linspace(0, 1, 4)
    angles = direction[:, None] + np.outer(rng.normal(0, 0.15, len(lean)), steps)
    return tips[:, None] + (reach[:, None] * steps)[..., None] * np.stack([np.cos(angles), np.sin(angles)], -1)


def place_head(
    spike: Spike, middle: np.ndarray, angle: float, scale: float, squash: float, size: int
) -> PlacedHead | None:
    """A head with its centre at x, y = `middle` on a square photograph; None if it is outside.

    angle: direction in radians, y down. squash: foreshortening, as of a head that points towards the camera.
    """
    height, width = spike.cover.shape
    along = scale * squash * np.array([np.cos(angle), np.sin(angle)])
    across = scale * np.array([-np.sin(angle), np.cos(angle)])
    reach = np.array([(0, 0), (width, 0), (0, height), (width, height)]) - spike.middle
    corners = middle + reach[:, :1] * along + reach[:, 1:] * across
    low = np.floor(np.maximum(corners.min(0), 0)).astype(int)
    high = np.ceil(np.minimum(corners.max(0) + 1, size)).astype(int)
    if (high - low < 2).any():
        return None
    offset = middle - low - along * spike.middle[0] - across * spike.middle[1]
    matrix = np.column_stack([along, across, offset])
    patch = (int(high[0] - low[0]), int(high[1] - low[1]))
    color, cover, body = (cv2.warpAffine(plane, matrix, patch) for plane in (spike.color, spike.cover, spike.body))
    whole = max(1.0, np.count_nonzero(spike.body > 127) * scale * scale * squash)
    solid = body > 127
    inside = min(1.0, np.count_nonzero(solid) / whole)
    return PlacedHead(int(low[0]), int(low[1]), color.astype(np.float32), cover.astype(np.float32) / 255, solid, inside)
