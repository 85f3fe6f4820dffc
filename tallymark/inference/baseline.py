"""What anyone could hand in without looking at a single picture: the score to beat."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.geometry import Boxes, Cuboids, Events, Labels, Masks
from tallymark.inference.postprocess import RANKED

EVERY = 3.0
"""Seconds between guessed instants."""


def baseline(known: Annotations[Any], items: Items, size: np.ndarray) -> Annotations[Any]:
    """Boxes: as many as usual, of the usual size, evenly spread. Masks, volumes: none. Labels: the commonest ones.

    Instants: one every few seconds, so that none is missed. size: (n, 2) width and height of each item's picture; of a
    recording its seconds.
    """
    if isinstance(known.shapes, Boxes):
        return _spread(known, items, size)
    if isinstance(known.shapes, Labels):
        return _commonest(known, items)
    if isinstance(known.shapes, Events):
        return _regularly(items, size)
    if isinstance(known.shapes, Masks | Cuboids):
        return Annotations.empty(items, known.shapes, known.classes)
    raise ValueError(f"no guess for {type(known.shapes).__name__}")


def _spread(known: Annotations[Boxes], items: Items, size: np.ndarray) -> Annotations[Boxes]:
    count = int(np.median(known.counts)) if len(known.items) else 0
    if not count or not len(known):
        return Annotations.empty(items, Boxes.of(np.empty((0, 4))))
    width, height = np.median(known.shapes.width), np.median(known.shapes.height)
    columns = int(np.ceil(np.sqrt(count)))
    row, column = np.divmod(np.arange(count), columns)
    rows = int(row.max()) + 1
    across, down = size[:, :1] - width, size[:, 1:] - height
    x = across * (column / max(columns - 1, 1))
    y = down * (row / max(rows - 1, 1))
    boxes = np.stack([x, y, np.full(x.shape, width), np.full(x.shape, height)], -1).reshape(-1, 4)
    item = np.repeat(np.arange(len(items)), count)
    return Annotations.from_rows(items, item, Boxes.of(boxes), score=np.ones(len(item)))


def _regularly(items: Items, size: np.ndarray) -> Annotations[Events]:
    times = [np.arange(EVERY / 2, seconds, EVERY) for seconds in np.nan_to_num(size[:, 0]).tolist()]
    item = np.repeat(np.arange(len(items)), [len(time) for time in times])
    return Annotations.from_rows(items, item, Events(np.concatenate([np.empty(0), *times])))


def _commonest(known: Annotations[Labels], items: Items) -> Annotations[Labels]:
    counts = np.bincount(known.shapes.label)
    best = np.argsort(-counts, kind="stable")[:RANKED]
    label = np.tile(best, len(items))
    return Annotations.from_rows(items, np.repeat(np.arange(len(items)), len(best)), Labels(label))


def baseline_for(catalog: Catalog, items: Items, size: np.ndarray) -> Annotations[Any]:
    """A guess from the truth that a catalog has."""
    known = catalog.select(catalog.labelled & (catalog.split == "train").to_numpy())
    if known.truth is None:
        raise ValueError("no truth to guess from")
    return baseline(known.truth, items, size)
