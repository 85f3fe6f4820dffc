"""Where an image lies on the Earth, by a GeoTIFF's own tags or by a world file with a `.prj` beside it.

Needs the extra `geo` (rasterio), which is imported where it is used.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tallymark.io.archives import is_file, is_inside, read_bytes
from tallymark.io.ground_resolution import orientation
from tallymark.io.images import image_size
from tallymark.io.media import BadMedia

TIFF = (".tif", ".tiff")
WGS84 = "EPSG:4326"
DECIMALS = 10
"""Of degrees: a hundredth of a millimetre, since a pixel of a crop's photograph may have half of one."""


@dataclass(frozen=True, eq=False)
class Georeference:
    """From the pixels of an image, as it is shown, to a coordinate reference system.

    affine: (2, 3), from x, y in pixels (the corner of the upper left pixel is 0, 0) to the coordinates of `crs`.
    """

    affine: np.ndarray
    crs: Any

    def lonlat(self, pixels: np.ndarray) -> np.ndarray:
        """Longitude and latitude (n, 2) in degrees (WGS 84) of places (n, 2) in pixels."""
        from rasterio.warp import transform

        x, y = self.affine[:, :2] @ np.asarray(pixels, float).reshape(-1, 2).T + self.affine[:, 2:]
        return np.stack(transform(self.crs, WGS84, x, y)[:2], axis=1).reshape(-1, 2)

    def ground(self, pixels: np.ndarray) -> np.ndarray:
        """For places (n, 2) in pixels the matrices (n, 2, 2) from steps in pixels to metres east and north."""
        pixels = np.asarray(pixels, float).reshape(-1, 2)
        here, right, down = (self.lonlat(pixels + step) for step in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)))
        steps = np.stack([right - here, down - here], axis=2)
        steps[:, 0] = (steps[:, 0] + 180) % 360 - 180  # across the date line
        return steps * metres_per_degree(here[:, 1])[:, :, None]


def metres_per_degree(latitude: np.ndarray) -> np.ndarray:
    """Metres (n, 2) per degree of longitude and of latitude on the ellipsoid of WGS 84."""
    angle = np.radians(latitude)
    east = 111412.84 * np.cos(angle) - 93.5 * np.cos(3 * angle) + 0.118 * np.cos(5 * angle)
    north = 111132.92 - 559.82 * np.cos(2 * angle) + 1.175 * np.cos(4 * angle) - 0.0023 * np.cos(6 * angle)
    return np.stack([east, north], axis=1)


def read_georeference(path: Path) -> Georeference | None:
    """The georeference of an image; None where it has none, or no coordinate reference system that is known."""
    found = _of_geotiff(path) if path.suffix.lower() in TIFF else None
    found = _of_world_file(path) if found is None else found
    if found is None:
        return None
    affine, crs = found
    turn = _turned(path)
    return Georeference(np.column_stack([affine[:, :2] @ turn[:, :2], affine[:, :2] @ turn[:, 2] + affine[:, 2]]), crs)


def _of_geotiff(path: Path) -> tuple[np.ndarray, Any] | None:
    import rasterio
    from rasterio.errors import NotGeoreferencedWarning, RasterioError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotGeoreferencedWarning)
            if not is_inside(path):
                with rasterio.open(path) as image:
                    affine, crs = image.transform, image.crs
            else:
                with rasterio.MemoryFile(read_bytes(path)) as memory, memory.open() as image:
                    affine, crs = image.transform, image.crs
    except (RasterioError, OSError):
        return None
    if not crs or affine.is_identity:
        return None
    return np.array(affine).reshape(3, 3)[:2], crs


def _of_world_file(path: Path) -> tuple[np.ndarray, Any] | None:
    """From six lines a, d, b, e, c, f: x = a column + b row + c, y = d column + e row + f, of the centres of pixels."""
    from rasterio.crs import CRS
    from rasterio.errors import CRSError

    suffix = path.suffix
    short = [f".{suffix[1]}{suffix[-1]}w", ".wld"] if len(suffix) > 2 else [".wld"]
    world, projection = _beside(path, [*short, f"{suffix}w"]), _beside(path, [".prj"])
    if world is None or projection is None:
        return None
    try:
        numbers = [float(word) for word in read_bytes(world).decode("ascii", "replace").replace(",", ".").split()]
        crs = CRS.from_wkt(read_bytes(projection).decode("utf-8", "replace").strip(), morph_from_esri_dialect=True)
    except (ValueError, CRSError, OSError):
        return None
    if len(numbers) != 6 or not all(map(math.isfinite, numbers)) or not crs:
        return None
    a, d, b, e, c, f = numbers
    if a * e == b * d:
        return None
    return np.array([[a, b, c - (a + b) / 2], [d, e, f - (d + e) / 2]]), crs


def _beside(path: Path, suffixes: list[str]) -> Path | None:
    """A file of the same name with one of these suffixes, in lower or upper case."""
    names = [path.with_suffix(one) for suffix in suffixes for one in (suffix.lower(), suffix.upper())]
    return next((name for name in names if is_file(name)), None)


def _turned(path: Path) -> np.ndarray:
    """(2, 3), from pixels as an image is shown to those that are stored, which a georeference is about."""
    turn = orientation(path)
    if turn not in range(2, 9):
        return np.eye(2, 3)
    try:
        width, height = image_size(path)
    except BadMedia:
        return np.eye(2, 3)
    across, down = (height, width) if turn >= 5 else (width, height)  # as they are stored
    rows = {
        2: [[-1, 0, across], [0, 1, 0]],
        3: [[-1, 0, across], [0, -1, down]],
        4: [[1, 0, 0], [0, -1, down]],
        5: [[0, 1, 0], [1, 0, 0]],
        6: [[0, 1, 0], [-1, 0, down]],
        7: [[0, -1, across], [-1, 0, down]],
        8: [[0, -1, across], [1, 0, 0]],
    }
    return np.array(rows[turn], float)
