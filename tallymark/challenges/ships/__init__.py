"""Airbus ship detection: one mask per ship in satellite images. See card.md."""

from pathlib import Path

from tallymark.challenges.ships import dialect
from tallymark.challenges.ships.rule import RuleOptions, score
from tallymark.core.registry import Challenge

CHALLENGE = Challenge(
    name="ships",
    title="Airbus ship detection",
    file="ImageId,EncodedPixels",
    rule="mean over chips of F2, mask IoU 0.50:0.95",
    rule_options=RuleOptions,
    score=score,
    dialect=dialect,
    folder=Path(__file__).parent,
    package=__name__,
    mask_shape=lambda rule_options: rule_options.shape,
)
