"""What to take home from predictions: how many things there are, how dense, how large and which way they point."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from tallymark.core.problems import BadInput, Problem
from tallymark.data.annotations import Annotations
from tallymark.geometry import Boxes, Cuboids, Labels, Masks, RotatedBoxes
from tallymark.geometry.rectangles import fit_rectangles, lengthwise

DECIMALS = 3
"""Of pixels and degrees."""
DIGITS = 6
"""Of metres: an ear of wheat is a few square centimetres, a chip of sea more than a square kilometre."""
TENTHS = (1, 5, 9)
"""Of the areas in an item: a small one, the middle one, a large one."""


def measure_items(found: Annotations[Any], size: np.ndarray, ground: float | None) -> pl.DataFrame:
    """A row per item: its objects counted, and how large they are.

    Parameters
    ----------
    size: (n, 2) width and height of every picture in pixels, nan where it could not be read.
    ground: metres that a pixel is wide on the ground, if known.

    Columns
    -------
    item, group (where items have one) and count. With `ground`: square_metres of the picture and per_square_metre.
    Where objects have an area: area_10, area_50 and area_90, which 10, 50 and 90 % of them stay below, in square
    pixels; with `ground` also in square metres, as area_10_m2 and so on. What is not known is null: so is the count of
    a picture that could not be read.
    """
    _refuse(ground)
    size = np.asarray(size, float)
    if size.shape != (len(found.items), 2):
        raise ValueError(f"sizes of shape {size.shape} for {len(found.items)} items")
    read = pl.lit(pl.Series(np.isfinite(size[:, 0])))
    table = pl.DataFrame({"item": found.items.ids, "count": found.counts}).with_columns(pl.when(read).then("count"))
    if found.items.group is not None:
        table.insert_column(1, found.items.group.alias("group"))
    if ground is not None:
        whole = size.prod(axis=1) * ground**2
        whole[~(whole > 0)] = np.nan
        table = table.with_columns(_metric("square_metres", whole), _metric("per_square_metre", found.counts / whole))
    if isinstance(found.shapes, Boxes | RotatedBoxes | Masks):
        quantiles = _area_quantiles(found)
        table = table.with_columns(_plain(name, values) for name, values in quantiles.items())
        if ground is not None:
            table = table.with_columns(_metric(f"{at}_m2", values * ground**2) for at, values in quantiles.items())
    return table


def measure_objects(found: Annotations[Any], ground: float | None) -> pl.DataFrame:
    """A row per object: where it is and how large, in pixels; with `ground` (metres per pixel) also in metres.

    Columns
    -------
    item, number (which of the item's objects), score, x and y of the centre; for boxes width, height and area, for
    rotated boxes and masks length, width, heading and area. Length is the longer side. The heading is in degrees
    clockwise from the top of the picture, from 0 to below 180: bow and stern look alike.
    The sides and the area come again with `ground`, as length_m, width_m, height_m and area_m2.
    Labels of whole pictures have no place: item, number (1 is the likeliest), label, its name and score.
    Volumes are in metres already: item, number, name of the class, score, x, y, z, width, length, height and yaw.
    """
    _refuse(ground)
    if isinstance(found.shapes, Labels):
        return _tally_labels(found)
    if isinstance(found.shapes, Cuboids):
        return _tally_volumes(found)
    sides, more, centre = _measured(found.shapes)
    area = {"area": np.asarray(found.shapes.area, float)}
    score = np.full(len(found), np.nan) if found.score is None else found.score
    columns = [
        found.items.ids[found.item].alias("item"),
        pl.Series("number", found.numbers),
        *(_plain(name, values) for name, values in ({"score": score} | centre | sides | more | area).items()),
    ]
    if ground is not None:
        columns += [_metric(f"{name}_m", values * ground) for name, values in sides.items()]
        columns += [_metric("area_m2", area["area"] * ground**2)]
    return pl.DataFrame(columns)


def _tally_labels(found: Annotations[Labels]) -> pl.DataFrame:
    label = found.shapes.label
    names = [found.classes[k] if k < len(found.classes) else "" for k in label.tolist()]
    return pl.DataFrame(
        {
            "item": found.items.ids[found.item],
            "number": found.numbers,
            "label": label,
            "name": pl.Series(names, dtype=pl.String),
            "score": found.scores.round(DIGITS),
        }
    )


def _tally_volumes(found: Annotations[Cuboids]) -> pl.DataFrame:
    names = [found.classes[k] if k < len(found.classes) else "" for k in found.labels.tolist()]
    sides = zip(("x", "y", "z", "width", "length", "height", "yaw"), found.shapes.columns, strict=True)
    return pl.DataFrame(
        [
            found.items.ids[found.item].alias("item"),
            pl.Series("number", found.numbers),
            pl.Series("name", names, dtype=pl.String),
            pl.Series("score", found.scores.round(DIGITS)),
            *(_plain(name, values) for name, values in sides),
        ]
    )


def summary(table: pl.DataFrame) -> dict[str, float | None]:
    """The table of `tally_items` in a few numbers: items, count, mean_per_item, square_metres, per_square_metre.

    The mean and the density are those of all pictures that could be read; None where there are none.
    """
    count, counted = int(table["count"].sum()), len(table) - table["count"].null_count()
    mean = round(count / counted, DECIMALS) if counted else None
    known = table.drop_nulls("square_metres") if "square_metres" in table.columns else table.clear()
    # The sum of rounded numbers is rounded too: 0.1 three times is 0.3.
    whole = float(f"{known['square_metres'].sum():.12g}") if len(known) else None
    density = None if whole is None else float(f"{int(known['count'].sum()) / whole:.{DIGITS}g}")
    found = {"items": len(table), "count": count, "mean_per_item": mean}
    return found | {"square_metres": whole, "per_square_metre": density}


def _measured(shapes: Any) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The sides of shapes, what else there is to measure, and their centre."""
    if isinstance(shapes, Boxes):
        x, y = (extent.centre for extent in shapes.extents)
        return {"width": shapes.width, "height": shapes.height}, {}, {"x": x, "y": y}
    if not isinstance(shapes, RotatedBoxes | Masks):
        raise ValueError(f"{type(shapes).__name__} have no place in a picture")
    fit = fit_rectangles(shapes) if isinstance(shapes, Masks) else lengthwise(shapes)
    # Rounded here, because 179.9999 is 180 in the table, and that is 0.
    heading = np.round(np.degrees(fit.angle) + 90, DECIMALS) % 180
    return {"length": fit.length, "width": fit.width}, {"heading": heading}, {"x": fit.x, "y": fit.y}


def _area_quantiles(found: Annotations[Any]) -> dict[str, np.ndarray]:
    """Quantiles of the areas in each item, nan where there are none, by the name of the column."""
    areas = pl.DataFrame({"at": found.item, "area": np.asarray(found.shapes.area, float)})
    columns = {f"area_{10 * tenths}": tenths / 10 for tenths in TENTHS}
    rows = areas.group_by("at").agg(
        pl.col("area").quantile(share, "linear").alias(name) for name, share in columns.items()
    )
    at, quantiles = rows["at"].to_numpy(), {name: np.full(len(found.items), np.nan) for name in columns}
    for name, values in quantiles.items():
        values[at] = rows[name].to_numpy()
    return quantiles


def _plain(name: str, values: np.ndarray) -> pl.Series:
    """A column of pixels, degrees or shares."""
    return pl.Series(name, np.asarray(values, float)).fill_nan(None).round(DECIMALS)


def _metric(name: str, values: np.ndarray) -> pl.Series:
    """A column of metres or square metres."""
    return pl.Series(name, np.asarray(values, float)).fill_nan(None).round_sig_figs(DIGITS)


def _refuse(ground: float | None) -> None:
    if ground is not None and not (np.isfinite(ground) and ground > 0):
        expected, remedy = "metres per pixel, above 0", "give e.g. 1.5, or leave it out"
        raise BadInput(Problem("bad_option", "tally", f"ground={ground}", expected, remedy))
