"""The rows that one predicted file adds to the tables of a watched folder.

Every table has the columns `item`, the path of the file below the folder, and `version`: 1, or more if the file has
changed since it was first predicted. The columns depend on the model and its settings only, so that rows can be
appended for years.
"""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any

import numpy as np
import polars as pl

from tallymark.api.export import source_of
from tallymark.api.exports import object_table
from tallymark.core.problems import BadInput, Problem, printable
from tallymark.data.recording_clock import EPOCH, RecordingClock
from tallymark.detector.coders import CODERS
from tallymark.formats.geojson import FEATURES, feature_line, features_of, georeferenced
from tallymark.formats.photos import DECIMALS, positions
from tallymark.inference.predictor import PredictionResult
from tallymark.io.ground_resolution import photograph_time
from tallymark.io.growing_files import Rows
from tallymark.io.media import BadMedia
from tallymark.reporting.calls import DECIMALS as HOUR_DECIMALS
from tallymark.reporting.calls import HOUR, per_hour
from tallymark.reporting.measurements import measure_items

OBJECTS, COUNTS, ON_EARTH, PROBLEMS = "objects.csv", "counts.csv", "objects.geojsonl", "problems.csv"
TABLES = (OBJECTS, COUNTS, ON_EARTH, PROBLEMS)


def rows_of(result: PredictionResult, version: int, gsd: float | None) -> dict[str, Rows]:
    """The rows of one file that was read; a `BadInput` if the system fails to read its metadata."""
    objects = object_table(result, gsd)
    rows = {OBJECTS: _csv(_versioned(objects.rename({objects.columns[0]: "item"}), version))}
    if not CODERS[result.recipe.task].ranked:  # labels of whole images are not counted
        rows[COUNTS] = _csv(_versioned(_counts(result, gsd), version))
    if type(result.predictions.shapes) in FEATURES and find_spec("rasterio") is not None:
        rows[ON_EARTH] = _on_earth(result, version)
    return rows


def problem_rows(problems: Iterable[Problem], path: str, version: int) -> Rows:
    """A row for each problem of a file."""
    schema = dict.fromkeys(("item", "kind", "found", "expected", "remedy"), pl.String)
    table = [(printable(path), one.kind, one.found, one.expected, one.remedy) for one in problems]
    return _csv(_versioned(pl.DataFrame(table, schema, orient="row"), version))


def _counts(result: PredictionResult, gsd: float | None) -> pl.DataFrame:
    """One row: the number of objects with what `measure_items` knows, or calls per hour; and place and time."""
    path, clock = result.catalog.items.ids[0], result.catalog.clock
    if CODERS[result.recipe.task].one_dimensional:
        table = pl.DataFrame(
            {
                "item": [path],
                "recorder": [clock.parse(path).recorder],
                "time": pl.Series([time_of(path, clock)], dtype=pl.String),
                "hours": [float(result.candidates.size[0, 0]) / HOUR],
                "count": [len(result.predictions)],
            }
        )
        return table.with_columns(pl.col("hours").round(HOUR_DECIMALS), per_hour())
    table = measure_items(result.counted, result.candidates.size, gsd, result.counting)
    time = time_of(path, clock)
    if "image_size" in result.recipe.names_at("prediction"):
        table = _with_position(table, result)
        time = time or _taken(result)
    return table.insert_column(1, pl.Series("time", [time], dtype=pl.String))


def time_of(path: str, clock: RecordingClock) -> str | None:
    """When a file was made by its name, in ISO form: the day and, where the name has it, the time."""
    name = clock.parse(path)
    if name.start is None:
        return None
    start = EPOCH + datetime.timedelta(seconds=name.start)
    return start.isoformat(timespec="seconds") if name.has_time else start.date().isoformat()


def _taken(result: PredictionResult) -> str | None:
    """When a photograph was taken by its own metadata."""
    path = result.catalog.path(0)
    try:
        return None if path is None else photograph_time(path) or None
    except BadMedia as bad:
        raise BadInput(result.catalog.unread(0, bad)) from None


def _with_position(table: pl.DataFrame, result: PredictionResult) -> pl.DataFrame:
    """With the GPS position of the photograph in degrees and metres, null where it has none."""
    [place] = positions(result.catalog)
    known = (None, None, None) if place is None else (place.latitude, place.longitude, place.altitude)
    return table.with_columns(
        pl.lit(value, pl.Float64).round(digits).alias(name)
        for name, value, digits in zip(
            ("latitude", "longitude", "altitude_m"), known, (DECIMALS, DECIMALS, 1), strict=True
        )
    )


def _on_earth(result: PredictionResult, version: int) -> Rows:
    """A line of GeoJSON for each object, if the image is georeferenced: such files can be appended to."""
    source = source_of(result)
    features: list[dict[str, Any]] = features_of(source) if np.all(georeferenced(source.catalog)) else []
    for feature in features:
        feature["properties"]["version"] = version
    return Rows(b"", "".join(f"{feature_line(feature)}\n" for feature in features).encode())


def _versioned(table: pl.DataFrame, version: int) -> pl.DataFrame:
    return table.insert_column(1, pl.repeat(version, len(table), dtype=pl.Int64, eager=True).alias("version"))


def _csv(table: pl.DataFrame) -> Rows:
    text = io.BytesIO()
    table.write_csv(text)
    header, end, data = text.getvalue().partition(b"\n")
    return Rows(header + end, data)
