"""Lyft 3D object detection: 3D boxes of nine classes in lidar sweeps. See card.md."""

from pathlib import Path

from tallymark.challenges.lyft import dialect
from tallymark.challenges.lyft.distances import SCORE_OPTIONS, analyze
from tallymark.challenges.lyft.rule import RuleOptions, score
from tallymark.core.registry import Challenge

CHALLENGE = Challenge(
    name="lyft",
    title="Lyft 3D object detection",
    file="Id,PredictionString",
    rule="mean over samples of TP/(TP+FP+FN), 3D IoU 0.50:0.95",
    rule_options=RuleOptions,
    score=score,
    dialect=dialect,
    folder=Path(__file__).parent,
    package=__name__,
    score_options=SCORE_OPTIONS,
    analyze=analyze,
)
