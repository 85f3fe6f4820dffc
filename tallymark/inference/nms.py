"""Several findings of one thing become one: suppressed, made less sure, or fused. All items at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tallymark.data.annotations import Annotations
from tallymark.geometry import Boxes, Cuboids, Masks, Pairs, RotatedBoxes

Method = Literal["nms", "soft_nms", "wbf"]


def fuse_overlapping(found: Annotations[Any], method: Method, overlap: float) -> Annotations[Any]:
    """Findings of one item and class that overlap, merged; ordered by item, the surest first.

    Parameters
    ----------
    method: `nms` drops a finding whose IoU with a surer one that stays is above `overlap`.
        `soft` (Bodla et al.: Soft-NMS, 2017) drops none: each loses confidence for every surer one it overlaps,
        half of it at an IoU of `overlap`, by a Gaussian.
        `wbf` (after Solovyev et al.: Weighted boxes fusion, 2019) takes the mean of those that `nms` would leave
        one of, weighed by confidence. They gather around the surest one as it was found, not around the mean so far,
        and it lends them its confidence: views and models have been averaged before, so that the others are no
        second opinions.

    Equally sure findings count in the order that they are in.
    """
    if method not in ("nms", "soft_nms", "wbf"):
        raise ValueError(f"method {method!r} is none of nms, soft, wbf")
    if not 0 <= overlap <= 1:
        raise ValueError(f"overlap {overlap} is not a share")
    shapes = found.shapes
    if type(shapes) not in FUSED:
        raise ValueError(f"{type(shapes).__name__} do not overlap")
    group = found.item * (found.labels.max(initial=0) + 1) + found.labels
    pairs = shapes.pairs(shapes, group, group, 0.0 if method == "soft_nms" else overlap)
    turn = np.empty(len(found), np.int64)
    turn[np.argsort(-found.scores, kind="stable")] = np.arange(len(found))
    if method == "soft_nms":
        return _ordered(found, np.arange(len(found)), shapes, _weaken(pairs, found.scores, overlap))
    chosen = (turn[pairs.first] < turn[pairs.second]) & (pairs.iou > overlap)
    surer, other, iou = pairs.first[chosen], pairs.second[chosen], pairs.iou[chosen]
    stays = _suppress(surer, other, len(found))
    kept = np.flatnonzero(stays)
    if method == "nms":
        return _ordered(found, kept, shapes.take(kept), found.score)
    leader = _join(surer, other, iou, turn, stays)
    clusters = _Clusters.of(np.searchsorted(kept, leader), kept, found.scores)
    return _ordered(found, kept, FUSED[type(shapes)](shapes, clusters), found.score)


def _ordered(found: Annotations[Any], kept: np.ndarray, shapes: Any, score: np.ndarray | None) -> Annotations[Any]:
    """The findings `kept`, with these shapes, by item and then by score; `score` is that of all findings."""
    item = found.item[kept]
    order = np.lexsort([-(found.scores if score is None else score)[kept], item])

    def at(column: np.ndarray | None) -> np.ndarray | None:
        return None if column is None else column[kept[order]]

    return Annotations.from_rows(
        found.items,
        item[order],
        shapes.take(order),
        label=at(found.label),
        score=at(score),
        classes=found.classes,
        line=at(found.line),
        number=at(found.number),
    )


def _suppress(surer: np.ndarray, other: np.ndarray, count: int) -> np.ndarray:
    """Which findings stay, given the pairs that are too close.

    In every round, those that nobody surer threatens any more are certain to stay, and what is too close to them
    goes. That decides as going through them one by one does, in a few rounds.
    """
    stays = np.ones(count, bool)
    while len(surer):
        threatened = np.zeros(count, bool)
        threatened[other] = True
        stays[other[~threatened[surer]]] = False
        left = stays[surer] & stays[other]
        surer, other = surer[left], other[left]
    return stays


def _join(surer: np.ndarray, other: np.ndarray, iou: np.ndarray, turn: np.ndarray, stays: np.ndarray) -> np.ndarray:
    """For each finding the one that stays for it: of those surer, the closest, and of equally close the surest."""
    leader = np.arange(len(stays))
    edges = np.flatnonzero(stays[surer] & ~stays[other])
    edges = edges[np.lexsort([-turn[surer[edges]], iou[edges]])]
    leader[other[edges]] = surer[edges]  # of several, the last is what remains
    return leader


def _weaken(pairs: Pairs, score: np.ndarray, overlap: float) -> np.ndarray:
    """The scores, each times 2 ** -(iou / overlap) ** 2 for every surer neighbour, the surest first.

    A finding that is surer than all its neighbours keeps its score: theirs can only fall, so that it would come
    before them in any case. So all such findings have their turn in the same round.
    """
    apart = np.flatnonzero(pairs.first != pairs.second)
    one, other = pairs.first[apart], pairs.second[apart]
    with np.errstate(divide="ignore", over="ignore"):
        factor = np.exp2(-((pairs.iou[apart] / overlap) ** 2))
    score = score.astype(float)
    while len(one):
        ahead = (score[one] > score[other]) | ((score[one] == score[other]) & (one < other))
        behind = np.zeros(len(score), bool)
        behind[other[ahead]] = True
        np.multiply.at(score, other[~behind[one]], factor[~behind[one]])
        left = behind[one] & behind[other]
        one, other, factor = one[left], other[left], factor[left]
    return score


@dataclass(frozen=True, eq=False)
class _Clusters:
    """Which cluster each finding is in, the surest of each cluster, and the share of each finding in the mean."""

    cluster: np.ndarray
    leader: np.ndarray
    share: np.ndarray

    @classmethod
    def of(cls, cluster: np.ndarray, leader: np.ndarray, score: np.ndarray) -> _Clusters:
        """Shares by score; alike where all scores of a cluster are 0."""
        weight = np.maximum(score, 0)
        weight = np.where(np.bincount(cluster, weight)[cluster] > 0, weight, 1) if len(cluster) else weight
        return cls(cluster, leader, weight / np.bincount(cluster, weight)[cluster] if len(cluster) else weight)

    def mean(self, values: np.ndarray) -> np.ndarray:
        """The weighted mean of each cluster."""
        return np.bincount(self.cluster, values * self.share, minlength=len(self.leader))

    def from_leader(self, values: np.ndarray) -> np.ndarray:
        """How far each finding's value is from that of its leader."""
        return values - values[self.leader[self.cluster]]


def _fuse_boxes(boxes: Boxes, clusters: _Clusters) -> Boxes:
    """The mean of the corners, which is that of corner and sides."""
    return Boxes(*map(clusters.mean, boxes.columns))


def _fuse_rotated(boxes: RotatedBoxes, clusters: _Clusters) -> RotatedBoxes:
    """The mean of centre, sides and direction; a rectangle that lies across the leader has its sides swapped.

    Directions half a turn apart are one and the same, so the mean is that of unit vectors at twice the angle.
    """
    turned = clusters.from_leader(boxes.angle)
    quarters = np.round(turned / (np.pi / 2))
    turned, across = turned - quarters * np.pi / 2, quarters % 2 == 1
    length, width = np.where(across, (boxes.width, boxes.length), (boxes.length, boxes.width))
    turn = np.arctan2(clusters.mean(np.sin(2 * turned)), clusters.mean(np.cos(2 * turned))) / 2
    centre = clusters.mean(boxes.x), clusters.mean(boxes.y)
    return RotatedBoxes(*centre, clusters.mean(length), clusters.mean(width), boxes.angle[clusters.leader] + turn)


def _fuse_cuboids(volumes: Cuboids, clusters: _Clusters) -> Cuboids:
    """The mean of centre, size and heading, by unit vectors.

    Those that head the other way would cancel out and leave any heading at all; they are turned round for the mean,
    and the way that counts more is taken.
    """
    turned = clusters.from_leader(volumes.yaw)
    halves = np.round(turned / np.pi)
    turned, opposed = turned - halves * np.pi, halves % 2 == 1
    turn = np.arctan2(clusters.mean(np.sin(turned)), clusters.mean(np.cos(turned)))
    turn += np.where(clusters.mean(opposed.astype(float)) > 0.5, np.pi, 0)
    columns = [*map(clusters.mean, volumes.columns[:-1]), volumes.yaw[clusters.leader] + turn]
    return Cuboids(*columns)


def _fuse_masks(masks: Masks, clusters: _Clusters) -> Masks:
    """The mask of the surest."""
    return masks.take(clusters.leader)


FUSED: dict[type, Callable[[Any, _Clusters], Any]] = {
    Boxes: _fuse_boxes, RotatedBoxes: _fuse_rotated, Cuboids: _fuse_cuboids, Masks: _fuse_masks,
}  # fmt: skip
"""How the shapes of each kind that overlaps are fused."""
