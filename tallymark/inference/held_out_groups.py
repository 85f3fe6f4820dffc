"""Scores of groups that were left out one by one: how well a model does on a field, site or day that it never saw."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tallymark.core.console import show_table
from tallymark.data.annotations import Annotations
from tallymark.data.folds import LONE
from tallymark.geometry import Geometry
from tallymark.inference.candidates import Candidates
from tallymark.inference.tuning import CrossTuning
from tallymark.scoring.score import Score

if TYPE_CHECKING:
    from rich.console import Console

HELD_OUT_GROUPS = "held_out_groups"
"""The name of this analysis of a score."""
ALL = "all"
TITLE = "held-out groups, each at thresholds tuned on the other groups"

SCHEMA = {
    "group": pl.String,
    "items": pl.Int64,
    "objects": pl.Int64,
    "score": pl.Float64,
    "baseline": pl.Float64,
    "score_threshold": pl.Float64,
}

ScorePart = Callable[[Candidates, Annotations[Geometry], Annotations[Geometry]], Score]
"""Candidates, truth and predictions of some items to their score, with its baseline."""


@dataclass(frozen=True, eq=False)
class HeldOutGroups:
    """table: a row for each group in the order of the folds, then lone items, and all items together.

    Its columns are `group`, `items`, `objects`, `score`, `baseline` and `score_threshold`, which was tuned on the other
    groups; it is null where the items of a row have several.
    """

    table: pl.DataFrame

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        return {TITLE: self.table}

    def show(self, to: Console) -> None:
        show_table(TITLE, self.table.columns, self.table.rows(), to, limit=self.table.height)

    def as_dict(self) -> dict[str, object]:
        return {"thresholds": "tuned on the other groups", "rows": self.table.to_dicts()}


def score_groups(
    candidates: Candidates, truth: Annotations[Geometry], crossed: CrossTuning, group: pl.Series, score_part: ScorePart
) -> HeldOutGroups:
    """The score of each group of held-out items. group: the name of each item's group, `LONE` for lone items."""
    thresholds = crossed.item_thresholds

    def row(name: str, index: np.ndarray) -> dict[str, object]:
        own = candidates.select(index)
        known = truth.reindex(own.items)
        score = score_part(own, known, crossed.predictions.reindex(own.items))
        tuned = np.unique(thresholds[index])
        return {
            "group": name,
            "items": len(index),
            "objects": len(known),
            "score": _number(score.value),
            "baseline": _number(score.baseline),
            "score_threshold": float(tuned[0]) if len(tuned) == 1 else None,
        }

    names = [name for name in group.unique(maintain_order=True) if name != LONE]
    names += [LONE] * bool((group == LONE).any())
    rows = [row(name, np.flatnonzero((group == name).to_numpy())) for name in names]
    rows.append(row(ALL, np.arange(len(candidates.items))))
    return HeldOutGroups(pl.DataFrame(rows, schema=SCHEMA))


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
