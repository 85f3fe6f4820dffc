"""Ranked matches: at which rank the predicted labels of each item name the true one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tallymark.data.annotations import Annotations
from tallymark.geometry import Labels

BLOCK = 1 << 16
"""Items whose labels are compared at once."""


@dataclass(frozen=True, eq=False)
class RankedMatches:
    """The true label, the labels predicted for it, and the rank at which they are equal, of each item.

    label: true class, -1 if there is none. first: class predicted first, -1 if none was predicted.
    rank: of the true label among the predicted ones, from 1 on; 0 if it is not one of them.
    probability: the score of the label predicted first; nan if it is not known.
    k: labels that a submission gives for each item.
    """

    label: np.ndarray
    first: np.ndarray
    rank: np.ndarray
    probability: np.ndarray
    k: int

    def score_at(self, k: int, reject_below: float = 0.0) -> float:
        """Top-k error of the items that are accepted; nan if none is.

        An item is rejected, which is to say left to a person, if its first label is less probable than `reject_below`.
        """
        rank = self.rank[self.accepted(reject_below)]
        return float(((rank == 0) | (rank > k)).mean()) if len(rank) else math.nan

    def accepted(self, reject_below: float) -> np.ndarray:
        """(items,) whether each item is accepted; also where no probability is known."""
        return ~(self.probability < reject_below)

    def as_dict(self) -> dict[str, object]:
        """What a page needs to recompute the error: plain values, and arrays of the types that it reads."""
        rank, probability = self.rank.astype("<i4"), self.probability.astype("<f8")
        return {"kind": "labels", "k": self.k, "rank": rank, "probability": probability}


def rank_labels(truth: Annotations[Labels], predicted: Annotations[Labels], k: int) -> RankedMatches:
    """The ranks of the true labels; predicted labels are in the order of their rows, the most probable first."""
    items = len(truth.items)
    label = item_labels(truth)
    first = np.full(items, -1, predicted.shapes.label.dtype)
    rank = np.zeros(items, np.int32)
    for start in range(0, items, BLOCK):
        block = slice(start, start + BLOCK)
        labels, item, place = _block(predicted, block)
        first[block][item[place == 0]] = labels[place == 0]
        hits = np.flatnonzero(labels == label[block][item])[::-1]  # of equal labels, the first comes last, and stays
        rank[block][item[hits]] = place[hits] + 1
    return RankedMatches(label, first, rank, _first_scores(predicted), k)


def item_labels(truth: Annotations[Labels]) -> np.ndarray:
    """The label of each item, -1 where it has none; the very column of the truth if every item has one."""
    if (truth.counts == 1).all():
        return truth.shapes.label
    label = np.full(len(truth.items), -1, truth.shapes.label.dtype)
    label[truth.item] = truth.shapes.label
    return label


def _block(annotations: Annotations[Labels], block: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The labels of a block of items, the item of each, counted within the block, and its place in its item, from 0."""
    offsets = annotations.offsets[block.start : block.stop + 1]
    counts = np.diff(offsets)
    item = np.repeat(np.arange(len(counts)), counts)
    labels = annotations.shapes.label[offsets[0] : offsets[-1]]
    return labels, item, np.arange(len(labels)) - (offsets - offsets[0])[item]


def _first_scores(predicted: Annotations[Labels]) -> np.ndarray:
    """The score of the label predicted first for each item; nan where there is none."""
    if predicted.score is None:
        return np.broadcast_to(np.nan, len(predicted.items))  # one number, whatever the length
    named = predicted.counts > 0
    scores = np.full(len(named), np.nan)
    scores[named] = predicted.score[predicted.offsets[:-1][named]]
    return scores
