"""Count regression: how well the number of predictions in an item agrees with the true or hand-counted number."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CountRegression:
    """Predicted counts against true ones.

    items: how many are compared. bias: mean of predicted - true. mae, rmse: mean absolute and root mean squared error.
    r2: coefficient of determination, 1 - squared errors / squared deviations from the mean true count: 1 is perfect,
        0 as good as always predicting the mean, and it can be negative.
    slope, intercept: of the least-squares line predicted = slope * true + intercept.
    What cannot be computed, because all true counts are equal, is nan.
    """

    items: int
    bias: float
    mae: float
    rmse: float
    r2: float
    slope: float
    intercept: float


def regress_counts(actual: np.ndarray, predicted: np.ndarray) -> CountRegression | None:
    """The agreement of two counts of each item; items where either is nan are left out. None if none is left."""
    known = ~(np.isnan(actual) | np.isnan(predicted))
    actual, predicted = actual[known].astype(float), predicted[known].astype(float)
    if not len(actual):
        return None
    error, deviation = predicted - actual, actual - actual.mean()
    spread = float(deviation @ deviation)
    slope = float(deviation @ predicted) / spread if spread else math.nan
    return CountRegression(
        items=len(actual),
        bias=float(error.mean()),
        mae=float(np.abs(error).mean()),
        rmse=math.sqrt(float((error**2).mean())),
        r2=1 - float(error @ error) / spread if spread else math.nan,
        slope=slope,
        intercept=float(predicted.mean()) - slope * float(actual.mean()),
    )
