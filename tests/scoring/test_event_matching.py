"""Events: a maximum one-to-one matching in time, and crowds at one time."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from tallymark.challenges.upcalls.rule import RuleOptions, score
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Events
from tallymark.scoring.event_matching import best_detections, match_events

RECORDINGS = 3


def events(rows: list[tuple[int, int]]) -> Annotations[Events]:
    """Events at (recording, eighths of a second)."""
    item = np.array([recording for recording, _ in rows], np.int64)
    return Annotations.from_rows(
        Items.of([f"{number}.wav" for number in range(RECORDINGS)]),
        item,
        Events(np.array([eighths for _, eighths in rows], float) / 8),
    )


rows = st.lists(st.tuples(st.integers(0, RECORDINGS - 1), st.integers(-5, 60)), max_size=20)


@given(rows, rows)
def test_the_matching_is_the_largest_and_only_of_events_within_reach(calls: list, detections: list) -> None:
    truth, predicted = events(calls), events(detections)
    found = match_events(truth, predicted, 1.5)
    near = (truth.item[:, None] == predicted.item) & (np.abs(truth.shapes.time[:, None] - predicted.shapes.time) <= 1.5)
    assert (found.detected == near.any(axis=1)).all()
    assert (found.correct == near.any(axis=0)).all()
    assert near[found.call, found.detection].all()
    assert len(set(found.call.tolist())) == len(set(found.detection.tolist())) == len(found.call)
    largest = (maximum_bipartite_matching(csr_array(near)) >= 0).sum() if near.size else 0
    assert len(found.call) == largest


def test_a_hundred_thousand_equal_times_take_no_time() -> None:
    """Pairs of them would be ten thousand million."""
    crowd = Annotations.from_rows(Items.of(["a.wav"]), np.zeros(100_000, np.int64), Events(np.full(100_000, 7.25)))
    begun = time.process_time()
    result = score(crowd, crowd, RuleOptions())
    assert (result.value, result.details["one_to_one_f1"]) == (1, 1)
    assert result.matches is not None
    assert result.outcomes is not None
    assert result.matches.score_at(1.0) == 1
    assert result.outcomes.hit.sum() == 1
    assert time.process_time() - begun < 5


@given(rows, rows)
def test_the_best_detection_of_each_event_and_the_nearest_event(calls: list, detections: list) -> None:
    truth, predicted = events(calls), events(detections)
    scored = replace(predicted, score=np.arange(len(predicted)) % 3 / 2)
    apart = np.abs(truth.shapes.time[:, None] - predicted.shapes.time)
    apart[truth.item[:, None] != predicted.item] = np.inf
    best = best_detections(truth, scored, 1.5)
    place, seconds = predicted.shapes.nearest(truth.shapes, predicted.item, truth.item)
    for call in range(len(truth)):
        near = np.flatnonzero(apart[call] <= 1.5)
        assert best[call] == (max(near, key=lambda row: (scored.scores[row], -row)) if len(near) else -1)
    for row in range(len(predicted)):
        assert seconds[row] == apart[:, row].min(initial=np.inf)
        assert place[row] == -1 if np.isinf(seconds[row]) else apart[place[row], row] == seconds[row]
