"""Writing photographs as points on a map: GeoJSON of their GPS positions, with the number of objects in each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tallymark.core.parallel import in_threads
from tallymark.core.problems import BadInput
from tallymark.data.catalog import Catalog
from tallymark.formats.export_source import ExportSource
from tallymark.formats.geojson import Json, write_features
from tallymark.io.ground_resolution import GpsPosition, gps_position
from tallymark.io.media import BadMedia

DECIMALS = 7
"""Of degrees: a centimetre."""
DIGITS = 6


def positions(catalog: Catalog) -> list[GpsPosition | None]:
    """The GPS position of each photograph; None where its file does not say."""

    def read(item: int) -> GpsPosition | BadMedia | None:
        path = catalog.path(item)
        try:
            return None if path is None else gps_position(path)
        except BadMedia as bad:
            return bad

    found: list[GpsPosition | None] = []
    for item, one in enumerate(in_threads(read, range(len(catalog)), "reading GPS positions")):
        if isinstance(one, BadMedia):
            raise BadInput(catalog.unread(item, one))
        found.append(one)
    return found


def with_position(catalog: Catalog) -> np.ndarray:
    """Which photographs have a GPS position."""
    return np.array([one is not None for one in positions(catalog)], bool)


def export_photos(source: ExportSource[Any], path: Path) -> None:
    """Write a point for each photograph: image, count, altitude in metres and time; with `gsd` the density."""
    counts = (source.counted or source.annotations).counts.tolist()
    groups = source.catalog.items.group
    features: list[Json] = []
    for item, (name, place) in enumerate(zip(source.names, positions(source.catalog), strict=True)):
        if place is None:
            continue
        properties: Json = {"image": name, "count": counts[item]}
        if groups is not None:
            properties["group"] = groups[item]
        if place.altitude is not None:
            properties["altitude_m"] = float(f"{place.altitude:.{DIGITS}g}")
        if place.time:
            properties["time"] = place.time
        if source.gsd is not None:
            ground = float(source.size[item].prod()) * source.gsd**2
            properties["per_square_metre"] = float(f"{counts[item] / ground:.{DIGITS}g}")
        coordinates = [round(place.longitude, DECIMALS), round(place.latitude, DECIMALS)]
        point = {"type": "Point", "coordinates": coordinates}
        features.append({"type": "Feature", "geometry": point, "properties": properties})
    write_features(features, path)
