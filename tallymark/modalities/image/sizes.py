"""Sizes of the images of a catalog, read from their headers."""

from __future__ import annotations

import numpy as np

from tallymark.core.parallel import in_threads
from tallymark.data.catalog import Catalog
from tallymark.io.images import image_size
from tallymark.io.media import BadMedia


def read_sizes(catalog: Catalog) -> np.ndarray:
    """(n, 2) width and height in pixels; nan where an image is missing or damaged, which inference will report."""

    def read(item: int) -> tuple[float, float]:
        path = catalog.path(item)
        try:
            return (np.nan, np.nan) if path is None else image_size(path)
        except BadMedia:
            return np.nan, np.nan

    return np.array(in_threads(read, range(len(catalog)), "measuring"), float).reshape(-1, 2)
