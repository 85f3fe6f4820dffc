"""The score of a trivial submission, beside that of a real one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tallymark.core.registry import Baseline
from tallymark.data.annotations import Annotations, offset_type
from tallymark.geometry import Geometry, Labels
from tallymark.scoring.score import Score


def beside_baseline(
    score: Score,
    truth: Annotations[Geometry],
    rule: Callable[[Annotations[Geometry], Annotations[Geometry]], Score],
    baseline: Baseline,
) -> Score:
    """The score with that of the baseline for the same truth, which is computed when it is asked for."""
    return replace(
        score,
        baseline_name=baseline.name,
        find_baseline=lambda: rule(truth, baseline.guess(truth, score.rule_options)).value,
    )


def most_common_labels(truth: Annotations[Labels], count: int) -> Annotations[Labels]:
    """The labels that most items of the truth have, for every item; of equally common ones the lowest."""
    best = np.argsort(-np.bincount(truth.shapes.label), kind="stable")[:count]
    narrow = np.result_type(np.int16, np.min_scalar_type(best.max(initial=0)))  # a label for each of a million items
    offsets = np.arange(len(truth.items) + 1, dtype=offset_type(len(truth.items) * len(best))) * len(best)
    return Annotations(truth.items, offsets, Labels(np.tile(best.astype(narrow), len(truth.items))))
