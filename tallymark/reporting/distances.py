"""How well volumes are found, class by class and by how far they are from the vehicle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tallymark.core.console import progress, show_table
from tallymark.core.problems import Problem, Problems
from tallymark.data.annotations import Annotations, align_classes
from tallymark.data.catalog import Catalog
from tallymark.geometry import Cuboids
from tallymark.geometry.points_in_boxes import points_inside
from tallymark.geometry.poses import transform_cuboids
from tallymark.io.media import BadMedia
from tallymark.modalities.lidar.sweeps import read_scan
from tallymark.scoring.matching import Match
from tallymark.scoring.sweep import Comparison, sweep

if TYPE_CHECKING:
    from rich.console import Console

BANDS = (20.0, 40.0, 60.0)
"""Metres at which the bands of distance end; the last one has no end."""
BAND_NAMES = ("0-20", "20-40", "40-60", "60+")
TWENTIETHS = (10, 14)
"""A hit, and a good one: IoU above 0.50 and above 0.70."""


@dataclass(frozen=True, eq=False)
class Distances:
    """What was found of each class, in each band of distance, and of each class in each band.

    Columns
    -------
    class, metres; truths and predictions counted; tp_50 and tp_70, the truths that were found with an IoU above 0.50
    and 0.70; recall_50 and recall_70, their share; precision_50 and precision_70, the share of the predictions that
    hit. A truth is in the band that it stands in, a prediction in the one that it is put in.
    """

    classes: pl.DataFrame
    bands: pl.DataFrame
    both: pl.DataFrame

    def show(self, to: Console) -> None:
        """Print the classes, and the bands of all of them together."""
        for title, table in (("classes, at every distance", self.classes), ("metres from the vehicle", self.bands)):
            show_table(title, table.columns, table.rows(), to)

    def as_dict(self) -> dict[str, object]:
        """The form that `--json` prints."""
        return {name: getattr(self, name).to_dicts() for name in ("classes", "bands", "both")}


def score_by_distance(
    truth: Annotations[Cuboids],
    predicted: Annotations[Cuboids],
    catalog: Catalog,
    *,
    least: int = 0,
    comparison: Comparison = "gt",
    match: Match = "best_unmatched",
) -> Distances:
    """Match within each item and class, and count by class and distance.

    Parameters
    ----------
    truth, predicted: of the same items, all of which the catalog has; it knows where the vehicle stood.
    least: points of the sweep that must be inside a truth for it to count. A prediction that hits one that does not
        count, or that hits nothing and has fewer points itself, is no false alarm either.
    """
    truth, predicted = align_classes(truth, predicted)
    at = _find(truth, catalog)
    kinds = max(len(truth.classes), 1)
    found = sweep(
        truth.shapes,
        predicted.shapes,
        truth.item * kinds + truth.labels,
        predicted.item * kinds + predicted.labels,
        len(truth.items) * kinds,
        twentieths=TWENTIETHS,
        confidence=predicted.scores,
        comparison=comparison,
        mode=match,
    )
    counted, enough = np.ones(len(truth), bool), np.ones(len(predicted), bool)
    if least > 0:
        counted, enough = (counts >= least for counts in count_points((truth, predicted), catalog, at))
    truth_hit, predicted_hit = (np.zeros((len(one), len(TWENTIETHS)), bool) for one in (truth, predicted))
    spared = ~enough
    for step, matched in enumerate(found.matched.T):
        first, second = found.pairs.first[matched], found.pairs.second[matched]
        truth_hit[first, step] = True
        predicted_hit[second, step] = counted[first]
        spared[second[~counted[first]]] = True
    alarms = ~spared | predicted_hit.any(axis=1)
    sides = [
        (truth.labels[counted], _band(truth, catalog, at)[counted], truth_hit[counted]),
        (predicted.labels[alarms], _band(predicted, catalog, at)[alarms], predicted_hit[alarms]),
    ]
    return _tables(sides[0], sides[1], truth.classes or ("object",))


def count_points(sides: tuple[Annotations[Cuboids], ...], catalog: Catalog, at: np.ndarray) -> tuple[np.ndarray, ...]:
    """How many points of its item's sweep each volume has inside; item i of each side is item at[i] of the catalog.

    Sweeps that cannot be read are a `BadInput`.
    """
    counts, problems = tuple(np.zeros(len(side), np.int64) for side in sides), Problems()
    for item, place in progress(list(enumerate(at.tolist())), "counting points"):
        rows = [slice(*side.offsets[item : item + 2]) for side in sides]
        if all(own.start == own.stop for own in rows):
            continue
        try:
            scan = read_scan(catalog, place)
        except BadMedia as bad:
            name = catalog.items.ids[place]
            problems.add(Problem(bad.kind, catalog.place(place), bad.found, "a sweep", bad.remedy, item=name))
            continue
        for side, own, count in zip(sides, rows, counts, strict=True):
            volumes = side.shapes.take(np.arange(own.start, own.stop))
            count[own] = points_inside(scan.points, transform_cuboids(volumes, scan.pose.inverse()))
    problems.raise_if_any()
    return counts


def _find(truth: Annotations[Cuboids], catalog: Catalog) -> np.ndarray:
    """Where the catalog has each item of the truth."""
    at, problems = catalog.items.find(truth.items.ids), Problems()
    ids, place = truth.items.ids, str(catalog.root)
    expected, remedy = "every sample that is scored", "name the data folder of the truth"
    problems.add_each(
        "unknown_sample",
        place,
        np.flatnonzero(at < 0).tolist(),
        lambda item: Problem("unknown_sample", place, f"no {ids[item]}", expected, remedy, item=ids[item]),
    )
    problems.raise_if_any()
    return at


def _band(annotations: Annotations[Cuboids], catalog: Catalog, at: np.ndarray) -> np.ndarray:
    """The band of each volume. Without a drive, volumes are in the frame of the lidar, and that is the vehicle."""
    x, y = annotations.shapes.x, annotations.shapes.y
    if catalog.drive is not None:
        row = catalog.drive.samples[at]
        stand = np.where(row < 0, np.nan, catalog.drive.vehicle.translation[row, :2].T)  # unknown: the last band
        x, y = x - stand[0, annotations.item], y - stand[1, annotations.item]
    return np.searchsorted(BANDS, np.hypot(x, y), "right")


Side = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Class, band and hits at each threshold of the volumes of one side."""


def _tables(truth: Side, predicted: Side, classes: tuple[str, ...]) -> Distances:
    bands = len(BAND_NAMES)
    names, metres = pl.Series(classes, dtype=pl.String), pl.Series(BAND_NAMES)
    cells = np.arange(len(classes) * bands)
    keys = {"class": names[cells // bands], "metres": metres[cells % bands]}
    return Distances(
        _table({"class": names}, truth[0], truth[2], predicted[0], predicted[2]),
        _table({"metres": metres}, truth[1], truth[2], predicted[1], predicted[2]),
        _table(keys, truth[0] * bands + truth[1], truth[2], predicted[0] * bands + predicted[1], predicted[2]),
    )


def _table(
    keys: dict[str, pl.Series], truth: np.ndarray, truth_hit: np.ndarray, predicted: np.ndarray, hit: np.ndarray
) -> pl.DataFrame:
    """A row for each key that has anything, from the number of the key of each volume."""
    rows = len(next(iter(keys.values())))
    truths, predictions = (np.bincount(side, minlength=rows) for side in (truth, predicted))
    found = {f"tp_{5 * k}": np.bincount(truth, truth_hit[:, at], rows) for at, k in enumerate(TWENTIETHS)}
    right = [np.bincount(predicted, hit[:, at], rows) for at in range(len(TWENTIETHS))]
    shares = {}
    for k, own in zip(TWENTIETHS, right, strict=True):
        shares[f"recall_{5 * k}"] = _share(found[f"tp_{5 * k}"], truths)
        shares[f"precision_{5 * k}"] = _share(own, predictions)
    whole = {name: hits.astype(np.int64) for name, hits in found.items()}
    table = pl.DataFrame({**keys, "truths": truths, "predictions": predictions, **whole, **shares})
    return table.filter((pl.col("truths") > 0) | (pl.col("predictions") > 0))


def _share(part: np.ndarray, whole: np.ndarray) -> pl.Series:
    with np.errstate(invalid="ignore"):
        return pl.Series(part / whole).fill_nan(None)
