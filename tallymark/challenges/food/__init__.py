"""iFood-211: the three most probable of 211 classes for each photograph of a dish. See card.md."""

from pathlib import Path

from tallymark.challenges.food import dialect
from tallymark.challenges.food.rule import RuleOptions, data_options, score
from tallymark.core.registry import Baseline, Challenge
from tallymark.scoring.baseline import most_common_labels

CHALLENGE = Challenge(
    name="food",
    title="iFood-211",
    file="image_name,pred1,pred2,pred3",
    rule="top-3 error, lower is better",
    rule_options=RuleOptions,
    score=score,
    dialect=dialect,
    folder=Path(__file__).parent,
    package=__name__,
    baseline=Baseline(
        "the most common labels for every image", lambda truth, options: most_common_labels(truth, options.k)
    ),
    suffix_optional=True,
    forbidden={
        "extra_data": "only the given training and validation images",
        "test_annotations": "no annotations of the test images are collected",
    },
    data_options=data_options,
)
