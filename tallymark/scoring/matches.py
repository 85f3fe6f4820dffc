"""Matches: what the score and the counts of a rule are at every score threshold, without matching again.

Predictions are matched by descending score, so those above a threshold are matched as if the others were not there:
raising the threshold only takes away true and false positives with lower scores.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np
import polars as pl

from tallymark.data.annotations import Annotations
from tallymark.geometry import Geometry
from tallymark.scoring.sweep import Sweep


@dataclass(frozen=True)
class CountFormula:
    """A score of counts: tp TP / (tp TP + fp FP + fn FN).

    tp, fp, fn: the weights; 1, 1, 1 for the critical success index (IoU of sets), 2, 1, 1 for F1, 5, 1, 4 for F2.
    empty: the value where there is no object and no prediction; nan: such an item does not count.
    pooled: counts of all items are added before the formula; else the score is the mean over items.
    """

    tp: int
    fp: int
    fn: int
    empty: float = math.nan
    pooled: bool = False

    def values(self, tp: np.ndarray, fp: np.ndarray, fn: np.ndarray) -> np.ndarray:
        """The value of each element of arrays of counts."""
        whole = self.tp * tp + self.fp * fp + self.fn * fn
        with np.errstate(invalid="ignore"):
            return np.where(whole > 0, self.tp * tp / whole, self.empty)

    def by_group(self, found: Sweep) -> np.ndarray:
        """The value of each group of a sweep: the mean over thresholds."""
        hits = found.hits
        return self.values(hits, found.predictions[:, None] - hits, found.truths[:, None] - hits).mean(axis=1)

    def total(self, tp: np.ndarray, fp: np.ndarray, fn: np.ndarray) -> float:
        """The score of counts (items, levels); nan if nothing is left to count."""
        if self.pooled:
            return float(self.values(tp.sum(axis=0), fp.sum(axis=0), fn.sum(axis=0)).mean())
        values = self.values(tp, fp, fn).mean(axis=1)
        counted = values[~np.isnan(values)]
        return float(counted.mean()) if len(counted) else math.nan


EMPTY_VALUES = {"skip": math.nan, "one": 1.0, "zero": 0.0}
"""What an item without objects and predictions counts, as rule options name it."""


@dataclass(frozen=True, eq=False)
class Matches:
    """True and false positives with their scores.

    levels: IoU thresholds, ascending; of events, the one distance in seconds. unit: of the levels, "IoU" or "s".
    truths: (items,) number of objects.
    tp_item, tp_score, tp_levels: a true positive counts in this item, where the score threshold is at most this score,
        at the levels whose bits are set: bit k stands for levels[k]. fp_*: the same of false positives. A prediction
        that is a hit at low levels only is in both.
    hours: length of all recordings, for false positives per hour; None if it is not known or does not matter.
    """

    levels: tuple[float, ...]
    unit: str
    formula: CountFormula
    truths: np.ndarray
    tp_item: np.ndarray
    tp_score: np.ndarray
    tp_levels: np.ndarray
    fp_item: np.ndarray
    fp_score: np.ndarray
    fp_levels: np.ndarray
    hours: float | None = None

    def tables_at(self, score_threshold: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """TP, FP and FN (items, levels) of predictions with at least this score."""
        tp = self._count(self.tp_item, self.tp_score >= score_threshold, self.tp_levels)
        fp = self._count(self.fp_item, self.fp_score >= score_threshold, self.fp_levels)
        return tp, fp, self.truths[:, None] - tp

    def score_at(self, score_threshold: float) -> float:
        """What the rule gives for the predictions with at least this score."""
        return self.formula.total(*self.tables_at(score_threshold))

    def counts_at(self, score_threshold: float) -> pl.DataFrame:
        """A row per level: tp, fp and fn over all items."""
        counts = (table.sum(axis=0) for table in self.tables_at(score_threshold))
        return pl.DataFrame({"level": self.levels, **dict(zip(("tp", "fp", "fn"), counts, strict=True))})

    def as_dict(self) -> dict[str, object]:
        """What a page needs to recompute the score: plain values, and arrays of the types that it reads."""
        formula = asdict(self.formula) | {"empty": None if math.isnan(self.formula.empty) else self.formula.empty}
        return {
            "kind": "counts",
            "levels": list(self.levels),
            "unit": self.unit,
            "formula": formula,
            "truths": self.truths.astype("<i4"),
            "hours": self.hours,
            "tp": _columns(self.tp_item, self.tp_score, self.tp_levels),
            "fp": _columns(self.fp_item, self.fp_score, self.fp_levels),
        }

    def _count(self, item: np.ndarray, kept: np.ndarray, levels: np.ndarray) -> np.ndarray:
        items = len(self.truths)
        at_level = (item[kept & (levels >> step & 1 > 0)] for step in range(len(self.levels)))
        return np.stack([np.bincount(own, minlength=items) for own in at_level], axis=1)


def _columns(item: np.ndarray, score: np.ndarray, levels: np.ndarray) -> dict[str, np.ndarray]:
    return {"item": item.astype("<i4"), "score": score.astype("<f8"), "levels": levels.astype("<u4")}


def sweep_matches(
    truth: Annotations[Geometry], predicted: Annotations[Geometry], found: Sweep, formula: CountFormula
) -> Matches:
    """The matches of a sweep, whose score is a formula of the counts of each item."""
    bits = found.matched @ (1 << np.arange(len(found.twentieths)))
    # At each level a prediction is in one matched pair at most, so the sum of the bits is their union.
    hit = np.bincount(found.pairs.second, bits, len(predicted)).astype(np.uint32)
    miss = hit ^ np.uint32((1 << len(found.twentieths)) - 1)
    tp, fp = np.flatnonzero(hit), np.flatnonzero(miss)
    return Matches(
        tuple(k / 20 for k in found.twentieths), "IoU", formula, truth.counts,
        predicted.item[tp], predicted.scores[tp], hit[tp],
        predicted.item[fp], predicted.scores[fp], miss[fp],
    )  # fmt: skip
