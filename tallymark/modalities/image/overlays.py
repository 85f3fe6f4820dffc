"""Charts of what is measured: how many objects, how large media and objects are, and where objects lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tallymark.core.humanize import count, share
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.drawing.charts import Axis, columns, heat, histogram, multiples
from tallymark.geometry import Boxes, Cuboids, Events, Labels, Masks
from tallymark.geometry.poses import transform_cuboids
from tallymark.modalities.survey import Survey
from tallymark.reporting.calls import begun
from tallymark.reporting.page import table
from tallymark.reporting.summary_tables import nouns

GRID = 24
AROUND = 80.0
"""Metres to each side on the map around the vehicle."""


def objects_measured(catalog: Catalog, seen: Survey) -> list[str]:
    """All charts of objects: how many, how large, where."""
    return [*density(catalog), *object_sizes(catalog), *positions(catalog, seen)]


def density(catalog: Catalog) -> list[str]:
    """How many objects items have."""
    truth = catalog.truth
    if truth is None or isinstance(truth.shapes, Labels):
        return []
    _, many = nouns(catalog)
    return [histogram(truth.counts[catalog.labelled], f"{many.capitalize()} in a {catalog.medium.noun}", many)]


def media_sizes(catalog: Catalog, seen: Survey) -> list[str]:
    """How large the files are: pixels, seconds or points."""
    noun = catalog.medium.noun
    first, second = seen.extent[np.isfinite(seen.extent).all(axis=1)].T
    if noun == "recording":
        return [
            _sizes(first, second, "seconds", "samples a second"),
            histogram(first, "Length of recordings", "seconds") if len(np.unique(first)) > 1 else "",
            histogram(seen.bright, "Level of recordings", "decibels"),
        ]
    if noun == "sweep":
        return [histogram(first, "Points in a sweep", "points")]
    few = _sizes(first, second, "width", "height")
    ratio = first / np.maximum(second, 1)
    return [
        few,
        "" if few else histogram(first, "Width of pictures", "pixels"),
        "" if few else histogram(second, "Height of pictures", "pixels"),
        "" if few else histogram(ratio, "Width / height of pictures"),
        histogram(seen.bright, "Brightness of pictures", "mean grey level, 0 to 255"),
        histogram(seen.contrast, "Contrast of pictures", "spread of grey levels"),
    ]


def object_sizes(catalog: Catalog) -> list[str]:
    """How large objects are."""
    truth = catalog.truth
    if truth is None or not len(truth):
        return []
    measure: dict[type, Callable[[Annotations[Any]], list[str]]] = {
        Boxes: _box_sizes, Masks: _mask_sizes, Events: _call_lengths, Cuboids: _cuboid_sizes,
    }  # fmt: skip
    found = measure.get(type(truth.shapes))
    return [] if found is None else found(truth)


def positions(catalog: Catalog, seen: Survey) -> list[str]:
    """Where objects lie in their pictures, in the time of their recordings, or around the vehicle."""
    truth = catalog.truth
    if truth is None or not len(truth):
        return []
    shapes = truth.shapes
    if isinstance(shapes, Boxes | Masks):
        return [_centres(catalog, seen, shapes)]
    if isinstance(shapes, Events):
        return [histogram(shapes.time, "When calls occur in a recording", "seconds from its start"), _by_hour(catalog)]
    if isinstance(shapes, Cuboids):
        return _around(catalog, shapes)
    return []


def _sizes(first: np.ndarray, second: np.ndarray, *names: str) -> str:
    """A table, if there are only a few different sizes."""
    pairs, amounts = np.unique(np.round(np.column_stack([first, second]), 3), axis=0, return_counts=True)
    if not 0 < len(pairs) <= 6:
        return ""
    order = np.argsort(-amounts)
    rows = [(*pairs[at].tolist(), int(amounts[at]), share(int(amounts[at]), len(first))) for at in order]
    inner = table([*names, "files", "share"], rows)
    return f'<figure class="chart"><figcaption>Sizes of files</figcaption>{inner}</figure>'


def _box_sizes(truth: Annotations[Boxes]) -> list[str]:
    boxes = truth.shapes
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = boxes.width / boxes.height
    return [
        histogram(boxes.area, "Area of boxes", "square pixels"),
        histogram(np.sqrt(boxes.area), "Side of a square of the same area", "pixels"),
        histogram(ratio[ratio > 0], "Width / height of boxes"),
    ]


def _mask_sizes(truth: Annotations[Masks]) -> list[str]:
    masks = truth.shapes
    across, down = (2 * extent.half for extent in masks.extents)
    filled = masks.area / np.maximum(across * down, 1)
    return [
        histogram(masks.area, "Area of masks", "pixels"),
        histogram(np.maximum(across, down), "Longer side of the box around a mask", "pixels"),
        histogram(filled, "Share of that box which the mask fills"),
    ]


def _call_lengths(truth: Annotations[Events]) -> list[str]:
    calls = truth.shapes
    order = np.lexsort([calls.time, truth.item])
    gaps = np.diff(calls.time[order])[np.diff(truth.item[order]) == 0]
    lengths = "" if calls.length is None else histogram(calls.length, "Length of calls", "seconds")
    return [lengths, histogram(gaps[gaps > 0], "From one call to the next", "seconds")]


def _cuboid_sizes(truth: Annotations[Cuboids]) -> list[str]:
    volumes, kind = truth.shapes, truth.labels
    sides = {"Length": volumes.length, "Width": volumes.width, "Height": volumes.height}
    names = truth.classes or ("all",)
    present = [at for at in np.argsort(-np.bincount(kind, minlength=len(names))).tolist() if (kind == at).any()]
    charts = []
    for side, values in sides.items():
        charts.append(multiples({names[at]: values[kind == at] for at in present}, f"{side} by class", "metres"))
    return charts


def _centres(catalog: Catalog, seen: Survey, shapes: Boxes | Masks) -> str:
    """A map of the centres of boxes or masks, all pictures stretched to the same square."""
    truth = catalog.truth
    assert truth is not None
    x, y = (extent.centre for extent in shapes.extents)
    if isinstance(shapes, Masks):
        width, height = np.full(len(shapes), float(shapes.shape[1])), np.full(len(shapes), float(shapes.shape[0]))
    else:
        size = seen.extent if catalog.size is None else np.where(np.isfinite(catalog.size), catalog.size, seen.extent)
        width, height = size[truth.item].T
    known = np.isfinite(width) & (width > 0) & (height > 0)
    across, down = x[known] / width[known], y[known] / height[known]
    grid, _, _ = np.histogram2d(down, across, bins=GRID, range=[[0, 1], [0, 1]])
    _, many = nouns(catalog)
    note = f"{count(len(across))} {many}, pictures stretched to one square"
    return heat(grid, f"Where the centres of {many} lie", note, ("top of the picture", "", "bottom", ""))


def _by_hour(catalog: Catalog) -> str:
    """Calls by the hour of the day, where the names of recordings say when they began."""
    truth = catalog.truth
    assert truth is not None
    told = [begun(name) for name in catalog.items.ids]
    known = np.array([one.timed for one in told], bool)
    if not known.any():
        return ""
    start = np.array([one.seconds if one.timed else 0.0 for one in told])
    own = known[truth.item]
    hour = ((start[truth.item] + truth.shapes.time)[own] // 3600 % 24).astype(int)
    amounts = np.bincount(hour, minlength=24)
    note = f"hour of the day by the clock of the file names, {count(int(known.sum()))} recordings"
    return columns([str(at) for at in range(24)], amounts.tolist(), "Calls by hour of the day", "calls", note)


def around_vehicle(catalog: Catalog) -> tuple[Cuboids, np.ndarray]:
    """Volumes seen from the vehicle (as they stand where there is no drive), and which objects they are."""
    truth, drive = catalog.truth, catalog.drive
    assert truth is not None
    if drive is None:
        return truth.shapes, np.arange(len(truth))
    kept = np.flatnonzero(drive.samples[truth.item] >= 0)
    rows = drive.samples[truth.item[kept]]
    if not len(kept):
        return truth.shapes.take(kept), kept
    return transform_cuboids(truth.shapes.take(kept), drive.vehicle.take(rows).inverse()), kept


def _around(catalog: Catalog, shapes: Cuboids) -> list[str]:
    seen, kept = around_vehicle(catalog)
    truth = catalog.truth
    assert truth is not None
    distance = np.hypot(seen.x, seen.y)
    grid, _, _ = np.histogram2d(-seen.x, -seen.y, bins=32, range=[[-AROUND, AROUND]] * 2)
    edges = ("ahead (x)", "", "behind", "")
    kind = truth.labels[kept]
    by_class = {truth.classes[at]: distance[kind == at] for at in np.unique(kind).tolist()} if truth.classes else {}
    return [
        heat(
            grid,
            "Where volumes lie around the vehicle",
            f"{AROUND:g} m to each side; shade by square root",
            edges,
            power=0.5,
        ),
        histogram(distance, "Distance from the vehicle", "metres"),
        histogram(np.degrees(seen.yaw) % 360, "Heading", "degrees, 0 is ahead", Axis(np.arange(0.0, 361, 15))),
        multiples(by_class, "Distance by class", "metres") if len(by_class) > 1 else "",
    ]
