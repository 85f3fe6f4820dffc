"""Score: a table first, a number second."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from tallymark.core.console import as_text, show_table
from tallymark.core.humanize import plural
from tallymark.core.options import as_assignments, describe
from tallymark.data.annotations import Annotations
from tallymark.geometry import Geometry
from tallymark.scoring.matches import CountFormula, Matches, sweep_matches
from tallymark.scoring.outcomes import Outcomes, sweep_outcomes
from tallymark.scoring.ranked_matches import RankedMatches
from tallymark.scoring.sweep import Sweep

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from rich.console import Console

    from tallymark.core.registry import Analysis


@dataclass(frozen=True, eq=False, repr=False)
class Score:
    """The outcome of a rule. Prints as tables.

    value: the official number; nan when nothing is left to count.
    items: a row per item with its own score (null: not counted) and its counts, and `group` where the truth has one.
    counts: a row per threshold with tp, fp and fn over all items.
    details: further official numbers by name. classes: a row per class, where the rule has classes.
    total: the number again, when item i counts `weight[i]` times; this is what resampling needs.
    find_totals: the same for each row of weights (n, items) at once, where that is faster than one after the other.
    lines: what the organisers' own script prints, where there is one.
    without: the reason if there is no number.
    analyses: further tables that options of `score` asked for, by name.
    remarks: sentences about what was left out.
    objective: by which thresholds and checkpoints are chosen, where that is not `value`, because `value` is a ranking,
        which a threshold can only make worse.
    baseline_name: the trivial submission whose score is `baseline`; empty if none was asked for.
    """

    challenge: str
    value: float
    better: Literal["higher", "lower"]
    rule_options: DataclassInstance
    items: pl.DataFrame
    total: Callable[[np.ndarray], float]
    counts: pl.DataFrame = field(default_factory=pl.DataFrame)
    details: dict[str, float] = field(default_factory=dict)
    classes: pl.DataFrame | None = None
    lines: tuple[str, ...] = ()
    without: str = "nothing is left to count under these rule options"
    find_pairs: Callable[[], pl.DataFrame] = pl.DataFrame
    find_matches: Callable[[], Matches | None] = lambda: None
    find_outcomes: Callable[[], Outcomes | None] = lambda: None
    find_ranking: Callable[[], RankedMatches | None] = lambda: None
    analyses: Mapping[str, Analysis] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    objective: float | None = None
    find_totals: Callable[[np.ndarray], np.ndarray] | None = None
    baseline_name: str = ""
    find_baseline: Callable[[], float] = lambda: math.nan

    def totals(self, weights: np.ndarray) -> np.ndarray:
        """The number for each row of weights (n, items): how often each item counts."""
        if self.find_totals is not None:
            return self.find_totals(weights)
        return np.array([self.total(weight) for weight in weights], float)

    @cached_property
    def baseline(self) -> float:
        """The score of the trivial submission for the same truth; nan if there is none."""
        return self.find_baseline()

    @property
    def above_baseline(self) -> bool:
        """Whether the score is better than that of the trivial submission; also if either is unknown."""
        return not (self.value <= self.baseline if self.better == "higher" else self.value >= self.baseline)

    @property
    def tuned_by(self) -> float:
        """The number by which thresholds and checkpoints are chosen."""
        return self.value if self.objective is None else self.objective

    @property
    def pairs(self) -> pl.DataFrame:
        """Matched pairs: item, number of the truth and of the prediction within it, iou, thresholds passed."""
        return self.find_pairs()

    @cached_property
    def matches(self) -> Matches | None:
        """The score and the counts at every score threshold; None where the rule is no formula of counts."""
        return self.find_matches()

    @cached_property
    def outcomes(self) -> Outcomes | None:
        """What became of each prediction and each truth; None where the rule does not say."""
        return self.find_outcomes()

    @cached_property
    def ranking(self) -> RankedMatches | None:
        """The ranks of the true labels; None where the rule is not about labels of whole items."""
        return self.find_ranking()

    @property
    def note(self) -> str:
        """Why there is no number, if there is none."""
        return "" if math.isfinite(self.value) else f"no score: {self.without}"

    @cached_property
    def groups(self) -> pl.DataFrame | None:
        """The score of each group of items, by the rule as for all items: not every score is a mean over items."""
        if "group" not in self.items.columns:
            return None
        counted = self.items.select("group", "score", row=pl.int_range(pl.len())).drop_nulls("score")
        table = counted.group_by("group").agg(pl.len().alias("items"), "row").sort("group")
        scores = [self.total(np.bincount(rows, minlength=self.items.height).astype(float)) for rows in table["row"]]
        return table.select("group", "items", pl.Series("score", scores, dtype=pl.Float64).fill_nan(None))

    def worst(self, count: int = 5) -> pl.DataFrame:
        """The items that cost most, worst first; equal ones by id."""
        counted = self._worst_rows(count).drop_nulls("score")
        return counted.sort(["score", "item"], descending=[self.better == "lower", False]).head(count)

    def _worst_rows(self, count: int) -> pl.DataFrame:
        """At least the rows of the worst items, found without a sorted copy of the table."""
        score, item = self.items["score"], self.items["item"]
        last = score.top_k(count).min() if self.better == "lower" else score.bottom_k(count).max()
        if last is None or self.items.height <= count:
            return self.items
        tied = score == last
        worse = score > last if self.better == "lower" else score < last
        return self.items.filter(worse | (tied & (item <= item.filter(tied).bottom_k(count).max())))

    def __repr__(self) -> str:
        return f"<Score {self.challenge} {self.value} ({self.better} is better), {plural(self.items.height, 'item')}>"

    def __str__(self) -> str:
        return as_text(self.show)

    def show(self, to: Console) -> None:
        """Print the number, the rule options, the counts, the groups and the worst items."""
        for line in self.lines:
            to.print(line, highlight=False, markup=False)
        for remark in self.remarks:
            to.print(remark, highlight=False, markup=False)
        number = self.note or f"score {self.value:.6f}"
        to.print(f"[bold]{self.challenge}  {number}[/bold]  ({self.better} is better)", highlight=False)
        if self.baseline_name:
            to.print(self._baseline_line(), highlight=False, markup=False)
        to.print(f"rule options: {as_assignments(self.rule_options)}", highlight=False, markup=False)
        if self.details and not self.lines:
            details = "  ".join(f"{name} {value:.6f}" for name, value in self.details.items())
            to.print(details, highlight=False, markup=False)
        shown = [name for name in self.items.columns if not name.startswith("tp_") or name in ("tp_50", "tp_75")]
        worst = self.worst().select(shown)
        tables = {"counts": self.counts, "classes": self.classes, "groups": self.groups}
        for title, table in {**tables, f"worst of {plural(self.items.height, 'item')}": worst}.items():
            if table is not None:
                show_table(title, table.columns, table.rows(), to)
        for analysis in self.analyses.values():
            analysis.show(to)

    def _baseline_line(self) -> str:
        number = f"{self.baseline:.6f}" if math.isfinite(self.baseline) else "without a score"
        verdict = "" if self.above_baseline else "; this score is not better"
        return f"baseline {number} ({self.baseline_name}){verdict}"

    def as_dict(self) -> dict[str, object]:
        """The form that `--json` prints."""
        out: dict[str, object] = {
            "challenge": self.challenge,
            "score": self.value if math.isfinite(self.value) else None,
            "better": self.better,
            **({"baseline": self.baseline if math.isfinite(self.baseline) else None} if self.baseline_name else {}),
            **{name: value if math.isfinite(value) else None for name, value in self.details.items()},
            "rule_options": describe(self.rule_options),
            "items": self.items.height,
            "counts": self.counts.to_dicts(),
        }
        if self.classes is not None:
            out["classes"] = self.classes.to_dicts()
        if self.groups is not None:
            out["groups"] = self.groups.to_dicts()
        if self.note:
            out["note"] = self.note
        if self.remarks:
            out["remarks"] = list(self.remarks)
        return out | {name: analysis.as_dict() for name, analysis in self.analyses.items()}


def weighted_mean(values: np.ndarray, weight: np.ndarray) -> float:
    """The mean of the values that are not nan, each counted `weight` times; nan if none is left."""
    counted = ~np.isnan(values)
    total = float(weight[counted].sum())
    return float((values[counted] * weight[counted]).sum()) / total if total > 0 else math.nan


def weighted_means(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """`weighted_mean` for each row of weights (n, values)."""
    counted = ~np.isnan(values)
    total = weights @ counted.astype(weights.dtype)
    means: np.ndarray = np.full(len(weights), np.nan)
    np.divide(weights @ np.where(counted, values, 0).astype(weights.dtype), total, out=means, where=total > 0)
    return means


def share(items: np.ndarray) -> float:
    """The share of items where it is true; nan without items."""
    return float(items.mean()) if len(items) else math.nan


def item_table(
    truth: Annotations[Geometry], predicted: Annotations[Geometry], score: np.ndarray, **columns: np.ndarray
) -> pl.DataFrame:
    """The per-item table that every rule gives."""
    group = {} if truth.items.group is None else {"group": truth.items.group}
    return pl.DataFrame(
        {
            "item": truth.items.ids,
            **group,
            "score": pl.Series(score, nan_to_null=True),
            "truths": truth.counts,
            "predictions": predicted.counts,
            **columns,
        }
    )


def threshold_counts(found: Sweep) -> pl.DataFrame:
    """Hits, false alarms and misses at each threshold, over all items."""
    hits = found.hits.sum(axis=0)
    return pl.DataFrame(
        {
            "threshold": [k / 20 for k in found.twentieths],
            "tp": hits,
            "fp": int(found.predictions.sum()) - hits,
            "fn": int(found.truths.sum()) - hits,
        }
    )


def pair_table(truth: Annotations[Geometry], predicted: Annotations[Geometry], found: Sweep) -> pl.DataFrame:
    """The pairs matched at any threshold, each once, with the number of thresholds it is matched at."""
    thresholds = found.matched.sum(axis=1)
    pair = np.flatnonzero(thresholds)
    first, second = found.pairs.first[pair], found.pairs.second[pair]
    item = truth.item[first]
    return pl.DataFrame(
        {
            "item": truth.items.ids[item],
            "truth": first - truth.offsets[item],
            "prediction": second - predicted.offsets[item],
            "iou": found.pairs.iou[pair],
            "thresholds": thresholds[pair],
        }
    )


def swept_score(
    challenge: str,
    rule_options: DataclassInstance,
    truth: Annotations[Geometry],
    predicted: Annotations[Geometry],
    found: Sweep,
    value: np.ndarray,
    classes: pl.DataFrame | None = None,
) -> Score:
    """The score of a rule that is the mean over items of a ratio swept over thresholds; `value` is that per item."""
    hits = found.pool(len(truth.items)).hits
    columns = {f"tp_{5 * k}": hits[:, step] for step, k in enumerate(found.twentieths)}
    return Score(
        challenge,
        weighted_mean(value, np.ones(len(value))),
        "higher",
        rule_options,
        item_table(truth, predicted, value, **columns),
        total=lambda weight: weighted_mean(value, weight),
        find_totals=lambda weights: weighted_means(value, weights),
        counts=threshold_counts(found),
        classes=classes,
        find_pairs=lambda: pair_table(truth, predicted, found),
        find_outcomes=lambda: sweep_outcomes(truth, predicted, found),
    )


def counted_score(
    challenge: str,
    rule_options: DataclassInstance,
    truth: Annotations[Geometry],
    predicted: Annotations[Geometry],
    found: Sweep,
    formula: CountFormula,
    classes: pl.DataFrame | None = None,
) -> Score:
    """The score of a rule that is the mean over items of a formula of their counts, swept over thresholds."""
    value = formula.by_group(found.pool(len(truth.items)))
    score = swept_score(challenge, rule_options, truth, predicted, found, value, classes)
    return replace(score, find_matches=lambda: sweep_matches(truth, predicted, found, formula))
