"""Recordings grouped by the day on which they were made."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from tallymark.data.catalog import NO_GROUP, Catalog
from tallymark.data.items import Items
from tallymark.data.recording_clock import RecordingClock


def grouped_by_day(catalog: Catalog, clock: RecordingClock | None = None) -> Catalog:
    """The catalog with the day of each recording as its group, by the names of its files and this clock."""
    clock = clock or catalog.clock
    clock.validate()
    ids = catalog.items.ids
    days = [clock.day(file or name) or NO_GROUP for name, file in zip(ids, catalog.files, strict=True)]
    items = Items(ids, pl.Series(days, dtype=pl.String), catalog.items.line)
    truth = None if catalog.truth is None else replace(catalog.truth, items=items)
    return replace(catalog, items=items, truth=truth, clock=clock)
