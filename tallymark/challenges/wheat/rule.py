"""The wheat rule: mean over images of the mean over IoU 0.50:0.75 of TP / (TP + FP + FN)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tallymark.core import options as options_module
from tallymark.data.annotations import Annotations
from tallymark.geometry import Boxes
from tallymark.scoring.matches import EMPTY_VALUES, CountFormula
from tallymark.scoring.matching import Match
from tallymark.scoring.score import Score, counted_score
from tallymark.scoring.sweep import IouComparison, sweep

TWENTIETHS = tuple(range(10, 16))
"""The text: "The threshold values range from 0.5 to 0.75 with a step size of 0.05"."""


@dataclass(frozen=True)
class RuleOptions(options_module.RuleOptions):
    """Points that the official text leaves open.

    iou_comparison: a match needs an IoU greater than (`gt`) the threshold; `ge` as in some public re-implementations.
    match: a prediction takes the best unmatched truth, or misses if the best overall is taken.
    box_convention: `inclusive` adds one pixel to width and height, as an often copied notebook does.
    empty_image: an image without boxes and without predictions is skipped, or scores one or zero.
    """

    iou_comparison: IouComparison = "gt"
    match: Match = "best_unmatched"
    box_convention: Literal["continuous", "inclusive"] = "continuous"
    empty_image: Literal["skip", "one", "zero"] = "skip"


def score(truth: Annotations[Boxes], predicted: Annotations[Boxes], rule_options: RuleOptions) -> Score:
    """Score predictions that list the same items as the truth."""
    grow = 1 if rule_options.box_convention == "inclusive" else 0
    found = sweep(
        truth.shapes.expand(grow) if grow else truth.shapes,
        predicted.shapes.expand(grow) if grow else predicted.shapes,
        truth.item,
        predicted.item,
        len(truth.items),
        twentieths=TWENTIETHS,
        confidence=predicted.scores,
        comparison=rule_options.iou_comparison,
        mode=rule_options.match,
    )
    formula = CountFormula(1, 1, 1, empty=EMPTY_VALUES[rule_options.empty_image])
    return counted_score("wheat", rule_options, truth, predicted, found, formula)
