"""Writing GeoJSON (RFC 7946): polygons of objects in georeferenced images, in degrees of longitude and latitude."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tallymark.core.outputs import write_text
from tallymark.core.problems import BadInput
from tallymark.data.catalog import Catalog
from tallymark.formats.export_source import ExportSource, masks_by_shape
from tallymark.geometry import Boxes, Geometry, Masks, RotatedBoxes
from tallymark.geometry.outlines import Polygon, outlines, signed_area
from tallymark.geometry.rectangles import fit_rectangles, lengthwise
from tallymark.io.georeference import DECIMALS, Georeference, read_georeference
from tallymark.io.media import BadMedia

DIGITS = 6
"""Significant digits of metres."""
Json = dict[str, Any]


def georeferenced(catalog: Catalog) -> np.ndarray:
    """Which images lie somewhere on the Earth."""
    return np.array([_georeference(catalog, item) is not None for item in range(len(catalog))], bool)


def export_geojson(source: ExportSource[Any], path: Path) -> None:
    """Write the objects of georeferenced images."""
    write_features(features_of(source), path)


def features_of(source: ExportSource[Any]) -> list[Json]:
    """A feature for each object, with its measurements; all images must be georeferenced."""
    return FEATURES[type(source.annotations.shapes)](source)


def _box_features(source: ExportSource[Boxes]) -> list[Json]:
    """Boxes with their length (the longer side) and width in metres, and area in square metres."""
    boxes = source.annotations.shapes
    x, y = (extent.centre for extent in boxes.extents)
    flat = RotatedBoxes(x, y, boxes.width, boxes.height, np.zeros(len(boxes)))
    corners = flat.corners
    return _features(source, [[[ring]] for ring in corners], lengthwise(flat), boxes.area, heading=False)


def _mask_features(source: ExportSource[Masks]) -> list[Json]:
    """Outlines of masks, with length, width and heading of the rectangle that is fitted to each.

    The heading is in degrees clockwise from north, from 0 to below 180: bow and stern are not distinguished.
    """
    masks = source.annotations.shapes
    polygons: list[list[Polygon]] = [[] for _ in range(len(masks))]
    for own, in_image in masks_by_shape(source):
        for at, mask in enumerate(own.tolist()):
            polygons[mask] = outlines(in_image, at)
    return _features(source, polygons, fit_rectangles(masks), masks.area, heading=True)


FEATURES: dict[type[Geometry], Callable[[ExportSource[Any]], list[Json]]] = {
    Boxes: _box_features,
    Masks: _mask_features,
}
"""How objects of each geometry lie on the Earth."""


def feature_line(feature: Json) -> str:
    """A feature as JSON on one line."""
    return json.dumps(feature, ensure_ascii=False, allow_nan=False)


def write_features(features: Iterable[Json], path: Path) -> None:
    """Write a feature collection, one feature per line."""
    lines = ",\n".join(map(feature_line, features))
    write_text(path, '{"type": "FeatureCollection", "features": [\n' + lines + "\n]}\n")


def _features(
    source: ExportSource[Any],
    polygons: Sequence[list[Polygon]],
    rectangles: RotatedBoxes,
    area: np.ndarray,
    *,
    heading: bool,
) -> list[Json]:
    objects, names = source.annotations, source.names
    features: list[Json] = []
    for item in np.flatnonzero(objects.counts).tolist():
        place = _georeference(source.catalog, item)
        if place is None:
            raise ValueError("an image without a georeference: leave it out by `georeferenced`")
        own = np.arange(objects.offsets[item], objects.offsets[item + 1])
        geometries = _geometries([polygons[at] for at in own], place)
        measured = _measure(rectangles.take(own), area[own], place)
        for row, (at, geometry) in enumerate(zip(own.tolist(), geometries, strict=True)):
            properties: Json = {"image": names[item], "number": int(objects.numbers[at])}
            if objects.classes:
                properties["class"] = objects.classes[int(objects.labels[at])]
            if objects.score is not None:
                properties["score"] = round(float(objects.score[at]), DIGITS)
            properties |= {name: float(f"{values[row]:.{DIGITS}g}") for name, values in measured.items()}
            if not heading:
                del properties["heading"]
            features.append({"type": "Feature", "geometry": geometry, "properties": properties})
    return features


def _measure(rectangles: RotatedBoxes, area: np.ndarray, place: Georeference) -> dict[str, np.ndarray]:
    """Length and width in metres, heading in degrees clockwise from north, and area in square metres."""
    ground = place.ground(np.stack([rectangles.x, rectangles.y], axis=1))
    along = np.stack([np.cos(rectangles.angle), np.sin(rectangles.angle)], axis=1)
    across = along[:, ::-1] * (-1, 1)
    east, north = np.einsum("nij,nj->in", ground, along)
    return {
        "length_m": rectangles.length * np.hypot(east, north),
        "width_m": rectangles.width * np.hypot(*np.einsum("nij,nj->in", ground, across)),
        "heading": np.round(np.degrees(np.arctan2(east, north)), 3) % 180,
        "area_m2": area * np.abs(np.linalg.det(ground)),
    }


def _geometries(shapes: list[list[Polygon]], place: Georeference) -> list[Json]:
    """The polygons of each object in degrees: the outer ring counter-clockwise, holes clockwise, all closed.

    An object across the date line is in one piece, with some longitudes beyond 180 degrees.
    """
    rings = [ring for shape in shapes for polygon in shape for ring in polygon]
    if not rings:
        return [{"type": "MultiPolygon", "coordinates": []} for _ in shapes]
    degrees = place.lonlat(np.concatenate(rings))
    corners = [sum(len(ring) for polygon in shape for ring in polygon) for shape in shapes]
    first = degrees[np.repeat(np.cumsum([0, *corners[:-1]]), corners), 0]
    degrees[:, 0] = (first + 180) % 360 - 180 + (degrees[:, 0] - first + 180) % 360 - 180
    placed = iter(np.split(degrees.round(DECIMALS), np.cumsum([len(ring) for ring in rings])[:-1]))
    geometries: list[Json] = []
    for shape in shapes:
        coordinates = []
        for polygon in shape:
            closed = []
            for number, ring in enumerate(next(placed) for _ in polygon):
                outer = number == 0
                turned = ring if (signed_area(ring) > 0) == outer else ring[::-1]
                closed.append([*turned.tolist(), turned[0].tolist()])
            coordinates.append(closed)
        single = len(coordinates) == 1
        kind, value = ("Polygon", coordinates[0]) if single else ("MultiPolygon", coordinates)
        geometries.append({"type": kind, "coordinates": value})
    return geometries


def _georeference(catalog: Catalog, item: int) -> Georeference | None:
    path = catalog.path(item)
    try:
        return None if path is None else read_georeference(path)
    except BadMedia as bad:
        raise BadInput(catalog.unread(item, bad)) from None
