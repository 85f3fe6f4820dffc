"""Selection of what a report shows: the worst, best, typical and random items, or the most doubtful predictions."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from tallymark.reporting.report.subject import Subject
from tallymark.scoring.outcomes import DUPLICATE, HIT, MISSED

NEAR = 0.1
"""Scores that differ from the threshold by at most that much are in doubt."""


@dataclass(frozen=True)
class Shown:
    """An item to show, and why. time: of the event that it is about, in a recording."""

    item: int
    tag: str
    time: float | None = None


def select(subject: Subject, most: int, seed: int) -> list[Shown]:
    """What to show, at most `most`, in the order of the page; an item or event can have several reasons."""
    rng = np.random.default_rng(seed)
    with_media = np.flatnonzero(subject.rows >= 0)
    pool = with_media if len(with_media) else np.arange(len(subject.items))
    windowed = subject.renderer is not None and subject.renderer.windowed
    kinds = _events(subject, rng) if windowed else _items(subject, pool, rng)
    allowed = np.zeros(len(subject.items), bool)
    allowed[pool] = True
    usable = {tag: [shown for shown in kind if allowed[shown.item]][:most] for tag, kind in kinds.items()}
    return _in_turn(usable.values(), most)


def _in_turn(kinds: Iterable[list[Shown]], most: int) -> list[Shown]:
    """Each kind's first ones in turn, and none twice, until there are enough; then in the order of the kinds."""
    queues = [deque(kind) for kind in kinds]
    chosen: list[list[Shown]] = [[] for _ in queues]
    taken = set[tuple[int, float | None]]()
    while len(taken) < most and any(queues):
        for queue, own in zip(queues, chosen, strict=True):
            while queue and (queue[0].item, queue[0].time) in taken:
                queue.popleft()
            if queue and len(taken) < most:
                taken.add((queue[0].item, queue[0].time))
                own.append(queue.popleft())
    return [shown for own in chosen for shown in own]


def _items(subject: Subject, pool: np.ndarray, rng: np.random.Generator) -> dict[str, list[Shown]]:
    """Whole items: by their own score where there is truth, else by counts and by doubt."""
    score = subject.score
    confidence = subject.official.highest_scores
    shuffled = rng.permutation(pool)
    if score is None:
        counts = subject.official.counts
        doubts = doubt(subject)
        return {
            "most": _ranked(shuffled, "most", -counts),
            "doubtful": _ranked(shuffled[doubts[shuffled] > 0], "doubtful", -doubts),
            "random": [Shown(item, "random") for item in shuffled.tolist()],
        }
    value = score.items["score"].to_numpy().astype(float)
    cost = -value if score.better == "higher" else value
    counted = shuffled[np.isfinite(value[shuffled])]
    objects = score.items["truths"].to_numpy()
    median = np.median(value[counted]) if len(counted) else 0.0
    return {
        "worst": _ranked(counted, "worst", -cost, -confidence, -objects),
        "best": _ranked(counted[objects[counted] > 0], "best", cost, -objects, -confidence),
        "typical": _ranked(counted[objects[counted] > 0], "typical", np.abs(value - median)),
        "random": [Shown(item, "random") for item in shuffled.tolist()],
    }


def _ranked(items: np.ndarray, tag: str, *keys: np.ndarray) -> list[Shown]:
    """Items by several keys, the first one first, lowest values first; ties in the order given."""
    order = np.lexsort([key[items] for key in reversed(keys)])
    return [Shown(item, tag) for item in items[order].tolist()]


def doubt(subject: Subject) -> np.ndarray:
    """How many predictions of each item are near the threshold; of labels, how far the first one is from certain."""
    predicted = subject.predicted
    if predicted.score is None:
        return np.zeros(len(predicted.items))
    if not predicted.shapes.localized:
        return np.where(predicted.counts > 0, 1 - predicted.highest_scores, 0)
    near = np.abs(predicted.scores - (subject.score_threshold or 0.0)) <= NEAR
    return np.bincount(predicted.item[near], minlength=len(predicted.items)).astype(float)


def _events(subject: Subject, rng: np.random.Generator) -> dict[str, list[Shown]]:
    """Events in recordings: misses, false alarms and hits where there is truth, else the surest and the least sure."""
    predicted, threshold = subject.predicted, subject.score_threshold or 0.0
    scores = predicted.scores
    above = np.flatnonzero(scores >= threshold)
    by_score = above[np.argsort(-scores[above], kind="stable")]

    def show(rows: np.ndarray, tag: str) -> list[Shown]:
        return [*_shown(predicted.item[rows], predicted.shapes.time[rows], tag)]

    outcomes = subject.outcomes
    official = None if subject.score is None else subject.score.outcomes
    if outcomes is None or official is None or subject.truth is None:
        near = np.argsort(np.abs(scores - threshold), kind="stable")
        return {
            "strongest": show(by_score, "strongest"),
            "borderline": show(near, "borderline"),
            "random": show(rng.permutation(above), "random"),
        }
    right = np.isin(outcomes.prediction[by_score], [HIT, DUPLICATE])
    hits = by_score[right]
    truth = subject.truth
    missed = rng.permutation(np.flatnonzero(official.truth == MISSED))
    return {
        "missed": [*_shown(truth.item[missed], truth.shapes.time[missed], "missed")],
        "false alarm": show(by_score[~right], "false alarm"),
        "weakest hits": show(hits[::-1], "weakest hits"),
        "random hits": show(rng.permutation(hits), "random hits"),
    }


def _shown(item: np.ndarray, time: np.ndarray, tag: str) -> Iterator[Shown]:
    for one, at in zip(item.tolist(), time.tolist(), strict=True):
        yield Shown(one, tag, at)
