"""Paired comparison of two submissions: the difference item by item, with a bootstrap confidence interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tallymark.core.console import as_text, show_table
from tallymark.core.humanize import plural
from tallymark.scoring.interval import RESAMPLES, Interval, bootstrap
from tallymark.scoring.score import Score

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """B compared with A on the same items. Prints as a table.

    low, high: 95 % bootstrap interval of the difference B - A, from resampling items with replacement, with the same
        sample for both submissions.
    changes: the items whose score differs, largest change first.
    remarks: sentences about what was left out of the truth.
    """

    a: Score
    b: Score
    low: float
    high: float
    changes: pl.DataFrame
    remarks: tuple[str, ...] = ()

    @property
    def difference(self) -> float:
        return self.b.value - self.a.value

    @property
    def verdict(self) -> str:
        if math.isnan(self.difference) or math.isnan(self.low):
            return "no verdict: at least one of the two has no score"
        if self.low <= 0 <= self.high:
            return "no clear difference"
        return "B is better" if (self.difference > 0) == (self.b.better == "higher") else "A is better"

    def __repr__(self) -> str:
        return f"<Comparison {self.a.challenge} B - A {self.difference:+.6f}: {self.verdict}>"

    def __str__(self) -> str:
        return as_text(self.show)

    def show(self, to: Console) -> None:
        """Print the difference, its interval, and the items that changed most."""
        for remark in self.remarks:
            to.print(remark, highlight=False, markup=False)
        values = f"A {self.a.value:.6f}  B {self.b.value:.6f}  B - A [bold]{self.difference:+.6f}[/bold]"
        to.print(f"[bold]{self.a.challenge}[/bold]  {values}", highlight=False)
        to.print(f"95 % interval {self.low:+.6f} … {self.high:+.6f}: [bold]{self.verdict}[/bold]", highlight=False)
        title = f"largest of {plural(self.changes.height, 'changed item')}"
        show_table(title, self.changes.columns, self.changes.head(10).rows(), to)

    def as_dict(self) -> dict[str, object]:
        """The form that `--json` prints."""

        def plain(value: float) -> float | None:
            return value if math.isfinite(value) else None

        return {
            "challenge": self.a.challenge,
            "a": plain(self.a.value),
            "b": plain(self.b.value),
            "difference": plain(self.difference),
            "interval": [plain(self.low), plain(self.high)],
            "verdict": self.verdict,
            "changed_items": self.changes.height,
            "changes": self.changes.head(20).to_dicts(),
            **({"remarks": list(self.remarks)} if self.remarks else {}),
        }


def compare_scores(a: Score, b: Score, *, seed: int = 0, resamples: int = RESAMPLES) -> Comparison:
    """Compare two scores on the same truth."""
    joined = a.items.select("item", pl.col("score").alias("a")).join(
        b.items.select("item", pl.col("score").alias("b")), on="item", how="full", coalesce=True
    )
    changes = (
        joined.with_columns((pl.col("b").fill_null(0) - pl.col("a").fill_null(0)).alias("change"))
        .filter(pl.col("a").ne_missing(pl.col("b")))
        .sort([pl.col("change").abs(), "item"], descending=[True, False])
    )
    low, high = _interval(a, b, seed, resamples)
    return Comparison(a, b, low, high, changes)


def _interval(a: Score, b: Score, seed: int, resamples: int) -> Interval:
    # A score may have further items (recordings with false positives only): resample the union by name.
    names = pl.concat([a.items["item"], b.items["item"]]).unique(maintain_order=True)
    position = pl.DataFrame({"item": names, "at": np.arange(len(names))})
    at_a, at_b = (s.items.join(position, on="item", how="left", maintain_order="left")["at"].to_numpy() for s in (a, b))

    def differences(weights: np.ndarray) -> np.ndarray:
        return b.totals(weights[:, at_b]) - a.totals(weights[:, at_a])

    return bootstrap(len(names), differences, seed=seed, resamples=resamples)
