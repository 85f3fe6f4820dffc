"""A look at the media of a data set: their sizes, how bright or loud they are, and which cannot be read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tallymark.core.parallel import in_threads
from tallymark.core.problems import Problem, Problems
from tallymark.data.catalog import Catalog
from tallymark.io.audio import read_audio, read_header
from tallymark.io.media import BadMedia

MOST = 600
"""Files that are opened; of more, that many are drawn by lot."""
MOMENTS = 16
"""Windows of a second that a recording's level is taken from."""


@dataclass(frozen=True, eq=False)
class Survey:
    """What a look at some items told; nan where an item was not looked at or cannot be read.

    extent: (n, 2) width and height, seconds and samples a second, or points and columns.
    bright, contrast: mean and spread of grey levels 0..255; of a recording the level in decibels and its spread.
    faults: why an item cannot be read, by its number.
    """

    looked: np.ndarray
    extent: np.ndarray
    bright: np.ndarray
    contrast: np.ndarray
    faults: dict[int, BadMedia]

    def problems(self, catalog: Catalog) -> Problems:
        """The files that cannot be read, as problems."""
        found = Problems()
        for item, bad in self.faults.items():
            place, name = catalog.place(item), catalog.items.ids[item]
            expected = f"a readable {catalog.medium.noun}"
            found.add(Problem(bad.kind, place, bad.found, expected, bad.remedy, item=name))
        return found


def survey(catalog: Catalog, seed: int = 0) -> Survey:
    """Look at the files of a catalog, or at a part of them if there are many."""
    there = np.flatnonzero(catalog.files.is_not_null().to_numpy())
    if len(there) > MOST:
        there = np.sort(np.random.default_rng(seed).choice(there, MOST, replace=False))
    sound = catalog.medium.noun == "recording"
    inspect = _hear if sound else _see

    def one(item: int) -> tuple[float, float, float, float] | BadMedia:
        path = catalog.path(item)
        assert path is not None, "only items with a file are looked at"
        try:
            return inspect(catalog, path)
        except BadMedia as bad:
            return bad

    n = len(catalog)
    values = np.full((n, 4), np.nan)
    faults = {}
    for item, found in zip(there.tolist(), in_threads(one, there.tolist(), "looking at files"), strict=True):
        if isinstance(found, BadMedia):
            faults[item] = found
        else:
            values[item] = found
    return Survey(there, values[:, :2], values[:, 2], values[:, 3], faults)


def _see(catalog: Catalog, path: Path) -> tuple[float, float, float, float]:
    seen = catalog.medium.inspect(path)
    return (*seen.extent, float(seen.thumbnail.mean()), float(seen.thumbnail.std()))


def _hear(catalog: Catalog, path: Path) -> tuple[float, float, float, float]:
    """The header, and the level in seconds spread over the recording: hours of it need not be read."""
    header = read_header(path)
    if not header.frames:
        return 0.0, header.rate, np.nan, np.nan
    starts = np.linspace(0, max(0.0, header.seconds - 1), MOMENTS)
    windows = [read_audio(path, start, start + 1) for start in starts.tolist()]
    power = [float(np.mean(np.nan_to_num(window) ** 2)) for window in windows if len(window)]
    level = 10 * np.log10(np.array(power) + 1e-12)
    return header.seconds, header.rate, float(np.median(level)), float(np.ptp(level))
