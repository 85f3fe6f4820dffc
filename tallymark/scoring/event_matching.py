"""Matches of events and their predictions: one to one, by the best score, and the table of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from tallymark.data.annotations import Annotations
from tallymark.geometry import Events
from tallymark.scoring.matches import CountFormula, Matches


@dataclass(frozen=True, eq=False)
class EventMatches:
    """Which events are detected by any prediction, which predictions are correct, and a maximum one-to-one matching.

    buffer: seconds that they may be apart. call, detection: the pairs of the matching.
    """

    buffer: float
    detected: np.ndarray
    correct: np.ndarray
    call: np.ndarray
    detection: np.ndarray


def match_events(truth: Annotations[Events], predicted: Annotations[Events], buffer: float) -> EventMatches:
    """Match predictions to events that are at most `buffer` seconds away."""
    order, first, last = truth.shapes.windows(predicted.shapes, truth.item, predicted.item, buffer)
    detected = last > first
    count = len(predicted) + 1
    inside = np.bincount(first, minlength=count) - np.bincount(last, minlength=count)
    correct = np.zeros(len(predicted), bool)
    correct[order] = np.cumsum(inside[:-1]) > 0
    calls = np.flatnonzero(detected)
    calls = calls[np.lexsort((truth.shapes.time[calls], truth.item[calls]))]
    call, place = _earliest_free(calls, first[calls], last[calls])
    return EventMatches(buffer, detected, correct, call, order[place])


def _earliest_free(calls: np.ndarray, first: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """In order of time, each call takes the earliest prediction of its range that is free: no matching is larger.

    A loop, since each choice depends on the one before it; ranges begin and end in the order of the calls.
    """
    matched, places, free = [], [], 0
    for call, start, stop in zip(calls.tolist(), first.tolist(), last.tolist(), strict=True):
        if free < start:
            free = start
        if free < stop:
            matched.append(call)
            places.append(free)
            free += 1
    return np.array(matched, np.int64), np.array(places, np.int64)


def best_detections(truth: Annotations[Events], predicted: Annotations[Events], buffer: float) -> np.ndarray:
    """The prediction with the highest score of those within `buffer` seconds of each event; -1 where there is none."""
    order, first, last = truth.shapes.windows(predicted.shapes, truth.item, predicted.item, buffer)
    by_score = np.argsort(-predicted.scores, kind="stable")
    rank = np.empty(len(by_score), np.int64)
    rank[by_score] = np.arange(len(by_score))
    return np.append(by_score, -1)[_least_in_ranges(rank[order], first, last)]


def _least_in_ranges(values: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The least of values[first[i]:last[i]] for every i; where that is empty, the number of values.

    Two blocks of 2^k values cover a range of 2^k to 2^(k + 1), so that long ranges cost no more than short ones.
    """
    least = np.full(len(first), len(values))
    length, block, width = last - first, values, 1
    while width <= len(values):
        own = np.flatnonzero((length >= width) & (length < 2 * width))
        least[own] = np.minimum(block[first[own]], block[last[own] - width])
        block, width = np.minimum(block[:-width], block[width:]), 2 * width
    return least


def event_matches(
    truth: Annotations[Events], predicted: Annotations[Events], found: EventMatches, formula: CountFormula,
    hours: float | None,
) -> Matches:  # fmt: skip
    """True positives are events, at the best score of their predictions; false ones predictions near no event."""
    best = best_detections(truth, predicted, found.buffer)
    tp, fp = np.flatnonzero(best >= 0), np.flatnonzero(~found.correct)
    return Matches(
        (found.buffer,), "s", formula, truth.counts,
        truth.item[tp], predicted.scores[best[tp]], np.ones(len(tp), np.uint32),
        predicted.item[fp], predicted.scores[fp], np.ones(len(fp), np.uint32),
        hours,
    )  # fmt: skip


def event_pairs(
    truth: Annotations[Events], predicted: Annotations[Events], call: np.ndarray, detection: np.ndarray
) -> pl.DataFrame:
    """Matched pairs: item, numbers of the truth and the prediction within it, and by how much the latter is late."""
    item = truth.item[call]
    return pl.DataFrame(
        {
            "item": truth.items.ids[item],
            "truth": call - truth.offsets[item],
            "prediction": detection - predicted.offsets[item],
            "seconds": predicted.shapes.time[detection] - truth.shapes.time[call],
        }
    )


def f1_scores(tp: np.ndarray, fp: np.ndarray, fn: np.ndarray) -> np.ndarray:
    """F1 of each of several counts; 0 without a true positive."""
    f1: np.ndarray = np.zeros(len(tp))
    np.divide(2.0 * tp, 2.0 * tp + fp + fn, out=f1, where=tp > 0)
    return f1
