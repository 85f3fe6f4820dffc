"""What the header of an image states about the ground: metres per pixel by GeoTIFF tags or the optics in EXIF, the GPS
position of the camera, and how the stored pixels are turned to be shown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from PIL import Image

from tallymark.io.archives import open_file
from tallymark.io.images import EXIF_ORIENTATION, PILLOW_ERRORS, open_with_pillow, register_heic
from tallymark.io.media import BadMedia, unreadable
from tallymark.io.retries import may_pass, retry
from tallymark.io.suffixes import HEIC_SUFFIXES

T = TypeVar("T")
PIXEL_SCALE, TIE_POINT, GEO_KEYS = 33550, 33922, 34735
"""Tags of GeoTIFF 1.1: sides of a pixel, a point with known coordinates, and the keys of the coordinate system."""
MODEL_TYPE, PROJECTION, LINEAR_UNITS = 1024, 3072, 3076
"""Geo keys: projected (1) or geographic (2), the projected system, and the unit of its coordinates."""
WEB_MERCATOR, MERCATOR_RADIUS = 3857, 6_378_137.0
"""The system of web maps, whose metres are shorter on the ground the farther they are from the equator."""
METRES = {9001: 1.0, 9002: 0.3048, 9003: 1200 / 3937}
"""Metres per unit: metre, foot, US survey foot."""
METRES_PER_DEGREE = 111_195.0
EXIF_IFD, GPS_IFD = 0x8769, 0x8825
TAKEN, TIME_OFFSET = 0x9003, 0x9011
LATITUDE, LONGITUDE, ALTITUDE = (1, 2), (3, 4), (5, 6)
"""Tags of the GPS directory: the reference (N or S, E or W, above or below the sea) and the numbers."""
GPS_TIME, GPS_DATE = 7, 29
DAY = re.compile(r"(\d{4})[:-](\d\d)[:-](\d\d)")
DAY_AND_TIME = re.compile(DAY.pattern + r"[ T](\d\d:\d\d:\d\d)")
SUBJECT_DISTANCE, FOCAL_LENGTH, FOCAL_LENGTH_35MM = 0x9206, 0x920A, 0xA405
EXIF_WIDTH, FOCAL_PLANE_RESOLUTION, FOCAL_PLANE_UNIT = 0xA002, 0xA20E, 0xA210
MILLIMETRES = {2: 25.4, 3: 10.0, 4: 1.0}
"""Millimetres per unit of the focal plane: inch, centimetre, millimetre."""
DIAGONAL_35MM = math.hypot(36, 24)
FAR = 10_000.0
"""Distances in metres above this stand for infinity."""


@dataclass(frozen=True)
class GpsPosition:
    """Where and when a photograph was taken.

    latitude, longitude: degrees north and east. altitude: metres above the sea, None if unknown.
    time: in ISO form, with Z where the satellites' time is known, else that of the camera; empty if unknown.
    """

    latitude: float
    longitude: float
    altitude: float | None = None
    time: str = ""


def ground_sampling_distance(path: Path) -> float | None:
    """Metres of ground per pixel; None where the file does not say. A `BadMedia` if the system fails to read it."""

    def read(image: Image.Image) -> float | None:
        tags: Mapping[int, Any] = getattr(image, "tag_v2", {})
        if PIXEL_SCALE in tags:
            return _positive(_of_geotiff(tags))
        return _positive(_of_exif(image.getexif().get_ifd(EXIF_IFD), image.size))

    return _from_header(path, read)


def gps_position(path: Path) -> GpsPosition | None:
    """The position in the EXIF metadata; None where the file does not say. A `BadMedia` as above."""
    return _from_header(path, lambda image: _position(image.getexif()))


def photograph_time(path: Path) -> str:
    """When a photograph was taken, as `GpsPosition.time` states it; empty where the file does not say."""
    return _from_header(path, lambda image: _time(image.getexif(), image.getexif().get_ifd(GPS_IFD))) or ""


def orientation(path: Path) -> int:
    """How the stored pixels are turned to be shown, as EXIF counts it: 1 as they are, 6 a quarter to the right."""
    return _from_header(path, lambda image: int(image.getexif().get(EXIF_ORIENTATION, 1))) or 1


def _from_header(path: Path, read: Callable[[Image.Image], T | None]) -> T | None:
    """What a function finds in the header of an image; None if it cannot be opened or says nothing."""
    if path.suffix.lower() in HEIC_SUFFIXES:
        register_heic()

    def opened() -> T | None:
        with open_file(path) as file, open_with_pillow(file) as image:
            return read(image)

    try:
        return retry(opened)
    except PILLOW_ERRORS as error:
        if isinstance(error, OSError) and may_pass(error):
            raise unreadable(error) from None
        return None
    except BadMedia:  # HEIC, without the extra that reads it
        return None


def _position(exif: Image.Exif) -> GpsPosition | None:
    """The position that GPS tags hold; None if it is missing, out of range, or 0, 0 as cameras without a fix write."""
    gps = exif.get_ifd(GPS_IFD)
    latitude, longitude = _degrees(gps, LATITUDE, "S"), _degrees(gps, LONGITUDE, "W")
    if not (abs(latitude) <= 90 and abs(longitude) <= 180) or latitude == longitude == 0:
        return None
    below, height = gps.get(ALTITUDE[0], 0), gps.get(ALTITUDE[1])
    altitude = math.nan if height is None else float(height) * (-1 if below in (1, b"\x01") else 1)
    return GpsPosition(latitude, longitude, altitude if math.isfinite(altitude) else None, _time(exif, gps))


def _degrees(gps: Mapping[int, Any], tags: tuple[int, int], negative: str) -> float:
    """Degrees from degrees, minutes and seconds; nan if there are none."""
    parts = [float(part) for part in gps.get(tags[1], ())]
    if len(parts) != 3:
        return math.nan
    size = parts[0] + parts[1] / 60 + parts[2] / 3600
    return -size if str(gps.get(tags[0], "")).strip().upper().startswith(negative) else size


def _time(exif: Image.Exif, gps: Mapping[int, Any]) -> str:
    """When a photograph was taken, in ISO form; empty if neither the satellites nor the camera say so."""
    day, clock = DAY.match(str(gps.get(GPS_DATE, ""))), gps.get(GPS_TIME, ())
    if day and len(clock) == 3 and all(map(math.isfinite, map(float, clock))):
        hours, minutes, seconds = (int(float(part)) for part in clock)
        return f"{'-'.join(day.groups())}T{hours:02}:{minutes:02}:{seconds:02}Z"
    own = exif.get_ifd(EXIF_IFD)
    taken = DAY_AND_TIME.match(str(own.get(TAKEN, "")))
    zone = str(own.get(TIME_OFFSET, "")).strip()
    zone = zone if re.fullmatch(r"[+-]\d\d:\d\d", zone) else ""
    return "" if taken is None else f"{'-'.join(taken.groups()[:3])}T{taken[4]}{zone}"


def _of_geotiff(tags: Mapping[int, Any]) -> float:
    """Geometric mean of the sides of a pixel."""
    across, down = (float(side) for side in tags[PIXEL_SCALE][:2])
    numbers = tags.get(GEO_KEYS, ())
    keys = {numbers[at]: numbers[at + 3] for at in range(4, len(numbers) - 3, 4) if numbers[at + 1] == 0}
    side = math.sqrt(across * down)
    if keys.get(PROJECTION) == WEB_MERCATOR and TIE_POINT in tags:
        side /= math.cosh(float(tags[TIE_POINT][4]) / MERCATOR_RADIUS)
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
