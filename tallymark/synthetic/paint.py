"""Painting pictures from random numbers: cloudy noise, colour ramps, smooth shapes, light, camera grain, JPEG.

Pictures are float32 arrays of (height, width, 3), red first, 0 to 255; `finish` makes them bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

FRACTION_BITS = 4
"""Corners of shapes are placed to a sixteenth of a pixel."""

Colour = Sequence[float] | np.ndarray
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
    """Cloudy noise from 0 to 1, float32.

    Its largest blobs are about `coarse` pixels wide, its smallest `fine`; each halving of the size has `roughness`
    times the strength of the one before. A `stretch` above 1 makes the blobs longer along x, below 1 along y.
    Fine detail costs time: a `fine` of 8 is several times quicker than one of 2.
    """
    size, strength, noise = float(coarse), 1.0, np.zeros((1, 1), np.float32)
    while True:
        rows = max(2, round(height / size * stretch**0.5) + 1)
        columns = max(2, round(width / size / stretch**0.5) + 1)
        shape = (min(rows, height), min(columns, width))
        noise = enlarge(noise, *shape) + strength * (rng.random(shape, np.float32) - np.float32(0.5))
        if size <= fine:
            break
        size, strength = size / 2, strength * roughness
    whole = enlarge(noise, height, width)
    low, high = float(whole.min()), float(whole.max())
    return np.clip((whole - low) / (high - low), 0, 1)


def enlarge(picture: np.ndarray, height: int, width: int) -> np.ndarray:
    """The picture at another size, smoothly."""
    return cv2.resize(picture, (width, height), interpolation=cv2.INTER_CUBIC)


def ramp(values: np.ndarray, colours: Sequence[Colour]) -> np.ndarray:
    """A picture whose colour follows `values` (0 to 1) from the first colour to the last, evenly spaced."""
    steps, stops = np.linspace(0, len(colours) - 1, 256), np.arange(len(colours))
    table = np.stack([np.interp(steps, stops, channel) for channel in np.asarray(colours, float).T], 1)
    index = cv2.convertScaleAbs(np.clip(values, 0, 1), alpha=255)
    return cv2.LUT(cv2.merge([index] * 3), table.astype(np.float32)[None])


def tint(picture: np.ndarray, colour: Colour, cover: np.ndarray) -> None:
    """Lay a colour over the picture, in place; `cover` is 0 (nothing) to 1 (opaque) for each pixel."""
    picture += (np.asarray(colour, np.float32) - picture) * cover[..., None]


def blur(picture: np.ndarray, radius: float) -> np.ndarray:
    """The picture out of focus; `radius` is the standard deviation in pixels."""
    return cv2.GaussianBlur(picture, (0, 0), radius, borderType=cv2.BORDER_REFLECT) if radius > 0.2 else picture


def fill(picture: np.ndarray, corners: np.ndarray, colour: Colour | float) -> None:
    """Fill a polygon, given as an (n, 2) array of x, y, with smooth edges, in place. For pictures of bytes."""
    cv2.fillPoly(picture, [_fixed(corners)], _scalar(colour), cv2.LINE_AA, FRACTION_BITS)


def fill_each(picture: np.ndarray, polygons: np.ndarray, colours: np.ndarray) -> None:
    """Fill many polygons of n corners, (k, n, 2), one over the other, with the colours (k, 3). See `fill`."""
    for corners, colour in zip(_fixed(polygons), np.clip(colours, 0, 255).tolist(), strict=True):
        cv2.fillPoly(picture, [corners], colour, cv2.LINE_AA, FRACTION_BITS)


def stroke(picture: np.ndarray, points: np.ndarray, colour: Colour | float, thickness: int = 1) -> None:
    """Draw a line through the points, (n, 2) or several at once (k, n, 2), in place. For pictures of bytes."""
    lines = _fixed(points).reshape(-1, *np.shape(points)[-2:])
    cv2.polylines(picture, list(lines), False, _scalar(colour), thickness, cv2.LINE_AA, FRACTION_BITS)


def grain(rng: np.random.Generator, picture: np.ndarray, strength: float) -> None:
    """Camera noise of this standard deviation, in place: one patch of it, shifted anew for each part of the picture."""
    height, width = picture.shape[:2]
    noise = rng.standard_normal((128, 128 * picture.shape[2]), np.float32).reshape(128, 128, -1)
    rows, columns = rng.integers(0, 128, (2, max(height, width) // 128 + 1))
    for row, y in enumerate(range(0, height, 128)):
        for column, x in enumerate(range(0, width, 128)):
            part = picture[y : y + 128, x : x + 128]
            turned = np.roll(noise, (rows[row], columns[column]), (0, 1))
            part += strength * turned[: part.shape[0], : part.shape[1]]


def finish(picture: np.ndarray) -> np.ndarray:
    """The picture as bytes, rounded and cut off at 0 and 255."""
    return cv2.addWeighted(picture, 1, picture, 0, 0, dtype=cv2.CV_8U)


def save_jpeg(path: Path, rgb: np.ndarray, quality: int = 92) -> None:
    """Write a picture of bytes, red first, as JPEG."""
    _, code = cv2.imencode(".jpg", cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])
    path.write_bytes(code.tobytes())


def _fixed(points: np.ndarray) -> np.ndarray:
    return np.rint(np.asarray(points) * (1 << FRACTION_BITS)).astype(np.int32)


def _scalar(colour: Colour | float) -> list[float]:
    return np.atleast_1d(np.asarray(colour, float)).tolist()
