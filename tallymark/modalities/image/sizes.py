"""Sizes of the images of a catalog, read from their headers."""

from __future__ import annotations

import numpy as np

from tallymark.core.parallel import in_threads
from tallymark.data.catalog import Catalog
from tallymark.io.images import image_size
from tallymark.io.media import BadMedia

NO_SIZE = (np.nan, np.nan)


def read_sizes(catalog: Catalog, failed: dict[int, BadMedia] | None = None) -> np.ndarray:
    """(n, 2) width and height in pixels; nan where an image is missing or damaged, which inference will report.

    failed: gets the images that the system fails to read, even when they are tried again after all others.
    """

    def read(item: int) -> tuple[float, float] | BadMedia:
        path = catalog.path(item)
        try:
            return NO_SIZE if path is None else image_size(path)
        except BadMedia as bad:
            return bad if bad.transient else NO_SIZE

    sizes = in_threads(read, range(len(catalog)), "measuring")
    for item, size in enumerate(sizes):
        sizes[item] = read(item) if isinstance(size, BadMedia) else size
        if isinstance(bad := sizes[item], BadMedia) and failed is not None:
            failed[item] = bad
    return np.array([NO_SIZE if isinstance(size, BadMedia) else size for size in sizes], float).reshape(-1, 2)
