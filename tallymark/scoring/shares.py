"""Shares of counts, such as precision and recall, as columns of a table."""

from __future__ import annotations

import numpy as np
import polars as pl


def share(part: np.ndarray, whole: np.ndarray) -> pl.Series:
    """part / whole, element by element; null where both are 0."""
    with np.errstate(invalid="ignore"):
        return pl.Series(part / whole, dtype=pl.Float64, nan_to_null=True)
