"""Ground sampling distance (GSD) of an image, as its file states it: by GeoTIFF tags, or by the optics in EXIF."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from tallymark.io.archives import open_file
from tallymark.io.images import PILLOW_ERRORS
from tallymark.io.media import unreadable
from tallymark.io.retries import may_pass, retry

PIXEL_SCALE, TIE_POINT, GEO_KEYS = 33550, 33922, 34735
"""Tags of GeoTIFF 1.1: sides of a pixel, a point with known coordinates, and the keys of the coordinate system."""
MODEL_TYPE, LINEAR_UNITS = 1024, 3076
"""Geo keys: projected (1) or geographic (2), and the unit of projected coordinates."""
METRES = {9001: 1.0, 9002: 0.3048, 9003: 1200 / 3937}
"""Metres per unit: metre, foot, US survey foot."""
METRES_PER_DEGREE = 111_195.0
EXIF_IFD = 0x8769
SUBJECT_DISTANCE, FOCAL_LENGTH, FOCAL_LENGTH_35MM = 0x9206, 0x920A, 0xA405
EXIF_WIDTH, FOCAL_PLANE_RESOLUTION, FOCAL_PLANE_UNIT = 0xA002, 0xA20E, 0xA210
MILLIMETRES = {2: 25.4, 3: 10.0, 4: 1.0}
"""Millimetres per unit of the focal plane: inch, centimetre, millimetre."""
DIAGONAL_35MM = math.hypot(36, 24)
FAR = 10_000.0
"""Distances in metres above this stand for infinity."""


def ground_sampling_distance(path: Path) -> float | None:
    """Metres of ground per pixel; None where the file does not say. A `BadMedia` if the system fails to read it."""

    def read() -> float | None:
        with open_file(path) as file, Image.open(file) as image:
            tags: Mapping[int, Any] = getattr(image, "tag_v2", {})
            if PIXEL_SCALE in tags:
                return _positive(_of_geotiff(tags))
            return _positive(_of_exif(image.getexif().get_ifd(EXIF_IFD), image.size))

    try:
        return retry(read)
    except PILLOW_ERRORS as error:
        if isinstance(error, OSError) and may_pass(error):
            raise unreadable(error) from None
        return None


def _of_geotiff(tags: Mapping[int, Any]) -> float:
    """Geometric mean of the sides of a pixel."""
    across, down = (float(side) for side in tags[PIXEL_SCALE][:2])
    numbers = tags.get(GEO_KEYS, ())
    keys = {numbers[at]: numbers[at + 3] for at in range(4, len(numbers) - 3, 4) if numbers[at + 1] == 0}
    side = math.sqrt(across * down)
    if keys.get(MODEL_TYPE) == 2:
        latitude = float(tags[TIE_POINT][4]) if TIE_POINT in tags else 0.0
        return side * METRES_PER_DEGREE * math.sqrt(math.cos(math.radians(latitude)))
    return side * METRES.get(keys.get(LINEAR_UNITS, 9001), math.nan)


def _of_exif(exif: Mapping[int, Any], size: tuple[int, int]) -> float:
    """Distance times the side of a pixel on the sensor, divided by the focal length."""
    distance = float(exif.get(SUBJECT_DISTANCE, math.nan))
    if not 0 < distance < FAR:
        return math.nan
    if exif.get(FOCAL_LENGTH_35MM):
        return distance * DIAGONAL_35MM / (float(exif[FOCAL_LENGTH_35MM]) * math.hypot(*size))
    per_millimetre = float(exif[FOCAL_PLANE_RESOLUTION]) / MILLIMETRES[exif.get(FOCAL_PLANE_UNIT, 2)]
    resized = float(exif.get(EXIF_WIDTH, max(size))) / max(size)
    return distance * resized / (per_millimetre * float(exif[FOCAL_LENGTH]))


def _positive(value: float) -> float | None:
    return value if math.isfinite(value) and value > 0 else None
