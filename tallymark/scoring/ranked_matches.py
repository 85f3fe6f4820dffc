"""Ranked matches: at which rank the predicted labels of each item name the true one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tallymark.data.annotations import Annotations
from tallymark.geometry import Labels
from tallymark.io.tokens import SMALL


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
    number = np.arange(items, dtype=np.int32)  # `item` of all predictions would need twice the memory
    label = np.full(items, -1, np.int32 if truth.shapes.label.max(initial=0) < SMALL else np.int64)
    label[np.repeat(number, truth.counts)] = truth.shapes.label
    named = predicted.counts > 0
    starts = predicted.offsets[:-1]
    first = np.full(items, -1, predicted.shapes.label.dtype)
    first[named] = predicted.shapes.label[starts[named]]
    return RankedMatches(label, first, _first_ranks(label, predicted), _first_scores(predicted, named), k)


def _first_ranks(label: np.ndarray, predicted: Annotations[Labels]) -> np.ndarray:
    """The first rank of the true label among those predicted for its item; 0 if it is not one of them."""
    hits = np.flatnonzero(predicted.shapes.label == np.repeat(label, predicted.counts))[::-1]
    item = np.repeat(np.arange(len(label), dtype=np.int32), predicted.counts)[hits]
    rank = np.zeros(len(label), np.int32)
    rank[item] = hits - predicted.offsets[item] + 1  # of equal labels, the first one comes last here, and stays
    return rank


def _first_scores(predicted: Annotations[Labels], named: np.ndarray) -> np.ndarray:
    """The score of the label predicted first for each item; nan where there is none."""
    if predicted.score is None:
        return np.broadcast_to(np.nan, len(named))  # one number, whatever the length
    scores = np.full(len(named), np.nan)
    scores[named] = predicted.score[predicted.offsets[:-1][named]]
    return scores
