"""Tuning of an ensemble by the official rule, cross-validated, so that the gain that is reported can be expected again.

Settings that are tuned and scored on the same items look better than they are. So each part of the items is predicted
with the settings that are best on the others. Parts are the folds of a training, or else two halves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from tallymark.data.annotations import Annotations, concat_items
from tallymark.data.items import Items
from tallymark.geometry import Geometry
from tallymark.inference.ensemble import Ensemble, FusionSettings
from tallymark.inference.tuning import Rule, smooth
from tallymark.scoring.score import Score

IOUS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
SECONDS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
THRESHOLDS = tuple(k / 50 for k in range(1, 49))
COARSE_THRESHOLDS = THRESHOLDS[2::4]
FACTORS = (0.0, 0.5, 2.0)
"""What the weight of one model is multiplied by, while those of the others stay."""
ROUNDS = 2
"""How often all weights are gone through."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """settings: the best on all items. score: cross-validated, of the predictions of all parts together."""

    settings: FusionSettings
    score: Score


def cross_validate(
    ensemble: Ensemble,
    truth: Annotations[Geometry],
    rule: Rule,
    given: Mapping[str, Any],
    part: np.ndarray,
) -> Outcome:
    """Tune an ensemble, and score each part of the items with settings of the others.

    truth: of the items of the ensemble. given: settings that are not tuned. part: (n,) the number of each item's part.
    """
    best = tune_ensemble(ensemble, truth, rule, given)
    ids = ensemble.items.ids
    predictions = []
    for number in np.unique(part):
        inside, outside = (Items(ids.filter(pl.Series(rows))) for rows in (part == number, part != number))
        settings = tune_ensemble(ensemble.reindex(outside), truth.reindex(outside), rule, given)
        predictions.append(ensemble.reindex(inside).predict(settings))
    return Outcome(best, rule(truth, concat_items(predictions).reindex(truth.items)))


def halves(items: Items, group: pl.Series, seed: int) -> np.ndarray:
    """(n,) the half of each item, 0 or 1; groups are assigned in random order, each to the smaller half."""
    names, member = np.unique(group.to_numpy().astype(str), return_inverse=True)
    if len(names) < 2:
        names, member = np.arange(len(items)), np.arange(len(items))
    sizes = np.bincount(member, minlength=len(names))
    order = np.random.default_rng(seed).permutation(len(names))
    order = order[np.argsort(-sizes[order], kind="stable")]
    half, filled = np.zeros(len(names), np.int64), [0, 0]
    for name in order.tolist():
        half[name] = int(filled[1] < filled[0])
        filled[half[name]] += sizes[name]
    return half[member]


def tune_ensemble(
    ensemble: Ensemble, truth: Annotations[Geometry], rule: Rule, given: Mapping[str, Any]
) -> FusionSettings:
    """The settings that score best: method and overlap first, then calibration, weights, and the score threshold."""
    search = _Search(ensemble, truth, rule, given.get("score_threshold"))
    settings = default_settings(ensemble, **given)
    count = len(ensemble.members)
    if count > 1:
        methods = (settings.method,) if "method" in given else ensemble.methods
        tried = [one for method in methods for one in _reaches(ensemble, replace(settings, method=method), given)]
        settings = search.best([settings, *tried])
    if "calibration" not in given:
        settings = search.best([settings, *(replace(settings, calibration=one) for one in ensemble.calibrations)])
    if "weights" not in given and count > 1:
        for member in [*range(count)] * ROUNDS:
            settings = search.best([settings, *_reweighted(settings, member)])
    return search.finish(settings)


def _reaches(ensemble: Ensemble, settings: FusionSettings, given: Mapping[str, Any]) -> list[FusionSettings]:
    """The settings with every overlap, or distance in time, up to which detections may be of one object."""
    shapes = ensemble.objects.shapes
    if shapes.overlaps and "iou" not in given:
        return [replace(settings, iou=iou) for iou in IOUS]
    if shapes.localized and not shapes.overlaps and "seconds" not in given:
        return [replace(settings, seconds=seconds) for seconds in SECONDS]
    return [settings]


def default_settings(ensemble: Ensemble, **given: Any) -> FusionSettings:
    """The settings of an ensemble that has not been tuned, with those that are given.

    A detection needs half of the score, or of the votes, that a model of its own would need.
    """
    method = given.get("method", ensemble.methods[0])
    calibration = given.get("calibration", ensemble.calibrations[0])
    threshold = 0.25 if calibration == "threshold" else 0.5 if not ensemble.scored else 0.0
    if method != "wbf":
        threshold = 0.5 if calibration == "threshold" else 0.0
    start = FusionSettings(method, (1.0,) * len(ensemble.members), calibration=calibration, score_threshold=threshold)
    return replace(start, **given)


def _reweighted(settings: FusionSettings, member: int) -> list[FusionSettings]:
    """The settings with other weights of one member; not all are left out."""
    own = settings.weights[member] or 1.0
    changed = [
        (*settings.weights[:member], own * factor, *settings.weights[member + 1 :]) for factor in (*FACTORS, 1.0)
    ]
    return [replace(settings, weights=weights) for weights in changed if any(weights) and max(weights) <= 8]


class _Search:
    """Scores of an ensemble under several settings, each at its best score threshold."""

    def __init__(self, ensemble: Ensemble, truth: Annotations[Geometry], rule: Rule, threshold: float | None) -> None:
        self.ensemble = ensemble
        self.truth = truth
        self.rule = rule
        self.threshold = threshold
        self.known: dict[FusionSettings, tuple[float, float]] = {}

    def best(self, several: Sequence[FusionSettings]) -> FusionSettings:
        """The one with the best score; of equal ones the first."""
        values = np.array([self._value(settings, COARSE_THRESHOLDS)[0] for settings in several])
        return several[int(np.argmax(np.nan_to_num(values, nan=-np.inf)))]

    def finish(self, settings: FusionSettings) -> FusionSettings:
        """The settings with their best threshold."""
        if not self.ensemble.objects.shapes.localized or self.threshold is not None:
            return settings
        return replace(settings, score_threshold=self._value(settings, THRESHOLDS)[1])

    def _value(self, settings: FusionSettings, thresholds: Sequence[float]) -> tuple[float, float]:
        """The score at the best threshold, higher is better, and that threshold."""
        if not self.ensemble.objects.shapes.localized:
            thresholds = (settings.score_threshold,)
        elif self.threshold is not None:
            thresholds = (self.threshold,)
        key = replace(settings, score_threshold=float(len(thresholds)))
        if key not in self.known:
            values = smooth(self._at_thresholds(settings, thresholds))
            best = int(np.argmax(np.nan_to_num(values, nan=-np.inf)))
            self.known[key] = float(values[best]), thresholds[best]
        return self.known[key]

    def _at_thresholds(self, settings: FusionSettings, thresholds: Sequence[float]) -> np.ndarray:
        """The score at each threshold, higher is better; thresholds that leave the same objects share it."""
        fused = self.ensemble.fuse(settings)
        left = [int((fused.scores >= threshold).sum()) for threshold in thresholds]
        values: dict[int, float] = {}
        for count, threshold in zip(left, thresholds, strict=True):
            if count not in values:
                predicted = self.ensemble.predict(replace(settings, score_threshold=threshold), fused)
                score = self.rule(self.truth, predicted)
                values[count] = score.tuned_by if score.better == "higher" else -score.tuned_by
        return np.array([values[count] for count in left])
