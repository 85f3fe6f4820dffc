"""Global Wheat Detection: bounding boxes of wheat heads in field photographs. See card.md."""

from pathlib import Path

from tallymark.challenges.wheat import dialect
from tallymark.challenges.wheat.rule import RuleOptions, score
from tallymark.core.registry import Challenge

CHALLENGE = Challenge(
    name="wheat",
    title="Global Wheat Detection",
    file="image_id,PredictionString",
    rule="mean over photographs of TP/(TP+FP+FN), IoU 0.50:0.75",
    rule_options=RuleOptions,
    score=score,
    dialect=dialect,
    folder=Path(__file__).parent,
    package=__name__,
    submission_name="submission.csv",
)
