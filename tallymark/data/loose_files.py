"""A catalog of media files by themselves, without tables, splits or truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.data.recording_clock import RecordingClock
from tallymark.io.media import Medium


def catalog_of_files(root: Path, medium: Medium, files: Sequence[str], clock: RecordingClock) -> Catalog:
    """Files as items; the id of each is its path below the root, which no other file can have."""
    ids = pl.Series("id", list(files), dtype=pl.String)
    return Catalog(
        root=root,
        medium=medium,
        items=Items(ids),
        files=ids.alias("file"),
        split=pl.repeat("test", len(ids), eager=True),
        labelled=np.zeros(len(ids), bool),
        tables=pl.repeat(None, len(ids), dtype=pl.String, eager=True),
        clock=clock,
    )
