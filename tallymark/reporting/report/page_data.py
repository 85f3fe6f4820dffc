"""The data of a report page as one JSON object: the live score, the items, and the scenes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tallymark.data.annotations import Annotations
from tallymark.reporting.report.scenes import Json, encode
from tallymark.reporting.report.subject import Subject
from tallymark.scoring.matches import Matches


def page_data(subject: Subject, scenes: Sequence[Json]) -> Json:
    """Everything that the scripts of the page need."""
    predicted, truth = subject.predicted, subject.truth
    singular, plural = predicted.shapes.noun
    score = subject.score
    group = subject.group
    return {
        "version": 1,
        "challenge": subject.challenge.name,
        "title": subject.title,
        "medium": subject.medium,
        "noun": [singular, plural],
        "geometry": type(predicted.shapes).__name__.lower(),
        "classes": list(predicted.classes or (() if truth is None else truth.classes)),
        "better": "higher" if score is None else score.better,
        "scoreName": "score",
        "threshold": subject.score_threshold,
        "hasTruth": truth is not None,
        "hasScores": predicted.score is not None,
        "live": _live(subject),
        "items": {
            "id": subject.items.ids.to_list(),
            "group": None if group is None else group.to_list(),
            "score": None if score is None else score.items["score"].to_list(),
            "truths": None if truth is None else truth.counts.tolist(),
            "predictions": subject.official.counts.tolist(),
        },
        "scenes": list(scenes),
    }


def _live(subject: Subject) -> object:
    """What the page needs to compute score and counts at any threshold; None if it cannot.

    Predictions without scores count at any threshold: their scores are nan there.
    """
    predicted = subject.predicted
    if subject.truth is None:
        return None if predicted.score is None else {"kind": "scores", "score": encode(predicted.scores)}
    everything = subject.rule(subject.truth, predicted)
    matches = everything.matches
    if matches is not None and predicted.score is None:
        tp, fp = (np.full(len(score), np.nan) for score in (matches.tp_score, matches.fp_score))
        matches = replace(matches, tp_score=tp, fp_score=fp)
    if everything.ranking is not None:
        return _encoded(everything.ranking.as_dict())
    return None if matches is None else _encoded({**matches.as_dict(), "predicted": _uncounted(matches, predicted)})


def _uncounted(matches: Matches, predicted: Annotations[Any]) -> np.ndarray | None:
    """The scores of all predictions, where some are neither hits nor false positives: calls found twice, for example.

    None where the counts at the first level tell how many predictions there are.
    """
    counted = sum(int((levels & 1).sum()) for levels in (matches.tp_levels, matches.fp_levels))
    if counted == len(predicted):
        return None
    return np.full(len(predicted), np.nan) if predicted.score is None else predicted.scores.astype("<f8")


def _encoded(value: object) -> object:
    """With arrays as the page reads them."""
    if isinstance(value, dict):
        return {name: _encoded(one) for name, one in value.items()}
    return encode(value) if isinstance(value, np.ndarray) else value
