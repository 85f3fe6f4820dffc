"""Attributes of objects by which hits and misses are counted: size, distance, signal-to-noise ratio.

Each modality lists its own as `ATTRIBUTES` in its module `attributes`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tallymark.core.humanize import number
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog

Measure = Callable[[Catalog, np.ndarray, Annotations[Any]], np.ndarray]
"""A number for each object, nan where it is unknown, given the catalog and the row of each item in it (-1: none)."""


@dataclass(frozen=True)
class Attribute:
    """A number that objects have.

    edges: where bands begin and end; by default at the terciles of the truth.
    truth_only: whether it is not worth measuring of predictions.
    """

    title: str
    unit: str
    measure: Measure
    edges: tuple[float, ...] | None = None
    truth_only: bool = False

    def bands(self, values: np.ndarray) -> tuple[np.ndarray, list[str]]:
        """The inner edges of bands, and their names, for the values of the truth."""
        known = values[np.isfinite(values)]
        edges = np.array(self.edges) if self.edges is not None else np.unique(np.quantile(known, [1 / 3, 2 / 3]))
        shown = [number(float(edge)) for edge in edges]
        inner = [f"{low} to {high}" for low, high in pairwise(shown)]
        return edges, [f"below {shown[0]}", *inner, f"{shown[-1]} and more"]


def attributes_of(catalog: Catalog) -> tuple[Attribute, ...]:
    """The attributes of a catalog's medium."""
    module = importlib.import_module(f"tallymark.modalities.{catalog.medium.modality}.attributes")
    found: tuple[Attribute, ...] = module.ATTRIBUTES
    return found
