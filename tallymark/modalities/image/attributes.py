"""Attributes of objects in images: their size."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.modalities.attributes import Attribute


def _size(catalog: Catalog, rows: np.ndarray, annotations: Annotations[Any]) -> np.ndarray:
    """The square root of the area, in pixels; nothing for labels of whole images."""
    if not annotations.shapes.localized:
        return np.full(len(annotations), np.nan)
    return np.sqrt(annotations.shapes.area.astype(float))


ATTRIBUTES = (Attribute("size", "px, square root of the area", _size),)
