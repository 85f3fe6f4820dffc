"""Right-whale upcalls: times of right-whale upcalls in hydrophone recordings. See card.md."""

from functools import partial
from pathlib import Path

from tallymark.challenges.upcalls import dialect
from tallymark.challenges.upcalls.rule import RuleOptions, official_hours, score
from tallymark.core.registry import Challenge, ScoreOption
from tallymark.scoring.recorded_hours import CLOCK_OPTIONS, HOURS_OPTIONS, complete_hours, hours_for_items

LABELS = ScoreOption("labels", str, "Labels of the truth that count, separated by commas, or all. Default: of upcalls.")
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
    score_options=(*HOURS_OPTIONS, LABELS, *CLOCK_OPTIONS),
    complete_rule_options=partial(complete_hours, official=official_hours),
    rule_options_for=hours_for_items,
)
