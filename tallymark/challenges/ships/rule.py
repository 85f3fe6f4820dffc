"""The ships rule: mean over images of the mean over IoU 0.50:0.95 of F2 = 5 TP / (5 TP + 4 FN + FP)."""

from __future__ import annotations

from dataclasses import dataclass

from tallymark.core import options as options_module
from tallymark.data.annotations import Annotations
from tallymark.geometry import Masks
from tallymark.scoring.matches import CountFormula
from tallymark.scoring.matching import Match
from tallymark.scoring.score import Score, counted_score
from tallymark.scoring.sweep import IouComparison, sweep

TWENTIETHS = tuple(range(10, 20))
"""The text: "(0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)"."""

F2 = CountFormula(5, 1, 4, empty=1)


@dataclass(frozen=True)
class RuleOptions(options_module.RuleOptions):
    """Points that the official text leaves open.

    shape: height and width of an image in pixels.
    iou_comparison: a match needs an IoU greater than (`gt`) the threshold; `ge` as in some public re-implementations.
    match: a prediction takes the best unmatched truth, or misses if the best overall is taken.
    """

    shape: tuple[int, int] = (768, 768)
    iou_comparison: IouComparison = "gt"
    match: Match = "best_unmatched"


def score(truth: Annotations[Masks], predicted: Annotations[Masks], rule_options: RuleOptions) -> Score:
    """Score predictions that list the same items as the truth. An image without ships and predictions scores 1."""
    found = sweep(
        truth.shapes,
        predicted.shapes,
        truth.item,
        predicted.item,
        len(truth.items),
        twentieths=TWENTIETHS,
        confidence=predicted.scores,
        comparison=rule_options.iou_comparison,
        mode=rule_options.match,
    )
    return counted_score("ships", rule_options, truth, predicted, found, F2)
