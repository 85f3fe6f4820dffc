"""Right-whale upcalls: moments of right-whale upcalls in hydrophone recordings. See card.md."""

from pathlib import Path

from tallymark.challenges.upcalls import dialect
from tallymark.challenges.upcalls.rule import RuleOptions, score
from tallymark.core.registry import Challenge

CHALLENGE = Challenge(
    name="upcalls",
    title="Right-whale upcalls",
    file="filename,timestamp",
    rule="precision, recall, F1 within 1.5 s; false positives per hour",
    rule_options=RuleOptions,
    score=score,
    dialect=dialect,
    folder=Path(__file__).parent,
    package=__name__,
    sparse=True,
)
