"""Slices: hits, misses and false alarms by class, by group of items, or by any other value of objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tallymark.data.annotations import Annotations, align_classes
from tallymark.geometry import Geometry
from tallymark.scoring.outcomes import Outcomes
from tallymark.scoring.shares import share


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


def class_key(truth: Annotations[Geometry], predicted: Annotations[Geometry]) -> SliceKey | None:
    """By class; None where there are no classes."""
    truth, predicted = align_classes(truth, predicted)
    return SliceKey("class", truth.classes, truth.labels, predicted.labels) if truth.classes else None


def item_key(name: str, values: pl.Series, truth: Annotations[Geometry], predicted: Annotations[Geometry]) -> SliceKey:
    """By a value of their item, e.g. its source, day or drive: `values` has one for each item."""
    names = values.cast(pl.String).fill_null("(none)")
    known = names.unique().sort()
    index = names.to_frame("name").join(
        pl.DataFrame({"name": known, "at": np.arange(len(known))}), on="name", how="left", maintain_order="left"
    )["at"].to_numpy()  # fmt: skip
    return SliceKey(name, known.to_list(), index[truth.item], index[predicted.item])
