"""Counting: the score threshold at which counts are right, and how far they may be off.

The threshold that is best by a challenge's metric usually misses more objects than it invents. For counts, a model has
a second one, at which the held-out items have as many detections as objects. What is left are residuals: too many
detections in some items, too few in others. Their distribution gives prediction intervals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from tallymark.core.recipe import Recipe
from tallymark.core.stored import a_mapping, a_number, a_number_or_none, a_text
from tallymark.data.annotations import Annotations
from tallymark.detector.coders import CODERS
from tallymark.geometry import Geometry
from tallymark.inference.candidates import Candidates
from tallymark.inference.postprocess import apply_thresholds, fuse

COVERAGE = 0.95
"""Probability that the true count is in the interval."""
NORMAL = 1.96
"""Standard deviations to each side of a normal distribution that hold this probability."""
MIN_ITEMS = 5
"""Items that residuals need."""
MIN_GROUPS = 3
"""Groups that the variance between groups needs."""


@dataclass(frozen=True)
class CountCalibration:
    """How detections are counted, and how far counts were off in held-out items.

    score_threshold, class_thresholds: in place of those in the recipe.
    items, objects: what was held out. quantile: 95 % quantile of |residual| / sqrt(count + 1).
    dispersion: mean of residual² / (count + 1). groups: sources or sites that were held out; group_error: standard
        deviation of their relative errors beyond what single items explain, None where there are too few.
    """

    score_threshold: float
    class_thresholds: str
    items: int
    objects: int
    quantile: float
    dispersion: float
    groups: int = 0
    group_error: float | None = None

    @classmethod
    def of(cls, stated: Mapping[str, Any]) -> CountCalibration | None:
        """From the metadata of a model; None where it has none. A ValueError for values that it cannot have."""
        if not stated:
            return None
        given = a_mapping(stated, [one.name for one in fields(cls)], optional=("groups", "group_error"))
        a_text(given["class_thresholds"])
        a_number_or_none(given.get("group_error"), 0)
        for name in ("score_threshold", "items", "objects", "quantile", "dispersion"):
            a_number(given[name], 0)
        return cls(**given)

    @property
    def thresholds(self) -> dict[str, object]:
        """The fields of the recipe that counting changes."""
        return {"score_threshold": self.score_threshold, "class_thresholds": self.class_thresholds}

    def as_dict(self) -> dict[str, object]:
        return asdict(self)

    def interval(self, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper end of the 95 % prediction interval of each item's count."""
        margin = np.hypot(self.quantile * np.sqrt(counts + 1), NORMAL * (self.group_error or 0) * counts)
        return np.maximum(np.floor(counts - margin), 0).astype(np.int64), np.ceil(counts + margin).astype(np.int64)

    def total_interval(self, counts: np.ndarray) -> tuple[int, int]:
        """The same of the total: the errors of single items cancel in part, that of the group does not."""
        if len(counts) == 1:
            low, high = self.interval(counts)
            return int(low[0]), int(high[0])
        total = int(counts.sum())
        variance = self.dispersion * float((counts + 1).sum()) + ((self.group_error or 0) * total) ** 2
        margin = NORMAL * math.sqrt(variance)
        return max(math.floor(total - margin), 0), math.ceil(total + margin)


def calibrate_counts(candidates: Candidates, truth: Annotations[Geometry], recipe: Recipe) -> CountCalibration | None:
    """The calibration on held-out items; None where nothing is counted, or too little was held out."""
    coder = CODERS[recipe.task]
    readable = candidates.readable
    if coder.ranked or coder.one_dimensional or readable.sum() < MIN_ITEMS or not len(truth):
        return None
    fused = fuse(candidates, recipe)
    thresholds = _thresholds(fused, truth.filter(readable[truth.item]), recipe)
    if thresholds is None:
        return None
    counted = apply_thresholds(fused, recipe.replace(**thresholds)).counts[readable]
    actual = truth.counts[readable]
    residual = actual - counted
    normalized = np.abs(residual) / np.sqrt(counted + 1)
    group = truth.items.group
    names = np.zeros(len(counted), int) if group is None else group.to_numpy()[readable]
    groups = np.unique(names, return_inverse=True)[1]
    dispersion = float((normalized**2).mean())
    return CountCalibration(
        **thresholds,
        items=len(counted),
        objects=int(actual.sum()),
        quantile=round(_quantile(normalized), 4),
        dispersion=round(dispersion, 4),
        groups=int(groups.max()) + 1,
        group_error=_group_error(groups, counted, residual, dispersion),
    )


def _thresholds(fused: Candidates, truth: Annotations[Geometry], recipe: Recipe) -> dict[str, Any] | None:
    """The thresholds at which there are as many detections as objects: one for all, and one for each class."""
    objects = fused.objects
    possible = fused.presence[objects.item] >= recipe.image_threshold
    every = _threshold(objects.scores[possible], len(truth))
    if every is None:
        return None
    names = objects.classes if len(objects.classes) > 1 else ()
    own = {
        name: _threshold(objects.scores[possible & (objects.labels == label)], int((truth.labels == label).sum()))
        for label, name in enumerate(names)
    }
    listed = ", ".join(f"{name} {threshold:g}" for name, threshold in own.items() if threshold is not None)
    return {"score_threshold": every, "class_thresholds": listed}


def _threshold(scores: np.ndarray, count: int) -> float | None:
    """Between the lowest of the `count` highest scores and the next; None without any."""
    if not count or not len(scores):
        return None
    ordered = np.sort(scores)[::-1]
    if count >= len(ordered):
        return math.floor(float(ordered[-1]) * 1e4) / 1e4
    return min(round(float(ordered[count - 1] + ordered[count]) / 2, 4), 1.0)


def _quantile(normalized: np.ndarray) -> float:
    """The quantile of split conformal prediction; of few items, that of a normal distribution of their spread."""
    rank = math.ceil((len(normalized) + 1) * COVERAGE)
    if rank <= len(normalized):
        return float(np.sort(normalized)[rank - 1])
    return NORMAL * float(np.sqrt((normalized**2).mean()))


def _group_error(group: np.ndarray, counted: np.ndarray, residual: np.ndarray, dispersion: float) -> float | None:
    """Standard deviation of the groups' relative errors, without the variance that single items bring.

    Large groups count more: the error of a group with few objects is mostly that of its items.
    """
    total = np.bincount(group, counted)
    known = total > 0
    if known.sum() < MIN_GROUPS:
        return None
    weight = total[known]
    error = np.bincount(group, residual)[known] / weight
    by_items = dispersion * np.bincount(group, counted + 1)[known] / weight**2
    return round(math.sqrt(max(float(np.average(error**2 - by_items, weights=weight)), 0.0)), 4)
