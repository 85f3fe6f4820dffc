"""Recall and precision of cuboids by class and by distance from the vehicle."""

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
from tallymark.geometry.points_in_boxes import count_points_in_cuboids
from tallymark.geometry.poses import transform_cuboids
from tallymark.io.media import BadMedia
from tallymark.modalities.lidar.attributes import BANDS, distance
from tallymark.modalities.lidar.sweeps import read_scan
from tallymark.scoring.matching import Match
from tallymark.scoring.shares import share
from tallymark.scoring.sweep import IouComparison, sweep

if TYPE_CHECKING:
    from rich.console import Console

BAND_NAMES = ("0-20", "20-40", "40-60", "60+", "unknown")
"""The last is that of samples without a lidar sweep, whose pose nobody knows."""
TWENTIETHS = (10, 14)
"""IoU thresholds 0.50 and 0.70, in twentieths."""


@dataclass(frozen=True, eq=False)
class Distances:
    """Recall and precision of each class, of each band of distance, and of each class in each band.

    Columns
    -------
    class, metres; truths and predictions, how many there are; tp_50 and tp_70, truths matched with an IoU above 0.50
    and 0.70; recall_50 and recall_70; precision_50 and precision_70. A truth counts in the band of its own position, a
    prediction in that of the predicted position.
    """

    classes: pl.DataFrame
    bands: pl.DataFrame
    both: pl.DataFrame

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        return {
            "classes, at every distance": self.classes,
            "metres from the vehicle": self.bands,
            "classes by distance": self.both,
        }

    def show(self, to: Console) -> None:
        """Print the tables of classes and of bands."""
        for title, table in list(self.tables.items())[:2]:
            show_table(title, table.columns, table.rows(), to)

    def as_dict(self) -> dict[str, object]:
        """The form that `--json` prints."""
        tables = {"classes": self.classes, "bands": self.bands, "both": self.both}
        return {name: table.to_dicts() for name, table in tables.items()}


def score_by_distance(
    truth: Annotations[Cuboids],
    predicted: Annotations[Cuboids],
    catalog: Catalog,
    *,
    min_points: int = 0,
    comparison: IouComparison = "gt",
    match: Match = "best_unmatched",
) -> Distances:
    """Match within each item and class, and count by class and distance.

    Parameters
    ----------
    truth, predicted: of the same items, all of which are in the catalog, which knows the position of the vehicle.
    min_points: lidar points that a truth must contain to be counted. A prediction that matches a truth which is not
        counted, or that matches none at the lower threshold and contains fewer points itself, is left out.
    """
    truth, predicted = align_classes(truth, predicted)
    at = _find_items(truth, catalog)
    classes = max(len(truth.classes), 1)
    swept = sweep(
        truth.shapes,
        predicted.shapes,
        truth.item * classes + truth.labels,
        predicted.item * classes + predicted.labels,
        len(truth.items) * classes,
        twentieths=TWENTIETHS,
        confidence=predicted.scores,
        comparison=comparison,
        mode=match,
    )
    counted = np.ones(len(truth), bool)
    enough = np.ones(len(predicted), bool)
    if min_points > 0:
        counted, enough = (counts >= min_points for counts in count_points((truth, predicted), catalog, at))
    truth_hit = np.zeros((len(truth), len(TWENTIETHS)), bool)
    predicted_hit = np.zeros((len(predicted), len(TWENTIETHS)), bool)
    ignored = ~enough
    for step, matched in enumerate(swept.matched.T):
        first, second = swept.pairs.first[matched], swept.pairs.second[matched]
        truth_hit[first, step] = True
        predicted_hit[second, step] = counted[first]
        ignored[second[~counted[first]]] = True
    kept = ~ignored | predicted_hit.any(axis=1)
    return _tables(
        (truth.labels[counted], _band(truth, catalog, at)[counted], truth_hit[counted]),
        (predicted.labels[kept], _band(predicted, catalog, at)[kept], predicted_hit[kept]),
        truth.classes or ("object",),
    )


def count_points(sides: tuple[Annotations[Cuboids], ...], catalog: Catalog, at: np.ndarray) -> tuple[np.ndarray, ...]:
    """How many lidar points each cuboid contains; item i of each side is item at[i] of the catalog.

    Sweeps that cannot be read are a `BadInput`.
    """
    counts = tuple(np.zeros(len(side), np.int64) for side in sides)
    problems = Problems()
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
            cuboids = side.shapes.take(np.arange(own.start, own.stop))
            count[own] = count_points_in_cuboids(scan.points, transform_cuboids(cuboids, scan.pose.inverse()))
    problems.raise_if_any()
    return counts


def _find_items(truth: Annotations[Cuboids], catalog: Catalog) -> np.ndarray:
    """The position in the catalog of each item of the truth."""
    at = catalog.items.find(truth.items.ids)
    problems = Problems()
    ids = truth.items.ids
    place = str(catalog.root)
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
    """The band of each cuboid."""
    metres = distance(catalog, at, annotations)
    return np.where(np.isnan(metres), len(BANDS) + 1, np.searchsorted(BANDS, metres, "right"))


Side = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Class, band and, for each IoU threshold, whether it is matched, of the truths or of the predictions."""


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
    """A row for each key with any cuboid; `truth` and `predicted` are the number of each cuboid's key."""
    rows = len(next(iter(keys.values())))
    truths, predictions = (np.bincount(side, minlength=rows) for side in (truth, predicted))
    matched = {f"tp_{5 * k}": np.bincount(truth, truth_hit[:, at], rows) for at, k in enumerate(TWENTIETHS)}
    correct = [np.bincount(predicted, hit[:, at], rows) for at in range(len(TWENTIETHS))]
    shares = {}
    for k, own in zip(TWENTIETHS, correct, strict=True):
        shares[f"recall_{5 * k}"] = share(matched[f"tp_{5 * k}"], truths)
        shares[f"precision_{5 * k}"] = share(own, predictions)
    whole = {name: hits.astype(np.int64) for name, hits in matched.items()}
    table = pl.DataFrame({**keys, "truths": truths, "predictions": predictions, **whole, **shares})
    return table.filter((pl.col("truths") > 0) | (pl.col("predictions") > 0))
