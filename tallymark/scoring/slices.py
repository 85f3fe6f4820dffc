"""Slices: hits, misses and false alarms by size, class, distance from the vehicle, or group of items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tallymark.data.annotations import Annotations, align_classes
from tallymark.geometry import Cuboids
from tallymark.scoring.outcomes import Outcomes
from tallymark.scoring.shares import share

BANDS = (20.0, 40.0, 60.0)
"""Metres at which the bands of distance end; the last band has no end."""
BAND_NAMES = ("0-20", "20-40", "40-60", "60+")


@dataclass(frozen=True, eq=False)
class SliceKey:
    """What truths and predictions are sliced by.

    name: of the key. values: its values, in the order in which they are shown. truth, predicted: the index of each
    object's value; a prediction is in the slice of its own value, not of its truth's.
    """

    name: str
    values: Sequence[str]
    truth: np.ndarray
    predicted: np.ndarray


def slice_table(key: SliceKey, outcomes: Outcomes) -> pl.DataFrame:
    """A row for each value with an object: truths, hits, misses, predictions, false alarms, recall and precision.

    hits and misses are truths. Precision is the share of hits among predictions that count, null where there are none,
    as is recall where there are no truths.
    """
    rows = len(key.values)

    def count(index: np.ndarray) -> np.ndarray:
        return np.bincount(index, minlength=rows)

    truths, hits = count(key.truth), count(key.truth[outcomes.found])
    right, false = count(key.predicted[outcomes.hit]), count(key.predicted[outcomes.false_alarm])
    table = pl.DataFrame(
        {
            key.name: pl.Series(key.values, dtype=pl.String),
            "truths": truths,
            "hits": hits,
            "misses": truths - hits,
            "predictions": count(key.predicted),
            "false_alarms": false,
            "recall": share(hits, truths),
            "precision": share(right, right + false),
        }
    )
    return table.filter((pl.col("truths") > 0) | (pl.col("predictions") > 0))


def class_key(truth: Annotations[Any], predicted: Annotations[Any]) -> SliceKey | None:
    """By class; None where there are no classes."""
    truth, predicted = align_classes(truth, predicted)
    return SliceKey("class", truth.classes, truth.labels, predicted.labels) if truth.classes else None


def item_key(name: str, values: pl.Series, truth: Annotations[Any], predicted: Annotations[Any]) -> SliceKey:
    """By a value of their item, e.g. its source, day or drive: `values` has one for each item."""
    names = values.cast(pl.String).fill_null("(none)")
    known = names.unique().sort()
    index = names.to_frame("name").join(
        pl.DataFrame({"name": known, "at": np.arange(len(known))}), on="name", how="left", maintain_order="left"
    )["at"].to_numpy()  # fmt: skip
    return SliceKey(name, known.to_list(), index[truth.item], index[predicted.item])


def size_key(truth: Annotations[Any], predicted: Annotations[Any]) -> SliceKey | None:
    """By size, in thirds of the truths: area of boxes and masks, volume of cuboids. None without truths."""
    return tercile_key("size", truth.shapes.size, predicted.shapes.size) if len(truth) else None


def tercile_key(name: str, truth: np.ndarray, predicted: np.ndarray) -> SliceKey:
    """By a number of each object, small, medium or large, such that there are equally many truths of each."""
    low, high = np.quantile(truth, [1 / 3, 2 / 3])
    values = (f"small (below {low:.4g})", f"medium ({low:.4g} to {high:.4g})", f"large (from {high:.4g})")
    return SliceKey(name, values, *(np.searchsorted((low, high), side, "right") for side in (truth, predicted)))


def distance_key(truth: Annotations[Cuboids], predicted: Annotations[Cuboids], vehicle: np.ndarray) -> SliceKey:
    """By metres from the vehicle, whose position (items, 2) is in the frame of the cuboids; nan where unknown."""
    return SliceKey("metres", BAND_NAMES, distance_bands(truth, vehicle), distance_bands(predicted, vehicle))


def distance_bands(annotations: Annotations[Cuboids], vehicle: np.ndarray) -> np.ndarray:
    """The band of each cuboid, an index into `BAND_NAMES`; the last one where the position is unknown."""
    x, y = vehicle[annotations.item].T
    return np.searchsorted(BANDS, np.hypot(annotations.shapes.x - x, annotations.shapes.y - y), "right")
