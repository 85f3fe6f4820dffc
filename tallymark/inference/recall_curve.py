"""The price of finding more: how many calls each cut finds, and how many false positives an hour that costs.

Measured on recordings that no model was trained with. A cut can be chosen by it: the one that finds most at a price.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tallymark.core.problems import BadInput, Problem
from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations
from tallymark.inference.pipeline import Candidates
from tallymark.inference.postprocess import apply_thresholds, merge
from tallymark.inference.tuning import Rule

THRESHOLDS = tuple(k / 100 for k in range(3, 100))
PRICES = (1, 10)
"""False positives an hour at which recall is quoted."""
COLUMNS = ("score_threshold", "recall", "precision", "f1", "fp_per_hour")
DIGITS = 6


class OperatingPoint(NamedTuple):
    """A cut, what it found and at which price; `note` says what a person should know about it, if anything."""

    score_threshold: float
    recall: float
    fp_per_hour: float
    note: str = ""


@dataclass(frozen=True, eq=False)
class RecallCurve:
    """hours: the length of the recordings, with calls or without. table: a row for each cut, the lowest first."""

    hours: float
    table: pl.DataFrame

    def at(self, price: float) -> OperatingPoint:
        """The lowest cut that costs at most so many false positives an hour; else the strictest there is."""
        if not (np.isfinite(price) and price >= 0):
            remedy = "give e.g. 1, or leave it out"
            raise BadInput(Problem("bad_option", "fp_per_hour", f"{price}", "a number from 0 on", remedy))
        paid = self.table.filter(pl.col("fp_per_hour") <= price)
        row = self.table.row(-1, named=True) if paid.is_empty() else paid.row(0, named=True)
        note, heard = "", f"in the {self.hours:.3g} hours held out"
        if paid.is_empty():
            note = (
                f"no cut was as strict as {price:g} false positives an hour {heard}: "
                f"using the strictest, {row['score_threshold']:g}, which had {row['fp_per_hour']:.0f}"
            )
        elif row["fp_per_hour"] == 0 and price < 1 / self.hours:
            note = (
                f"{heard}, {price:g} an hour cannot be told from none: using {row['score_threshold']:g}, which had none"
            )
        return OperatingPoint(row["score_threshold"], row["recall"], row["fp_per_hour"], note)

    def recall_at(self, price: float) -> float:
        """The highest recall that so many false positives an hour buy; 0 if none."""
        found = self.table.filter(pl.col("fp_per_hour") <= price)["recall"].max()
        return 0.0 if found is None else float(found)  # type: ignore[arg-type]  # a column of floats

    def quoted(self) -> dict[str, float]:
        """Recall at round prices, by name."""
        return {f"recall_at_{price}_fp_per_hour": self.recall_at(price) for price in PRICES}

    def as_dict(self) -> dict[str, Any]:
        """As it stands in the card of a model."""
        return {"hours": self.hours, **self.table.to_dict(as_series=False)}

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> RecallCurve | None:
        """From the card of a model; None if it has none."""
        if not told:
            return None
        return cls(float(told["hours"]), pl.DataFrame({name: told[name] for name in COLUMNS}))


def measure(raw: Candidates, truth: Annotations[Any], recipe: Recipe, rule: Rule) -> RecallCurve | None:
    """The curve of recordings with known truth; `raw.size` has their seconds. None if nothing was heard at all.

    The rule tells `recall`, `precision`, `f1` and `fp`. Cuts that nothing reaches are left out: nothing is known there.
    """
    hours = float(np.nansum(raw.size[:, 0])) / 3600
    merged = merge(raw, recipe)
    if not hours or merged.found is None or not len(merged.found):
        return None
    surest = float(merged.found.scores.max())
    rows = []
    for cut in [THRESHOLDS[0], *(cut for cut in THRESHOLDS[1:] if cut <= surest)]:
        details = rule(truth, apply_thresholds(merged, raw, recipe.replace(score_threshold=cut))).details
        rates = (details[name] for name in ("recall", "precision", "f1"))
        rows.append([cut, *(round(rate, DIGITS) for rate in rates), round(details["fp"] / hours, DIGITS)])
    return RecallCurve(hours, pl.DataFrame(rows, schema=list(COLUMNS), orient="row"))
