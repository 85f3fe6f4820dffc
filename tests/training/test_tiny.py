"""The tiny preset of each challenge learns enough to beat a guess by far, within two minutes on two cores."""

from __future__ import annotations

from pathlib import Path

import pytest

import tallymark
from tallymark.cli.demo import SOLUTION, reading_of
from tallymark.core.registry import challenge

MARGIN = {"wheat": 0.25, "ships": 0.1, "food": 0.3, "upcalls": 0.3, "lyft": 0.08}
"""By how much the official score must be better than that of a guess."""


@pytest.mark.parametrize("name", MARGIN)
def test_tiny_beats_a_guess(name: str, made: Path) -> None:
    folder, options = made / name, reading_of(challenge(name))
    submission, guess = folder / "predicted.csv", folder / "trivial.csv"
    assert not tallymark.check(name, submission, against=folder / "data", **options).problems
    truth = folder / "data" / SOLUTION
    ours, trivial = (tallymark.score(name, truth, path, **options) for path in (submission, guess))
    gain = ours.value - trivial.value if ours.better == "higher" else trivial.value - ours.value
    assert gain > MARGIN[name]


def test_the_demo_ends_with_all_scores(made: Path) -> None:
    printed = (made.parent / "printed.txt").read_text()
    last = printed[printed.index("after a tiny training") :]
    assert all(name in last for name in MARGIN)
