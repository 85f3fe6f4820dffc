"""Measurements of predictions: how many objects there are, how dense, how large, and their headings.

What can be measured of an object depends on its geometry: one small class each, chosen by `MEASUREMENTS`.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np
import polars as pl

from tallymark.core.problems import BadInput, Problem
from tallymark.data.annotations import Annotations
from tallymark.geometry import Boxes, Cuboids, Events, Geometry, Labels, Masks, RotatedBoxes
from tallymark.geometry.rectangles import fit_rectangles, lengthwise
from tallymark.inference.counting import CountCalibration

G = TypeVar("G", bound=Geometry)
G_contra = TypeVar("G_contra", bound=Geometry, contravariant=True)
DECIMALS = 3
"""Of pixels and degrees."""
DIGITS = 6
"""Significant digits of metres: a wheat head has a few square centimetres, a satellite image square kilometres."""
FINE, COARSE = 0.02, 0.1
"""Metres per pixel: below the first, areas are in square centimetres too; from the second on, ground in km2."""
COUNTS = ("count", "count_low", "count_high")
TENTHS = (1, 5, 9)
"""Quantiles of the areas in an item, in tenths: 10th percentile, median, 90th percentile."""


def measure_items(
    predictions: Annotations[G], size: np.ndarray, gsd: float | None, counting: CountCalibration | None = None
) -> pl.DataFrame:
    """A row per item: the number of its objects, and their areas.

    Parameters
    ----------
    size: (n, 2) width and height of every image in pixels, nan where it could not be read.
    gsd: ground sampling distance in metres per pixel, if known. counting: how far counts may be off, if known.

    Columns
    -------
    item, group (where items have one), count, and its 95 % prediction interval from count_low to count_high. With
    `gsd`: square_metres of the image and per_square_metre. Where objects have an area: area_10, area_50 and area_90,
    its 10th, 50th and 90th percentile in square pixels; with `gsd` also in square metres, as area_10_m2 and so on.
    Of images from close by (`gsd` below 2 cm) also in square centimetres, as area_10_cm2; of those from far away (from
    10 cm on) there are square_kilometres and per_square_kilometre.
    Unknown values are null, and so is the count of an image that could not be read.
    """
    check_gsd(gsd)
    size = np.asarray(size, float)
    if size.shape != (len(predictions.items), 2):
        raise ValueError(f"sizes of shape {size.shape} for {len(predictions.items)} items")
    readable = pl.lit(pl.Series(np.isfinite(size[:, 0])))
    table = pl.DataFrame({"item": predictions.items.ids, "count": predictions.counts})
    low, high = (None, None) if counting is None else map(pl.Series, counting.interval(predictions.counts))
    table = table.with_columns(pl.lit(low, pl.Int64).alias("count_low"), pl.lit(high, pl.Int64).alias("count_high"))
    table = table.with_columns(pl.when(readable).then(name) for name in COUNTS)
    if predictions.items.group is not None:
        table.insert_column(1, predictions.items.group.alias("group"))
    if gsd is not None:
        ground = size.prod(axis=1) * gsd**2
        ground[~(ground > 0)] = np.nan
        density = predictions.counts / ground
        table = table.with_columns(_metres("square_metres", ground), _metres("per_square_metre", density))
        if gsd >= COARSE:
            large = _metres("square_kilometres", ground / 1e6), _metres("per_square_kilometre", density * 1e6)
            table = table.with_columns(*large)
    area = MEASUREMENTS[type(predictions.shapes)].area(predictions.shapes)
    if area is None:
        return table
    quantiles = _area_quantiles(predictions, area)
    table = table.with_columns(_rounded(name, values) for name, values in quantiles.items())
    if gsd is not None:
        units = {"m2": 1.0, "cm2": 1e4} if gsd < FINE else {"m2": 1.0}
        table = table.with_columns(
            _metres(f"{name}_{unit}", values * gsd**2 * by)
            for unit, by in units.items()
            for name, values in quantiles.items()
        )
    return table


def measure_objects(predictions: Annotations[G], gsd: float | None) -> pl.DataFrame:
    """A row per object: its position and size in pixels; with `gsd` (metres per pixel) also in metres.

    Columns
    -------
    item, number (which of the item's objects), score, x and y of the centre; for boxes width, height and area, for
    rotated boxes and masks length, width, heading and area. Length is the longer side. The heading is in degrees
    clockwise from the top of the image, from 0 to below 180: bow and stern are not distinguished.
    With `gsd` the sides and the area follow in metres, as length_m, width_m, height_m and area_m2; below 2 cm per pixel
    also area_cm2.
    Class labels have no position: item, number (1 is the most probable), label, name and score.
    Cuboids are in metres: item, number, name of the class, score, x, y, z, width, length, height and yaw.
    """
    check_gsd(gsd)
    return MEASUREMENTS[type(predictions.shapes)].table(predictions, gsd)


def summary(table: pl.DataFrame, counting: CountCalibration | None = None) -> dict[str, float | None]:
    """The table of `measure_items` in a few numbers.

    These are items, count, count_low, count_high, mean_per_item, square_metres and per_square_metre, and where the
    table has them, square_kilometres and per_square_kilometre. The mean and the density are those of all images that
    could be read; None where there are none.
    """
    count = int(table["count"].sum())
    counts = table["count"].drop_nulls().to_numpy()
    low, high = (None, None) if counting is None else counting.total_interval(counts)
    readable = len(table) - table["count"].null_count()
    known = table.drop_nulls("square_metres") if "square_metres" in table.columns else table.clear()
    # The sum of rounded numbers is rounded too: three times 0.1 is 0.3.
    ground = float(f"{known['square_metres'].sum():.12g}") if len(known) else None
    found = int(known["count"].sum())
    numbers = {
        "items": len(table),
        "count": count,
        "count_low": low,
        "count_high": high,
        "mean_per_item": round(count / readable, DECIMALS) if readable else None,
        "square_metres": ground,
        "per_square_metre": _density(found, ground),
    }
    if "square_kilometres" in table.columns:
        large = None if ground is None else ground / 1e6
        numbers |= {"square_kilometres": large, "per_square_kilometre": _density(found, large)}
    return numbers


def _density(found: int, ground: float | None) -> float | None:
    return None if ground is None else float(f"{found / ground:.{DIGITS}g}")


class Measurement(Protocol[G_contra]):
    """What can be measured of the objects of one geometry."""

    def area(self, shapes: G_contra) -> np.ndarray | None:
        """Areas in square pixels; None for objects without an area in the image."""

    def table(self, predictions: Annotations[G_contra], gsd: float | None) -> pl.DataFrame:
        """A row per object, as `measure_objects` describes it."""


class BoxMeasurement:
    """Bounding boxes: width and height."""

    def area(self, shapes: Boxes) -> np.ndarray | None:
        return np.asarray(shapes.area, float)

    def table(self, predictions: Annotations[Boxes], gsd: float | None) -> pl.DataFrame:
        boxes = predictions.shapes
        x, y = (extent.centre for extent in boxes.extents)
        sides = {"width": boxes.width, "height": boxes.height}
        return _object_table(predictions, {"x": x, "y": y}, sides, {}, np.asarray(boxes.area, float), gsd)


class RotatedBoxMeasurement:
    """Rotated boxes: length, width and heading."""

    def area(self, shapes: RotatedBoxes) -> np.ndarray | None:
        return np.asarray(shapes.area, float)

    def table(self, predictions: Annotations[RotatedBoxes], gsd: float | None) -> pl.DataFrame:
        shapes = predictions.shapes
        return _rectangle_table(predictions, lengthwise(shapes), np.asarray(shapes.area, float), gsd)


class MaskMeasurement:
    """Masks: their area, and length, width and heading of the rectangle fitted to them."""

    def area(self, shapes: Masks) -> np.ndarray | None:
        return np.asarray(shapes.area, float)

    def table(self, predictions: Annotations[Masks], gsd: float | None) -> pl.DataFrame:
        shapes = predictions.shapes
        return _rectangle_table(predictions, fit_rectangles(shapes), np.asarray(shapes.area, float), gsd)


class LabelMeasurement:
    """Class labels: rank, name and score."""

    def area(self, shapes: Labels) -> np.ndarray | None:
        return None

    def table(self, predictions: Annotations[Labels], gsd: float | None) -> pl.DataFrame:
        label = predictions.shapes.label
        return pl.DataFrame(
            {
                "item": predictions.items.ids[predictions.item],
                "number": predictions.numbers,
                "label": label,
                "name": _class_names(predictions.classes, label),
                "score": predictions.scores.round(DIGITS),
            }
        )


class CuboidMeasurement:
    """Cuboids: class, position, size and yaw in metres and radians."""

    def area(self, shapes: Cuboids) -> np.ndarray | None:
        return None

    def table(self, predictions: Annotations[Cuboids], gsd: float | None) -> pl.DataFrame:
        names = ("x", "y", "z", "width", "length", "height", "yaw")
        columns = zip(names, predictions.shapes.columns, strict=True)
        return pl.DataFrame(
            [
                predictions.items.ids[predictions.item].alias("item"),
                pl.Series("number", predictions.numbers),
                _class_names(predictions.classes, predictions.labels).alias("name"),
                pl.Series("score", predictions.scores.round(DIGITS)),
                *(_rounded(name, values) for name, values in columns),
            ]
        )


class EventMeasurement:
    """Events are counted; their times are listed by `reporting.calls.list_calls`."""

    def area(self, shapes: Events) -> np.ndarray | None:
        return None

    def table(self, predictions: Annotations[Events], gsd: float | None) -> pl.DataFrame:
        raise ValueError("events have no position in an image")


MEASUREMENTS: dict[type[Geometry], Measurement[Any]] = {
    Boxes: BoxMeasurement(),
    RotatedBoxes: RotatedBoxMeasurement(),
    Masks: MaskMeasurement(),
    Labels: LabelMeasurement(),
    Cuboids: CuboidMeasurement(),
    Events: EventMeasurement(),
}
"""What is measured of each geometry."""


def _rectangle_table(
    predictions: Annotations[G], rectangles: RotatedBoxes, area: np.ndarray, gsd: float | None
) -> pl.DataFrame:
    """Objects measured by rectangles with their length along the longer side."""
    # Rounded before the modulo: 179.9999 is 180 in the table, which is 0.
    heading = np.round(np.degrees(rectangles.angle) + 90, DECIMALS) % 180
    center = {"x": rectangles.x, "y": rectangles.y}
    sides = {"length": rectangles.length, "width": rectangles.width}
    return _object_table(predictions, center, sides, {"heading": heading}, area, gsd)


def _object_table(
    predictions: Annotations[G],
    center: dict[str, np.ndarray],
    sides: dict[str, np.ndarray],
    angles: dict[str, np.ndarray],
    area: np.ndarray,
    gsd: float | None,
) -> pl.DataFrame:
    """Objects in an image: columns in pixels and degrees, then the sides and the area in metres."""
    score = np.full(len(predictions), np.nan) if predictions.score is None else predictions.score
    in_pixels = {"score": score, **center, **sides, **angles, "area": area}
    columns = [
        predictions.items.ids[predictions.item].alias("item"),
        pl.Series("number", predictions.numbers),
        *(_rounded(name, values) for name, values in in_pixels.items()),
    ]
    if gsd is not None:
        columns += [_metres(f"{name}_m", values * gsd) for name, values in sides.items()]
        columns.append(_metres("area_m2", area * gsd**2))
        if gsd < FINE:
            columns.append(_metres("area_cm2", area * gsd**2 * 1e4))
    return pl.DataFrame(columns)


def _area_quantiles(predictions: Annotations[G], area: np.ndarray) -> dict[str, np.ndarray]:
    """Quantiles of the areas in each item by the name of their column, nan where an item has no object."""
    areas = pl.DataFrame({"at": predictions.item, "area": area})
    columns = {f"area_{10 * tenths}": tenths / 10 for tenths in TENTHS}
    rows = areas.group_by("at").agg(
        pl.col("area").quantile(share, "linear").alias(name) for name, share in columns.items()
    )
    item = rows["at"].to_numpy()
    quantiles = {name: np.full(len(predictions.items), np.nan) for name in columns}
    for name, values in quantiles.items():
        values[item] = rows[name].to_numpy()
    return quantiles


def _class_names(classes: tuple[str, ...], labels: np.ndarray) -> pl.Series:
    """The name of each label; empty for labels without one."""
    names = [classes[label] if label < len(classes) else "" for label in labels.tolist()]
    return pl.Series(names, dtype=pl.String)


def _rounded(name: str, values: np.ndarray) -> pl.Series:
    """A column of pixels, degrees or shares; nan becomes null."""
    return pl.Series(name, np.asarray(values, float)).fill_nan(None).round(DECIMALS)


def _metres(name: str, values: np.ndarray) -> pl.Series:
    """A column of metres or square metres; nan becomes null."""
    return pl.Series(name, np.asarray(values, float)).fill_nan(None).round_sig_figs(DIGITS)


def check_gsd(gsd: float | None) -> None:
    """Raise `BadInput` for a ground sampling distance that cannot be."""
    if gsd is not None and not (np.isfinite(gsd) and gsd > 0):
        expected = "metres per pixel, above 0"
        raise BadInput(Problem("bad_option", "gsd", f"gsd={gsd}", expected, "give e.g. 1.5, or omit it"))


def sizes_note(size: np.ndarray) -> list[str]:
    """A sentence about images (n, 2) of different sizes, for which one ground sampling distance may be wrong."""
    known = np.unique(np.sort(size[np.isfinite(size).all(axis=1)], axis=1), axis=0).astype(int)
    if len(known) < 2:
        return []
    least, most = (" x ".join(map(str, known[at])) for at in known.prod(axis=1).argsort()[[0, -1]])
    return [f"one ground sampling distance for images of {len(known)} sizes, from {least} to {most} px"]
