"""Baseline: what anyone could submit without opening a single item. A model must beat its score."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.detector.label_coder import TOP_K
from tallymark.geometry import Boxes, Cuboids, Events, Labels, Masks

SECONDS = 3.0
"""Time between two events of the baseline."""


def baseline_for(catalog: Catalog, items: Items, size: np.ndarray) -> Annotations[Any]:
    """The baseline for some items, from the truth of the training split of a catalog."""
    known = catalog.select(catalog.labelled & (catalog.split == "train").to_numpy())
    if known.truth is None:
        raise ValueError("no truth to make a baseline from")
    return baseline(known.truth, items, size)


def baseline(known: Annotations[Any], items: Items, size: np.ndarray) -> Annotations[Any]:
    """Predictions from the statistics of known truth alone.

    Boxes: as many as usual, of the usual size, on a regular grid. Masks, cuboids: none. Labels: the most frequent.
    Events: one every few seconds, so that none is missed. size: (n, 2) width and height of each item; of a recording
    its seconds.
    """
    return _baseline(known.shapes, known, items, size)


@singledispatch
def _baseline(shapes: Any, known: Annotations[Any], items: Items, size: np.ndarray) -> Annotations[Any]:
    raise ValueError(f"no baseline for {type(shapes).__name__}")


@_baseline.register(Masks)
@_baseline.register(Cuboids)
def _nothing(shapes: Any, known: Annotations[Any], items: Items, size: np.ndarray) -> Annotations[Any]:
    return Annotations.empty(items, shapes, known.classes)


@_baseline.register
def _regular_grid(shapes: Boxes, known: Annotations[Boxes], items: Items, size: np.ndarray) -> Annotations[Boxes]:
    count = int(np.median(known.counts)) if len(known.items) else 0
    if not count or not len(known):
        return Annotations.empty(items, Boxes.of(np.empty((0, 4))))
    width, height = np.median(shapes.width), np.median(shapes.height)
    columns = int(np.ceil(np.sqrt(count)))
    row, column = np.divmod(np.arange(count), columns)
    rows = int(row.max()) + 1
    across, down = size[:, :1] - width, size[:, 1:] - height
    x = across * (column / max(columns - 1, 1))
    y = down * (row / max(rows - 1, 1))
    boxes = np.stack([x, y, np.full(x.shape, width), np.full(x.shape, height)], -1).reshape(-1, 4)
    item = np.repeat(np.arange(len(items)), count)
    return Annotations.from_rows(items, item, Boxes.of(boxes), score=np.ones(len(item)))


@_baseline.register
def _regular_times(shapes: Events, known: Annotations[Events], items: Items, size: np.ndarray) -> Annotations[Events]:
    times = [np.arange(SECONDS / 2, seconds, SECONDS) for seconds in np.nan_to_num(size[:, 0]).tolist()]
    item = np.repeat(np.arange(len(items)), [len(time) for time in times])
    return Annotations.from_rows(items, item, Events(np.concatenate([np.empty(0), *times])))


@_baseline.register
def _most_frequent(shapes: Labels, known: Annotations[Labels], items: Items, size: np.ndarray) -> Annotations[Labels]:
    best = np.argsort(-np.bincount(shapes.label), kind="stable")[:TOP_K]
    item = np.repeat(np.arange(len(items)), len(best))
    return Annotations.from_rows(items, item, Labels(np.tile(best, len(items))))
