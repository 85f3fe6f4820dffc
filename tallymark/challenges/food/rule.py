"""The food rule: top-3 error, the share of images whose class is not among the three predicted. Lower is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from tallymark.core import options as options_module
from tallymark.data.annotations import Annotations
from tallymark.datasets.class_list import count_listed_classes
from tallymark.geometry import Labels
from tallymark.scoring.by_class import Confusions, label_table
from tallymark.scoring.outcomes import label_outcomes
from tallymark.scoring.ranked_matches import rank_labels
from tallymark.scoring.score import Score, item_table, share, weighted_mean, weighted_means


@dataclass(frozen=True)
class RuleOptions(options_module.RuleOptions):
    """Points that the official text leaves open.

    k: labels per row. num_classes: class ids from there on are errors; where a list of classes is beside the truth, its
    number is the default.
    duplicates: the same label twice in a row is allowed (and useless), or an error.
    """

    k: int = options_module.bounded(3, most=1_000)
    num_classes: int | None = options_module.bounded(211, most=1_000_000)
    duplicates: Literal["allow", "error"] = "allow"


def data_options(path: Path | None, classes: Sequence[str]) -> dict[str, int]:
    """The number of classes, where a model or a list of classes says it; a row cannot have more labels than that."""
    number = len(classes) or (None if path is None else count_listed_classes(path))
    return {} if number is None else {"num_classes": number, "k": min(number, RuleOptions().k)}


def score(truth: Annotations[Labels], predicted: Annotations[Labels], rule_options: RuleOptions) -> Score:
    """Score predictions that list the same items as the truth."""
    ranked = rank_labels(truth, predicted, rule_options.k)
    wrong, top1 = ranked.rank == 0, ranked.rank == 1
    return Score(
        "food",
        share(wrong),
        "lower",
        rule_options,
        item_table(truth, predicted, wrong.astype(float), top1=top1),
        total=lambda weight: weighted_mean(wrong.astype(float), weight),
        find_totals=lambda weights: weighted_means(wrong.astype(float), weights),
        counts=pl.DataFrame({"right": [int((~wrong).sum())], "wrong": [int(wrong.sum())]}),
        details={"top1_error": share(~top1)},
        classes=label_table(ranked.label, wrong, top1, truth.classes),
        analyses={"confusions": Confusions(ranked.label, ranked.first, truth.classes)},
        find_pairs=lambda: pl.DataFrame({"item": truth.items.ids, "rank": ranked.rank}).filter(pl.col("rank") > 0),
        find_outcomes=lambda: label_outcomes(truth, predicted),
        find_ranking=lambda: ranked,
    )
