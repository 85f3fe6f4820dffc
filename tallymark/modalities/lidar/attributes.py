"""Attributes of cuboids: their distance from the vehicle."""

from __future__ import annotations

import numpy as np

from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.geometry import Cuboids
from tallymark.modalities.attributes import Attribute

BANDS = (20.0, 40.0, 60.0)
"""Metres at which bands of distance end; the last band has no end."""


def distance(catalog: Catalog, rows: np.ndarray, annotations: Annotations[Cuboids]) -> np.ndarray:
    """Metres on the ground. Without a drive, cuboids are in the frame of the lidar, which is that of the vehicle."""
    x, y = annotations.shapes.x, annotations.shapes.y
    if catalog.drive is not None:
        samples = np.where(rows < 0, -1, catalog.drive.samples[rows])
        vehicle = np.where(samples < 0, np.nan, catalog.drive.vehicle.translation[samples, :2].T)
        x, y = x - vehicle[0, annotations.item], y - vehicle[1, annotations.item]
    return np.hypot(x, y)


ATTRIBUTES = (Attribute("distance", "metres from the vehicle", distance, BANDS),)
