"""Heads of wheat: one drawn large and shrunk, to be laid turned, tilted and tinted on photographs."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from tallymark.synthetic.paint import fill, stroke

DRAWN_LARGER = 2
"""Heads are drawn at this many times their size and then shrunk, which smooths all edges."""


@dataclass(frozen=True, eq=False)
class Spike:
    """A head that points along x: colours, opacity of all there is, and of the body without its awns (bytes).

    `middle` is the x, y of the body's middle.
    """

    colour: np.ndarray
    cover: np.ndarray
    body: np.ndarray
    middle: np.ndarray


@dataclass(frozen=True, eq=False)
class Laid:
    """A head on a photograph: the corner of its patch, and its three planes as they appear there.

    `colour` is float32, `cover` 0 to 1, `body` true or false. `inside` is the share of the body within the photograph.
    """

    x: int
    y: int
    colour: np.ndarray
    cover: np.ndarray
    body: np.ndarray
    inside: float


def grow(rng: np.random.Generator, length: float, colour: np.ndarray, awn: np.ndarray, awns: float) -> Spike:
    """Draw a head of this length in pixels; `awns` is their length as a share of it."""
    large = length * DRAWN_LARGER
    width = large * rng.uniform(0.28, 0.42)
    margin = int(large * (0.12 + 1.1 * awns)) + 4
    canvas = (int(width + margin), int(large) + 2 * margin)
    middle = np.array([margin, canvas[0] / 2])
    kernels, tips, outward = _kernels(rng, large, width)
    dark = colour * rng.uniform(0.3, 0.5)
    picture = np.full((*canvas, 3), dark, np.uint8)
    cover, body = np.zeros(canvas, np.uint8), np.zeros(canvas, np.uint8)
    hairs = middle + _hairs(rng, tips, outward, large * awns)
    thickness = max(1, round(large / 80))
    if awns:
        stroke(picture, hairs, awn, thickness + 2)
        stroke(cover, hairs, 255, thickness)
    for kernel in kernels + middle:
        centre = kernel.mean(axis=0)
        bright = colour * rng.uniform(0.75, 1.1)
        fill(body, kernel, 255)
        fill(picture, kernel, dark)
        fill(picture, centre + 0.84 * (kernel - centre), bright)
        fill(picture, centre + 0.5 * (kernel - centre) + (0, -0.012 * large), np.minimum(255, bright * 1.18))
    cover = np.maximum(cover, body)
    if awns:  # those that rise towards the camera
        upper = hairs[rng.random(len(hairs)) < 0.3]
        for hair in upper:
            stroke(picture, hair, awn, thickness)
    return _shrunk(picture, cover, body, np.array([margin + large / 2, canvas[0] / 2]))


def _shrunk(picture: np.ndarray, cover: np.ndarray, body: np.ndarray, middle: np.ndarray) -> Spike:
    """The drawing without its blank margins, at its final size."""
    x, y, width, height = cv2.boundingRect(cover)
    size = (max(1, round(width / DRAWN_LARGER)), max(1, round(height / DRAWN_LARGER)))
    picture, cover, body = (
        cv2.resize(plane[y : y + height, x : x + width], size, interpolation=cv2.INTER_AREA)
        for plane in (picture, cover, body)
    )
    return Spike(picture, cover, body, (middle - (x, y)) * size / (width, height))


def _kernels(rng: np.random.Generator, length: float, width: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outlines of the kernels from the tip to the base, their tips, and the way they lean; the head begins at 0, 0."""
    nodes = int(rng.integers(7, 12))
    files = np.array([-1, 1, 0] if rng.random() < 0.6 else [-1, 1])
    along = np.repeat(np.linspace(0.94, 0.1, nodes), len(files))
    across = np.tile(files, nodes) + rng.normal(0, 0.08, nodes * len(files))
    along = along + np.where(across > 0.5, 0.4 / nodes, 0) + rng.normal(0, 0.06 / nodes, len(along))
    girth = np.sin(np.pi * np.clip(0.18 + 0.68 * along, 0, 1)) ** 0.8
    lean = across * rng.uniform(0.4, 0.75)
    turn = np.linspace(0, 2 * np.pi, 14, endpoint=False)
    drop = np.stack([np.cos(turn), np.sin(turn) * (1 - 0.35 * np.cos(turn))], 1) / 2
    sizes = np.stack([length * 1.9 / nodes * (0.6 + 0.4 * girth), width * 0.52 * girth], 1)
    drops = drop * sizes[:, None]
    cos, sin = np.cos(lean)[:, None], np.sin(lean)[:, None]
    turned = np.stack([drops[..., 0] * cos - drops[..., 1] * sin, drops[..., 0] * sin + drops[..., 1] * cos], -1)
    bend = rng.normal(0, 0.12) * length
    places = np.stack([(along - 0.06) * length, across * width * 0.27 * girth + bend * (along - 0.5) ** 2], 1)
    return turned + places[:, None], places + turned[:, 0], lean


def _hairs(rng: np.random.Generator, tips: np.ndarray, lean: np.ndarray, length: float) -> np.ndarray:
    """Awns as curves of four points, (n, 4, 2)."""
    way = 1.1 * lean + rng.normal(0, 0.15, len(lean))
    reach = length * rng.uniform(0.6, 1.1, len(lean))
    steps = np.linspace(0, 1, 4)
    angles = way[:, None] + np.outer(rng.normal(0, 0.15, len(lean)), steps)
    return tips[:, None] + (reach[:, None] * steps)[..., None] * np.stack([np.cos(angles), np.sin(angles)], -1)


def lay(spike: Spike, middle: np.ndarray, angle: float, scale: float, squash: float, size: int) -> Laid | None:
    """A head with its middle at x, y = `middle` on a square photograph; None if its patch lies outside.

    `angle` in radians, y down. `squash` shortens the head, as when it points towards the camera.
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
    colour, cover, body = (cv2.warpAffine(plane, matrix, patch) for plane in (spike.colour, spike.cover, spike.body))
    whole = max(1.0, np.count_nonzero(spike.body > 127) * scale * scale * squash)
    solid = body > 127
    inside = min(1.0, np.count_nonzero(solid) / whole)
    return Laid(int(low[0]), int(low[1]), colour.astype(np.float32), cover.astype(np.float32) / 255, solid, inside)
