"""Recall against false positives per hour, at each score threshold, measured on recordings held out from training.

An operating point can be chosen by it: the threshold with the highest recall at a given rate of false positives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from tallymark.core.problems import BadInput, Problem
from tallymark.core.recipe import Recipe
from tallymark.core.stored import a_list, a_mapping, a_number
from tallymark.data.annotations import Annotations
from tallymark.geometry import Geometry
from tallymark.inference.candidates import Candidates
from tallymark.inference.postprocess import apply_thresholds, fuse

if TYPE_CHECKING:  # workers read curves, and tune nothing
    from tallymark.inference.tuning import Rule

THRESHOLDS = tuple(k / 100 for k in range(3, 100))
QUOTED_RATES = (1, 10)
"""False positives per hour at which recall is quoted."""
COLUMNS = ("score_threshold", "recall", "precision", "f1", "fp_per_hour")
DIGITS = 6


class OperatingPoint(NamedTuple):
    """A threshold with its recall and its false positives per hour; `note` says what the user should know of it."""

    score_threshold: float
    recall: float
    fp_per_hour: float
    note: str = ""


@dataclass(frozen=True, eq=False)
class RecallCurve:
    """hours: the length of all recordings, with calls or without. table: a row per threshold, the lowest first."""

    hours: float
    table: pl.DataFrame

    def at(self, rate: float) -> OperatingPoint:
        """The lowest threshold with at most `rate` false positives per hour; else the highest there is."""
        if not (np.isfinite(rate) and rate >= 0):
            remedy = "give e.g. 1, or leave it out"
            raise BadInput(Problem("bad_option", "fp_per_hour", f"{rate}", "a number from 0 on", remedy))
        allowed = self.table.filter(pl.col("fp_per_hour") <= rate)
        row = self.table.row(-1, named=True) if allowed.is_empty() else allowed.row(0, named=True)
        threshold = row["score_threshold"]
        note = ""
        held_out = f"in the {self.hours:.3g} hours held out"
        if allowed.is_empty():
            note = (
                f"no threshold had as few as {rate:g} false positives per hour {held_out}: "
                f"using the highest, {threshold:g}, which had {row['fp_per_hour']:.0f}"
            )
        elif row["fp_per_hour"] == 0 and rate < 1 / self.hours:
            note = f"{held_out}, {rate:g} per hour cannot be distinguished from none: using {threshold:g}, with none"
        return OperatingPoint(threshold, row["recall"], row["fp_per_hour"], note)

    def recall_at(self, rate: float) -> float:
        """The highest recall at no more than `rate` false positives per hour; 0 if there is none."""
        recall = self.table.filter(pl.col("fp_per_hour") <= rate)["recall"].max()
        return 0.0 if recall is None else float(recall)  # type: ignore[arg-type]  # a column of floats

    def quoted(self) -> dict[str, float]:
        """Recall at `QUOTED_RATES`, by name."""
        return {f"recall_at_{rate}_fp_per_hour": self.recall_at(rate) for rate in QUOTED_RATES}

    def as_dict(self) -> dict[str, Any]:
        """As it is stored in the metadata of a model."""
        return {"hours": self.hours, **self.table.to_dict(as_series=False)}

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> RecallCurve | None:
        """From the metadata of a model; None if it has none. A ValueError for values that it cannot have."""
        if not stored:
            return None
        given = a_mapping(stored, ("hours", *COLUMNS))
        columns = {name: [float(a_number(value, 0)) for value in a_list(given[name])] for name in COLUMNS}
        if len({len(column) for column in columns.values()} | {0}) != 2:
            raise ValueError("columns of different lengths, or empty ones")
        return cls(a_number(given["hours"], 1e-9), pl.DataFrame(columns))


def measure_recall(
    candidates: Candidates, truth: Annotations[Geometry], recipe: Recipe, rule: Rule
) -> RecallCurve | None:
    """The curve of recordings with known truth; None where nothing could be read or nothing was detected.

    The rule gives `recall`, `precision`, `f1` and `fp`. Thresholds above the highest score are left away: nothing is
    known there.
    """
    hours = float(np.nansum(candidates.size[:, 0])) / 3600
    fused = fuse(candidates, recipe)
    if not hours or not len(fused.objects):
        return None
    highest = float(fused.objects.scores.max())
    rows = []
    for threshold in [THRESHOLDS[0], *(one for one in THRESHOLDS[1:] if one <= highest)]:
        details = rule(truth, apply_thresholds(fused, recipe.replace(score_threshold=threshold))).details
        rates = (details[name] for name in ("recall", "precision", "f1"))
        rows.append([threshold, *(round(rate, DIGITS) for rate in rates), round(details["fp"] / hours, DIGITS)])
    return RecallCurve(hours, pl.DataFrame(rows, schema=list(COLUMNS), orient="row"))
