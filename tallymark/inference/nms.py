"""Non-maximum suppression of overlapping detections, its soft variant, and weighted boxes fusion; all items at once."""

from __future__ import annotations

from typing import Literal, TypeVar, get_args

import numpy as np

from tallymark.data.annotations import Annotations
from tallymark.geometry import Clusters, Pairs, Spatial

Method = Literal["nms", "soft_nms", "wbf"]
S = TypeVar("S", bound=Spatial)
SCALE_IOU = 0.4
"""IoU above which detections at several sizes of an image are of one object."""


def fuse_overlapping(detections: Annotations[S], method: Method, iou_threshold: float) -> Annotations[S]:
    """One detection where several of one item and class overlap; ordered by item, then by descending score.

    Parameters
    ----------
    method: `nms` drops a detection whose IoU with a kept one of higher score is above the threshold.
        `soft_nms` (Bodla et al.: Soft-NMS, 2017) drops none: the score of each is multiplied by a Gaussian of its
        IoU with every detection of higher score, which is one half at the threshold.
        `wbf` (after Solovyev et al.: Weighted boxes fusion, 2019) takes the score-weighted mean of those of which `nms`
        would keep one. They cluster around the detection with the highest score as it was predicted, not around the
        running mean, and the result keeps its score: TTA and ensembles are averaged before, so that the other
        detections are no independent votes.
    iou_threshold: from 0 to 1.

    Detections of equal score count in the order in which they are given.
    """
    if method not in get_args(Method):
        raise ValueError(f"method {method!r} is none of {', '.join(get_args(Method))}")
    if not 0 <= iou_threshold <= 1:
        raise ValueError(f"an IoU threshold of {iou_threshold} is not between 0 and 1")
    shapes = detections.shapes
    if not shapes.overlaps:
        raise ValueError(f"{type(shapes).__name__} do not overlap")
    group = _groups(detections)
    pairs = shapes.pairs(shapes, group, group, 0.0 if method == "soft_nms" else iou_threshold)
    if method == "soft_nms":
        scores = _decay_scores(pairs, detections.scores, iou_threshold)
        return _sort_by_score(detections, np.arange(len(detections)), shapes, scores)
    clusters = find_clusters(pairs, detections.scores, iou_threshold)
    fused = shapes.take(clusters.leader) if method == "nms" else shapes.fuse(clusters)
    return _sort_by_score(detections, clusters.leader, fused, detections.score)


def fuse_scales(detections: Annotations[S], scale: np.ndarray, scales: np.ndarray) -> Annotations[S]:
    """Weighted boxes fusion of what was detected in each item at several scales; ordered as by `fuse_overlapping`.

    scale: (n,) at which one each was detected, from 0. scales: (items,) how many each item was shown at. The score of
    an object is the mean of its highest one at each scale, where one at which it was not detected counts as 0:
    agreement is evidence, and thresholds keep their meaning.
    """
    group = _groups(detections)
    pairs = detections.shapes.pairs(detections.shapes, group, group, SCALE_IOU)
    clusters = find_clusters(pairs, detections.scores, SCALE_IOU)
    highest = np.zeros((len(clusters.leader), scales.max(initial=1)))
    np.maximum.at(highest, (clusters.cluster, scale), detections.scores)
    score = np.zeros(len(detections))
    score[clusters.leader] = highest.sum(1) / scales[detections.item[clusters.leader]]
    return _sort_by_score(detections, clusters.leader, detections.shapes.fuse(clusters), score)


def find_clusters(pairs: Pairs, score: np.ndarray, iou_threshold: float) -> Clusters:
    """Detections around those that greedy NMS keeps, each with the kept one of higher score that it overlaps most.

    pairs: of neighbouring detections, in both orders. Shares in a cluster are proportional to the scores.
    """
    rank = np.empty(len(score), np.int64)
    rank[np.argsort(-score, kind="stable")] = np.arange(len(score))
    chosen = (rank[pairs.first] < rank[pairs.second]) & (pairs.iou > iou_threshold)
    higher, lower, iou = pairs.first[chosen], pairs.second[chosen], pairs.iou[chosen]
    is_kept = _suppress(higher, lower, len(score))
    kept = np.flatnonzero(is_kept)
    leader = _assign_leaders(higher, lower, iou, rank, is_kept)
    return Clusters.of(np.searchsorted(kept, leader), kept, score)


def _groups(detections: Annotations[S]) -> np.ndarray:
    """A number for each item and class: only detections of the same one are fused."""
    group: np.ndarray = detections.item * (detections.labels.max(initial=0) + 1) + detections.labels
    return group


def _sort_by_score(detections: Annotations[S], kept: np.ndarray, shapes: S, score: np.ndarray | None) -> Annotations[S]:
    """The detections `kept`, with these shapes, by item and then by score; `score` is that of all detections."""
    item = detections.item[kept]
    order = np.lexsort([-(detections.scores if score is None else score)[kept], item])

    def select(column: np.ndarray | None) -> np.ndarray | None:
        return None if column is None else column[kept[order]]

    return Annotations.from_rows(
        detections.items,
        item[order],
        shapes.take(order),
        label=select(detections.label),
        score=select(score),
        classes=detections.classes,
        line=select(detections.line),
        number=select(detections.number),
    )


def _suppress(higher: np.ndarray, lower: np.ndarray, count: int) -> np.ndarray:
    """Which of `count` detections greedy NMS keeps, given the pairs above the threshold: (higher, lower) in score.

    In every round, those without a remaining detection of higher score in their way are kept, and those that overlap
    them are dropped. The result is that of the sequential algorithm, in a few vectorized rounds.
    """
    kept = np.ones(count, bool)
    while len(higher):
        contested = np.zeros(count, bool)
        contested[lower] = True
        kept[lower[~contested[higher]]] = False
        undecided = kept[higher] & kept[lower]
        higher, lower = higher[undecided], lower[undecided]
    return kept


def _assign_leaders(
    higher: np.ndarray, lower: np.ndarray, iou: np.ndarray, rank: np.ndarray, is_kept: np.ndarray
) -> np.ndarray:
    """For each detection the kept one of higher score with the largest IoU; the highest score breaks ties."""
    leader = np.arange(len(is_kept))
    edges = np.flatnonzero(is_kept[higher] & ~is_kept[lower])
    edges = edges[np.lexsort([-rank[higher[edges]], iou[edges]])]
    leader[lower[edges]] = higher[edges]  # the last of several assignments remains
    return leader


def _decay_scores(pairs: Pairs, score: np.ndarray, iou_threshold: float) -> np.ndarray:
    """The scores, each times 2 ** -(iou / iou_threshold) ** 2 for every neighbour of higher score.

    Soft-NMS goes through the detections by descending current score. One that is above all its neighbours keeps its
    score: theirs can only fall, so that it would come before them in any case. All such detections share a round.
    """
    distinct = np.flatnonzero(pairs.first != pairs.second)
    first, second = pairs.first[distinct], pairs.second[distinct]
    with np.errstate(divide="ignore", over="ignore"):
        factor = np.exp2(-((pairs.iou[distinct] / iou_threshold) ** 2))
    score = score.astype(float)
    while len(first):
        ahead = (score[first] > score[second]) | ((score[first] == score[second]) & (first < second))
        behind = np.zeros(len(score), bool)
        behind[second[ahead]] = True
        np.multiply.at(score, second[~behind[first]], factor[~behind[first]])
        undecided = behind[first] & behind[second]
        first, second, factor = first[undecided], second[undecided], factor[undecided]
    return score
