"""Survey of the media files of a data set: their sizes, brightness or loudness, and which cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tallymark.core.engines.choice import BY_DEFAULT, EngineChoice
from tallymark.core.engines.mapping import map_items
from tallymark.core.humanize import percentage
from tallymark.core.problems import Problems
from tallymark.data.catalog import Catalog
from tallymark.drawing.charts import Chart, Table
from tallymark.io.media import BadMedia, Medium, worker_died

MAX_FILES = 600
"""Files that are opened; of more, a random sample of that size."""
MAX_SIZES = 6
"""More different sizes of files than that are charted, not listed."""


class MediaStatistics(NamedTuple):
    """What one file is like.

    extent: width and height in pixels, seconds and samples per second, or points and columns.
    level, spread: mean and standard deviation of the grey levels 0..255; of a recording, the median sound level in
    decibels and its range.
    """

    extent: tuple[float, float]
    level: float
    spread: float


@dataclass(frozen=True, eq=False)
class Survey:
    """Statistics of the files of a catalog, a row per item; nan where a file was not opened or cannot be read.

    inspected: numbers of the items whose files were opened.
    extent (n, 2), level (n,), spread (n,): see `MediaStatistics`.
    unreadable: why a file cannot be read, by the number of its item.
    """

    inspected: np.ndarray
    extent: np.ndarray
    level: np.ndarray
    spread: np.ndarray
    unreadable: dict[int, BadMedia]

    def problems(self, catalog: Catalog) -> Problems:
        """The files that cannot be read, as problems."""
        problems = Problems()
        for item, bad in self.unreadable.items():
            problems.add(catalog.unread(item, bad))
        return problems


Measure = Callable[[Medium, Path], MediaStatistics]
"""What a file of a medium is like; raises `BadMedia` if it cannot be read."""


def survey(catalog: Catalog, measure: Measure, seed: int = 0, engine: EngineChoice = BY_DEFAULT) -> Survey:
    """Measure the files of a catalog, or a random sample of them if there are many."""
    with_file = np.flatnonzero(catalog.files.is_not_null().to_numpy())
    if len(with_file) > MAX_FILES:
        with_file = np.sort(np.random.default_rng(seed).choice(with_file, MAX_FILES, replace=False))
    paths = [catalog.root / catalog.files[item] for item in with_file.tolist()]
    measure_file = partial(_measure_file, measure, catalog.medium)
    values = np.full((len(catalog), 4), np.nan)
    unreadable = {}
    results = map_items(measure_file, paths, "inspecting files", _ended_its_worker, engine)
    for item, result in zip(with_file.tolist(), results, strict=True):
        if isinstance(result, BadMedia):
            unreadable[item] = result
        else:
            values[item] = *result.extent, result.level, result.spread
    return Survey(with_file, values[:, :2], values[:, 2], values[:, 3], unreadable)


def _measure_file(measure: Measure, medium: Medium, path: Path) -> MediaStatistics | BadMedia:
    try:
        return measure(medium, path)
    except BadMedia as bad:
        return bad


def _ended_its_worker(_: Path, reason: str) -> BadMedia:
    return worker_died(reason)


def measure_thumbnail(medium: Medium, path: Path) -> MediaStatistics:
    """Statistics of a file's grey thumbnail: the image itself, or the point cloud in bird's-eye view."""
    inspection = medium.inspect(path)
    thumbnail = inspection.thumbnail
    return MediaStatistics(inspection.extent, float(thumbnail.mean()), float(thumbnail.std()))


def size_table(first: np.ndarray, second: np.ndarray, names: tuple[str, str]) -> Chart | None:
    """A table of the sizes of files; None if there are more than a few different ones."""
    pairs, files = np.unique(np.round(np.column_stack([first, second]), 3), axis=0, return_counts=True)
    if not 0 < len(pairs) <= MAX_SIZES:
        return None
    order = np.argsort(-files)
    rows = [(*pairs[at].tolist(), int(files[at]), percentage(int(files[at]), len(first))) for at in order]
    return Chart("Sizes of files", table=Table([*names, "files", "share"], rows))
