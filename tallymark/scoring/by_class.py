"""Scores of several classes: groups of items and classes, their mean, a table with a row per class, and confusions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tallymark.core.console import show_table
from tallymark.data.annotations import Annotations
from tallymark.geometry import Geometry
from tallymark.scoring.sweep import Sweep

if TYPE_CHECKING:
    from rich.console import Console

SHOWN = (10, 14, 18)
"""Thresholds in the table, in twentieths: IoU 0.50, 0.70 and 0.90."""
BLOCK = 1 << 18
"""Items whose labels are counted at once."""


def item_and_class(annotations: Annotations[Geometry], classes: int) -> np.ndarray:
    """The group of each object, numbered by item and class; with 1 class, by item only."""
    return annotations.item if classes == 1 else annotations.item * classes + annotations.labels


def mean_of_rows(values: np.ndarray) -> np.ndarray:
    """The mean of the values in each row that are not nan; nan for a row without any."""
    counted = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        mean: np.ndarray = np.where(counted, values, 0).sum(axis=1) / counted.sum(axis=1)
    return mean


def class_table(
    truth: Annotations[Geometry], predicted: Annotations[Geometry], found: Sweep, precision: np.ndarray | None = None
) -> pl.DataFrame:
    """A row per class that occurs: truths, predictions, true positives and, if given, average precision."""
    classes = len(truth.classes)
    hits = found.hits.reshape(len(truth.items), classes, len(found.twentieths)).sum(axis=0)
    truths, predictions = (np.bincount(side.labels, minlength=classes) for side in (truth, predicted))
    used = np.flatnonzero((truths > 0) | (predictions > 0))
    return pl.DataFrame(
        {
            "class": [truth.classes[label] for label in used.tolist()],
            "truths": truths[used],
            "predictions": predictions[used],
            **{f"tp_{5 * k}": hits[used, found.twentieths.index(k)] for k in SHOWN},
            **({} if precision is None else {"ap": pl.Series(precision[used], nan_to_null=True)}),
        },
        schema_overrides={"class": pl.String},
    )


def label_table(label: np.ndarray, wrong: np.ndarray, top1: np.ndarray, names: Sequence[str]) -> pl.DataFrame:
    """A row per class that items are labelled with: items, errors, top-k error and top-1 error, the worst first.

    label: (n,) of each item. wrong: whether none of the predicted classes is it. top1: whether the first one is.
    names: of the classes; without any, they are named by their numbers.
    """
    known = label >= 0
    items, errors, missed = (_count_by_class(label, known & rows) for rows in (known, wrong, ~top1))
    used = np.flatnonzero(items)
    used = used[np.lexsort((used, -missed[used] / items[used], -errors[used] / items[used]))]
    return pl.DataFrame(
        {
            "class": used,
            **({"name": [_name(number, names) for number in used.tolist()]} if names else {}),
            "items": items[used],
            "errors": errors[used],
            "error": errors[used] / items[used],
            "top1_error": missed[used] / items[used],
        }
    )


def _count_by_class(label: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """How often each class occurs in the rows that are true, in blocks: counting needs a 64-bit copy of the labels."""
    counts = np.zeros(int(label.max(initial=-1)) + 1, np.int64)
    for start in range(0, len(label), BLOCK):
        block = slice(start, start + BLOCK)
        counts += np.bincount(label[block][rows[block]], minlength=len(counts))
    return counts


def _count_pairs(label: np.ndarray, predicted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pairs (2, m) of a label and another predicted class, and how often each occurs; in blocks, as above."""
    count = int(max(label.max(initial=0), predicted.max(initial=0))) + 1
    found = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    for start in range(0, len(label), BLOCK):
        own, other = (column[start : start + BLOCK] for column in (label, predicted))
        rows = np.flatnonzero((own >= 0) & (other >= 0) & (own != other))
        found.append(np.unique(own[rows] * np.int64(count) + other[rows], return_counts=True))
    numbers, times = (np.concatenate(column) for column in zip(*found, strict=True))
    pairs, at = np.unique(numbers, return_inverse=True)
    return np.array(np.divmod(pairs, count)), np.bincount(at, times, minlength=len(pairs)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Confusions:
    """Pairs of a label and the class predicted first in its place.

    label, predicted: (n,) classes of each item, below 0 where it has none.
    """

    label: np.ndarray
    predicted: np.ndarray
    names: Sequence[str] = ()

    @cached_property
    def table(self) -> pl.DataFrame:
        """label, predicted, items, and share, of the items with that label; the most frequent first."""
        items = _count_by_class(self.label, self.label >= 0)  # as long as labels reach: a prediction may be any number
        pairs, images = _count_pairs(self.label, self.predicted)
        order = np.lexsort((*pairs[::-1], -images))
        first, second = pairs[:, order]
        columns = {
            "label": [self.name(number) for number in first.tolist()],
            "predicted": [self.name(number) for number in second.tolist()],
            "items": images[order],
            "share": images[order] / items[first],
        }
        schema = {"label": pl.String, "predicted": pl.String, "items": pl.Int64, "share": pl.Float64}
        return pl.DataFrame(columns, schema=schema)

    def name(self, number: int) -> str:
        """The name of a class; its number where none is known."""
        return _name(number, self.names)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        return {"confused most often": self.table}

    def show(self, to: Console) -> None:
        show_table("confused most often", self.table.columns, self.table.rows(), to, limit=10)

    def as_dict(self) -> dict[str, object]:
        return {"pairs": self.table.to_dicts()}


def _name(number: int, names: Sequence[str]) -> str:
    return names[number] if number < len(names) else str(number)
