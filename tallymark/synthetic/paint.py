"""Procedural images: fractal noise, colour ramps, antialiased shapes, blur, camera noise, JPEG.

Images are float32 RGB arrays of (height, width, 3), 0 to 255; `finish` converts them to uint8.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from tallymark.core.outputs import write_bytes

FRACTION_BITS = 4
"""Coordinates of shapes have a resolution of 1/16 pixel."""

Color = Sequence[float] | np.ndarray
"""Red, green, blue, 0 to 255."""


def fractal(
    rng: np.random.Generator,
    height: int,
    width: int,
    coarse: float = 128,
    fine: float = 4,
    roughness: float = 0.5,
    stretch: float = 1,
) -> np.ndarray:
    """Fractal noise from 0 to 1, float32.

    coarse, fine: wavelength in pixels of the first and the last octave; `fine=8` is several times faster than 2.
    roughness: amplitude of each octave relative to the one before. stretch: above 1, structures are longer along x,
    below 1 along y.
    """
    size = float(coarse)
    strength = 1.0
    noise = np.zeros((1, 1), np.float32)
    while True:
        rows = max(2, round(height / size * stretch**0.5) + 1)
        columns = max(2, round(width / size / stretch**0.5) + 1)
        shape = (min(rows, height), min(columns, width))
        noise = resize(noise, *shape) + strength * (rng.random(shape, np.float32) - np.float32(0.5))
        if size <= fine:
            break
        size = size / 2
        strength = strength * roughness
    whole = resize(noise, height, width)
    low = float(whole.min())
    high = float(whole.max())
    return np.clip((whole - low) / (high - low), 0, 1)


def resize(image: np.ndarray, height: int, width: int) -> np.ndarray:
    """The image at another size, by cubic interpolation."""
    return cv2.resize(image, (width, height), interpolation=cv2.INTER_CUBIC)


def ramp(values: np.ndarray, colors: Sequence[Color]) -> np.ndarray:
    """An image whose colours follow `values` (0 to 1) along a gradient of evenly spaced colours."""
    steps = np.linspace(0, len(colors) - 1, 256)
    stops = np.arange(len(colors))
    table = np.stack([np.interp(steps, stops, channel) for channel in np.asarray(colors, float).T], 1)
    index = cv2.convertScaleAbs(np.clip(values, 0, 1), alpha=255)
    return cv2.LUT(cv2.merge([index] * 3), table.astype(np.float32)[None])


def tint(image: np.ndarray, color: Color, cover: np.ndarray) -> None:
    """Blend a colour over the image, in place; `cover` is the opacity of each pixel, 0 to 1."""
    image += (np.asarray(color, np.float32) - image) * cover[..., None]


def blur(image: np.ndarray, radius: float) -> np.ndarray:
    """The image after a Gaussian blur; `radius` is the standard deviation in pixels."""
    return cv2.GaussianBlur(image, (0, 0), radius, borderType=cv2.BORDER_REFLECT) if radius > 0.2 else image


def fill(image: np.ndarray, corners: np.ndarray, color: Color | float) -> None:
    """Fill a polygon of (n, 2) corners x, y in a uint8 image, in place, with antialiased edges."""
    cv2.fillPoly(image, [_fixed(corners)], _scalar(color), cv2.LINE_AA, FRACTION_BITS)


def fill_each(image: np.ndarray, polygons: np.ndarray, colors: np.ndarray) -> None:
    """Fill k polygons of n corners, (k, n, 2), one over the other, with colours (k, 3). See `fill`."""
    for corners, color in zip(_fixed(polygons), np.clip(colors, 0, 255).tolist(), strict=True):
        cv2.fillPoly(image, [corners], color, cv2.LINE_AA, FRACTION_BITS)


def stroke(image: np.ndarray, points: np.ndarray, color: Color | float, thickness: int = 1) -> None:
    """Draw one polyline (n, 2), or several (k, n, 2), in a uint8 image, in place."""
    lines = _fixed(points).reshape(-1, *np.shape(points)[-2:])
    cv2.polylines(image, list(lines), False, _scalar(color), thickness, cv2.LINE_AA, FRACTION_BITS)


def grain(rng: np.random.Generator, image: np.ndarray, strength: float) -> None:
    """Add camera noise of this standard deviation, in place: one 128 px patch, shifted at random for each tile."""
    height, width = image.shape[:2]
    noise = rng.standard_normal((128, 128 * image.shape[2]), np.float32).reshape(128, 128, -1)
    rows, columns = rng.integers(0, 128, (2, max(height, width) // 128 + 1))
    for row, y in enumerate(range(0, height, 128)):
        for column, x in enumerate(range(0, width, 128)):
            tile = image[y : y + 128, x : x + 128]
            shifted = np.roll(noise, (rows[row], columns[column]), (0, 1))
            tile += strength * shifted[: tile.shape[0], : tile.shape[1]]


def finish(image: np.ndarray) -> np.ndarray:
    """The image as uint8, rounded and clipped to 0 to 255."""
    return cv2.addWeighted(image, 1, image, 0, 0, dtype=cv2.CV_8U)


def save_jpeg(path: Path, rgb: np.ndarray, quality: int = 92) -> None:
    """Write a uint8 RGB image as JPEG."""
    _, code = cv2.imencode(".jpg", cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])
    write_bytes(path, code.tobytes(), sync=False)


def _fixed(points: np.ndarray) -> np.ndarray:
    return np.rint(np.asarray(points) * (1 << FRACTION_BITS)).astype(np.int32)


def _scalar(color: Color | float) -> list[float]:
    return np.atleast_1d(np.asarray(color, float)).tolist()
