"""Clips with a yes or no about each: weak labels of events, as a data set."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import polars as pl

from tallymark.data.catalog import NO_GROUP, Catalog
from tallymark.data.items import Items
from tallymark.data.recording_days import grouped_by_day
from tallymark.io.audio import read_header
from tallymark.io.media import BadMedia

BLOCKS = 40
"""Groups of clips without a date: consecutive numbers are mostly consecutive moments, so they stay in one fold."""
NUMBER = re.compile("0*([1-9][0-9]*|0)")


def as_clips(catalog: Catalog) -> Catalog:
    """A catalog of clips: grouped by day or by blocks of numbers, and their events guessed to be in the middle.

    The middle is that of the first clip: reading the headers of thousands would take long, and training takes the
    middle of each clip when it has read it.
    """
    truth = catalog.truth
    assert truth is not None
    middle = _middle(catalog)
    catalog = grouped_by_day(catalog)
    group = _blocks(catalog.items.ids) if (catalog.group == NO_GROUP).any() else catalog.group
    items = Items(catalog.items.ids, group, catalog.items.line)
    shapes = replace(truth.shapes, time=np.full(len(truth), middle))
    clips, yes = int(catalog.labelled.sum()), int((truth.counts > 0).sum())
    remark = f"clips with a yes or no: {yes:,} of {clips:,} with a call; they are scored by presence (AUC), not by time"
    return replace(
        catalog, items=items, truth=replace(truth, items=items, shapes=shapes), remarks=(*catalog.remarks, remark)
    )


def _middle(catalog: Catalog) -> float:
    """Half the length of the first clip that can be read, in seconds; 0 if none can."""
    for item in range(len(catalog)):
        path = catalog.path(item)
        try:
            if path is not None:
                return read_header(path).seconds / 2
        except BadMedia:
            continue
    return 0.0


def _blocks(ids: pl.Series) -> pl.Series:
    """A group for each of `BLOCKS` stretches of clips in the order of their numbers, named after its first clip."""
    keys = [_by_number(name) for name in ids]
    order = np.array(sorted(range(len(ids)), key=lambda at: keys[at]), np.int64)
    size = -(-len(ids) // BLOCKS)
    group = np.empty(len(ids), object)
    for start in range(0, len(order), size):
        group[order[start : start + size]] = f"from {ids[int(order[start])]}"
    return pl.Series(group.tolist(), dtype=pl.String)


def _by_number(name: str) -> str:
    """A key by which clip2 comes before clip10: in front of each number, how many digits it has."""
    return NUMBER.sub(lambda found: f"{len(found[1]):07}{found[1]}", name)
