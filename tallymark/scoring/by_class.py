"""Scores of several classes: groups of items and classes, their mean, and a table with a row per class."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from tallymark.data.annotations import Annotations
from tallymark.scoring.sweep import Sweep

SHOWN = (10, 14, 18)
"""Thresholds in the table, in twentieths: IoU 0.50, 0.70 and 0.90."""


def item_and_class(annotations: Annotations[Any], classes: int) -> np.ndarray:
    """The group of each object, numbered by item and class; with 1 class, by item only."""
    return annotations.item if classes == 1 else annotations.item * classes + annotations.labels


def mean_of_rows(values: np.ndarray) -> np.ndarray:
    """The mean of the values in each row that are not nan; nan for a row without any."""
    counted = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        mean: np.ndarray = np.where(counted, values, 0).sum(axis=1) / counted.sum(axis=1)
    return mean


def class_table(
    truth: Annotations[Any], predicted: Annotations[Any], found: Sweep, precision: np.ndarray | None = None
) -> pl.DataFrame:
    """A row per class that occurs: truths, predictions, true positives and, if given, average precision."""
    classes = len(truth.classes)
    hits = found.hits.reshape(len(truth.items), classes, len(found.twentieths)).sum(axis=0)
    table = pl.DataFrame(
        {
            "class": truth.classes,
            "truths": np.bincount(truth.labels, minlength=classes),
            "predictions": np.bincount(predicted.labels, minlength=classes),
            **{f"tp_{5 * k}": hits[:, found.twentieths.index(k)] for k in SHOWN},
        }
    )
    if precision is not None:
        table = table.with_columns(pl.Series("ap", precision).fill_nan(None))
    return table.filter((pl.col("truths") > 0) | (pl.col("predictions") > 0))
