"""Ensembles: the predictions of several models, or of several submissions, fused into one.

Where several detections are of one object, weighted boxes fusion (Solovyev, Wang and Gabruseva 2019) averages them, and
its score says how many models agree: a model that does not see the object counts as a score of 0. `inference/nms.py`
fuses the detections of one model, of which that would be wrong. Labels of whole items have their probabilities
averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Clusters
from tallymark.inference.nms import find_clusters, fuse_overlapping

Method = Literal["wbf", "nms", "soft_nms", "mean", "geometric", "votes"]
Calibration = Literal["none", "threshold", "rank"]
OVERLAPPING: tuple[Method, ...] = ("wbf", "nms", "soft_nms")
TIMED: tuple[Method, ...] = ("wbf", "nms")
PROBABLE: tuple[Method, ...] = ("mean", "geometric", "votes")
RANKED: tuple[Method, ...] = ("votes",)
LEAST = 1e-6
"""Probabilities below this count as this in a geometric mean, or one model could exclude a class alone."""


@dataclass(frozen=True)
class FusionSettings:
    """How predictions are fused.

    method: `wbf`, `nms` or `soft_nms`; of events, `wbf` clusters in time. Of labels, `mean` or `geometric` mean of the
        probabilities, or `votes` by rank.
    weights: of the models. A model with weight 0 is left out.
    iou: above which detections are of one object. seconds: up to which events are.
    calibration: `threshold` moves the scores of each model, and of each class, so that its own score threshold is 0.5;
        `rank` replaces them by those that the first model has for as many detections; `none` leaves them.
    score_threshold: of the fused score.
    """

    method: Method
    weights: tuple[float, ...]
    iou: float = 0.5
    seconds: float = 1.0
    calibration: Calibration = "none"
    score_threshold: float = 0.0


@dataclass(frozen=True, eq=False)
class Member:
    """The predictions of one model. objects: with a score each, in any geometry, under the items of the ensemble.

    thresholds: the score threshold of each class, where the model has been tuned; else None.
    """

    name: str
    objects: Annotations[Any]
    thresholds: np.ndarray | None = None

    def reindex(self, items: Items) -> Member:
        return replace(self, objects=self.objects.reindex(items))


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Several members with one geometry, one list of items and one of classes.

    to_submission: fused objects as predictions in the geometry of the challenge.
    scored: whether members have scores; without, votes are counted.
    """

    members: tuple[Member, ...]
    to_submission: Callable[[Annotations[Any]], Annotations[Any]]
    scored: bool = True

    @property
    def objects(self) -> Annotations[Any]:
        return self.members[0].objects

    @property
    def items(self) -> Items:
        return self.objects.items

    @property
    def methods(self) -> tuple[Method, ...]:
        """The methods that its geometry allows, the best known first."""
        shapes = self.objects.shapes
        if not shapes.localized:
            return PROBABLE if self.scored else RANKED
        return OVERLAPPING if shapes.overlaps else TIMED

    @property
    def calibrations(self) -> tuple[Calibration, ...]:
        """The calibrations that its scores allow."""
        if not self.scored or not self.objects.shapes.localized:
            return ("none",)
        tuned = all(member.thresholds is not None for member in self.members)
        return ("threshold", "none", "rank") if tuned else ("none", "rank")

    def reindex(self, items: Items) -> Ensemble:
        return replace(self, members=tuple(member.reindex(items) for member in self.members))

    def only(self, member: int) -> Ensemble:
        """One of its members alone."""
        return replace(self, members=self.members[member : member + 1])

    def fuse(self, settings: FusionSettings) -> Annotations[Any]:
        """The fused objects with their scores, before the score threshold."""
        if not self.objects.shapes.localized:
            return _fuse_labels(self.members, settings)
        return _fuse_detections(self.members, settings)

    def predict(self, settings: FusionSettings, fused: Annotations[Any] | None = None) -> Annotations[Any]:
        """The predictions under some settings. fused: objects that were fused under the same settings before."""
        fused = self.fuse(settings) if fused is None else fused
        if self.objects.shapes.localized:
            fused = fused.filter(fused.scores >= settings.score_threshold)
        return self.to_submission(fused)


def calibrated_scores(members: Sequence[Member], calibration: Calibration) -> list[np.ndarray]:
    """The scores of each member on a common scale; the order within a member and class stays."""
    if calibration == "none":
        return [member.objects.scores for member in members]
    if calibration == "threshold":
        return [_around_threshold(member) for member in members]
    reference = -np.sort(-members[0].objects.scores)
    return [_by_rank(member.objects.scores, reference) for member in members]


def _around_threshold(member: Member) -> np.ndarray:
    """Scores with 0.5 in place of the threshold of their class, linear below and above."""
    if member.thresholds is None:
        raise ValueError(f"{member.name} has no score threshold")
    threshold = np.clip(member.thresholds, 0.01, 0.99)[member.objects.labels]
    score = member.objects.scores
    below, above = score / threshold, (score - threshold) / (1 - threshold)
    return np.where(score < threshold, below, 1 + above) / 2


def _by_rank(score: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """The reference score at the rank of each score; 0 below the last. Equal scores stay equal."""
    if not len(score) or not len(reference):
        return score
    ranked = np.sort(score)
    rank = len(score) - (np.searchsorted(ranked, score, "left") + np.searchsorted(ranked, score, "right")) / 2
    return np.interp(rank, np.arange(len(reference)) + 0.5, reference, right=0.0)


def _fuse_detections(members: Sequence[Member], settings: FusionSettings) -> Annotations[Any]:
    """Detections of all members, fused within each item and class."""
    scores = calibrated_scores(members, settings.calibration)
    used = [at for at, weight in enumerate(settings.weights) if weight > 0]
    weights = np.array([settings.weights[at] for at in used])
    parts = [members[at].objects for at in used]
    shapes = parts[0].shapes
    for part in parts[1:]:
        shapes = shapes.concat(part.shapes)
    item = np.concatenate([part.item for part in parts])
    order = np.argsort(item, kind="stable")
    model = np.repeat(np.arange(len(parts)), [len(part) for part in parts])[order]
    pooled = Annotations.from_rows(
        parts[0].items,
        item[order],
        shapes.take(order),
        label=np.concatenate([part.labels for part in parts])[order],
        score=np.concatenate([scores[at] for at in used])[order] * (weights / weights.max())[model],
        classes=parts[0].classes,
    )
    if settings.method != "wbf" and pooled.shapes.overlaps:
        return fuse_overlapping(pooled, "nms" if settings.method == "nms" else "soft_nms", settings.iou)
    clusters = _clusters(pooled, settings)
    if settings.method == "nms":
        return _of_clusters(pooled, clusters, pooled.shapes.take(clusters.leader), pooled.scores[clusters.leader])
    score = _agreement(clusters, model, pooled.scores, len(parts)) * weights.max() / weights.sum()
    return _of_clusters(pooled, clusters, pooled.shapes.fuse(clusters), score)


def _clusters(pooled: Annotations[Any], settings: FusionSettings) -> Clusters:
    """Which detections are of one object."""
    group = pooled.item * (pooled.labels.max(initial=0) + 1) + pooled.labels
    if pooled.shapes.overlaps:
        return find_clusters(
            pooled.shapes.pairs(pooled.shapes, group, group, settings.iou), pooled.scores, settings.iou
        )
    return find_clusters(pooled.shapes.close(group, settings.seconds), pooled.scores, 0.0)


def _agreement(clusters: Clusters, model: np.ndarray, score: np.ndarray, models: int) -> np.ndarray:
    """The sum over all models of the best score that each has in a cluster: each model votes once."""
    votes = np.zeros((len(clusters.leader), models))
    np.maximum.at(votes, (clusters.cluster, model), score)
    total: np.ndarray = votes.sum(axis=1)
    return total


def _of_clusters(pooled: Annotations[Any], clusters: Clusters, shapes: Any, score: np.ndarray) -> Annotations[Any]:
    """A detection for each cluster, by item and then by score."""
    item, label = pooled.item[clusters.leader], pooled.labels[clusters.leader]
    order = np.lexsort([-score, item])
    return Annotations.from_rows(
        pooled.items, item[order], shapes.take(order), label=label[order], score=score[order], classes=pooled.classes
    )


def _fuse_labels(members: Sequence[Member], settings: FusionSettings) -> Annotations[Any]:
    """Every label that any member names, with its mean probability, or its share of the votes; the best first."""
    used = [at for at, weight in enumerate(settings.weights) if weight > 0]
    weights = np.array([settings.weights[at] for at in used]) / sum(settings.weights)
    parts = [members[at].objects for at in used]
    classes = 1 + max(int(part.shapes.label.max(initial=0)) for part in parts)
    total = np.zeros((len(parts[0].items), classes))
    named = np.zeros(total.shape, bool)
    for part, weight in zip(parts, weights.tolist(), strict=True):
        vote = _vote(part, settings.method)
        np.add.at(total, (part.item, part.shapes.label), weight * vote)
        named[part.item, part.shapes.label] = True
    score = np.exp(total) if settings.method == "geometric" else total
    item, label = np.nonzero(named)
    order = np.lexsort([label, -score[item, label], item])
    item, label = item[order], label[order]
    shapes = type(parts[0].shapes)(label)
    return Annotations.from_rows(
        parts[0].items, item, shapes, label=label, score=score[item, label], classes=parts[0].classes
    )


def _vote(part: Annotations[Any], method: Method) -> np.ndarray:
    """What each label of a member counts: its probability, its logarithm, or 1 / rank; a repeated one only once."""
    if method == "mean":
        return part.scores
    if method == "geometric":
        return np.log(np.maximum(part.scores, LEAST))
    order = np.lexsort([-part.scores, part.item])
    rank = np.empty(len(part), np.int64)
    rank[order] = np.arange(len(part)) - part.offsets[part.item] + 1
    label = part.shapes.label[order]
    key = part.item[order] * (int(label.max(initial=0)) + 1) + label
    first = order[np.unique(key, return_index=True)[1]]
    vote = np.zeros(len(part))
    vote[first] = 1 / rank[first]
    return vote
