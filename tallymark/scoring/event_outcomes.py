"""Outcomes of events: which detections detect a call, which repeat one, and which are only near one."""

from __future__ import annotations

import numpy as np

from tallymark.data.annotations import Annotations
from tallymark.geometry import Events
from tallymark.scoring.event_matching import EventMatches, best_detections
from tallymark.scoring.outcomes import BACKGROUND, DUPLICATE, HIT, LOCALISATION, Outcomes, truth_outcomes

NEAR = 3
"""A detection of no call is badly placed, if one that nobody detects is within so many buffers."""


def event_outcomes(truth: Annotations[Events], predicted: Annotations[Events], found: EventMatches) -> Outcomes:
    """Outcomes of detections by a rule that lets several detections detect one call, and one several calls.

    A hit is the best detection of a call, or of several; any other detection of a call is a duplicate.
    """
    outcome = np.full(len(predicted), BACKGROUND, np.int8)
    partner, seconds = predicted.shapes.nearest(truth.shapes, predicted.item, truth.item)
    outcome[found.correct] = DUPLICATE
    call, detection, apart = _best(truth, predicted, found.buffer)
    outcome[detection], partner[detection], seconds[detection] = HIT, call, apart
    other = np.flatnonzero(~found.correct)
    free = np.flatnonzero(~found.detected)
    alone, undetected = predicted.shapes.take(other), truth.shapes.take(free)
    place, apart = alone.nearest(undetected, predicted.item[other], truth.item[free])
    near = apart <= NEAR * found.buffer
    partner[other] = np.where(near, np.append(free, -1)[place], -1)
    seconds[other] = np.where(near, apart, np.nan)
    outcome[other[near]] = LOCALISATION
    truths = truth_outcomes(len(truth), np.flatnonzero(found.detected))
    return Outcomes(outcome, truths, partner, seconds, np.zeros(len(predicted), bool), duplicates_count=False)


def _best(
    truth: Annotations[Events], predicted: Annotations[Events], buffer: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The best detections of calls, each with the nearest of the calls that it is the best of, and the seconds."""
    best = best_detections(truth, predicted, buffer)
    call = np.flatnonzero(best >= 0)
    detection = best[call]
    apart = np.abs(predicted.shapes.time[detection] - truth.shapes.time[call])
    order = np.lexsort((call, apart, detection))
    first = order[np.unique(detection[order], return_index=True)[1]]
    return call[first], detection[first], apart[first]
