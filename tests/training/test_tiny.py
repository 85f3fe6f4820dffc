"""The tiny preset of each challenge beats a trivial prediction by far after a minute of training on one core."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import tallymark
from tallymark.cli import demo
from tallymark.cli.demo import SOLUTION, demo_rule_options
from tallymark.core.registry import challenge

pytestmark = pytest.mark.slow
MARGIN = {"lyft": 0.08, "ships": 0.1, "wheat": 0.26, "upcalls": 0.41, "food": 0.3}
"""By how much the official score must be better than that of a trivial prediction; the longest training first."""


@pytest.mark.parametrize("name", MARGIN)
def test_tiny_beats_a_trivial_prediction(name: str, demo_of: Callable[[str], Path]) -> None:
    folder, options = demo_of(name), demo_rule_options(challenge(name))
    submission = folder / "predicted.csv"
    assert not tallymark.check(name, submission, against=folder / "data", **options).problems
    ours = tallymark.score(name, folder / "data" / SOLUTION, submission, **options)
    gain = ours.value - ours.baseline if ours.better == "higher" else ours.baseline - ours.value
    assert gain > MARGIN[name]


def test_the_demo_ends_with_all_scores(
    demo_of: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All five at once, with the models that were trained one at a time."""

    def use_trained(name: str, data: Path, out: Path, **options: Any) -> None:
        shutil.copytree(demo_of(name) / "run", out)

    for name in MARGIN:
        shutil.copytree(demo_of(name) / "data", tmp_path / "demo" / name / "data")
    (tmp_path / "demo" / demo.MARK).touch()
    monkeypatch.setattr(demo, "train", use_trained)
    with (tmp_path / "printed.txt").open("w") as printed:
        demo.run([], tmp_path / "demo", Console(file=printed, width=100))
    text = (tmp_path / "printed.txt").read_text()
    last = text[text.index("after a tiny training") :]
    for name in MARGIN:
        assert name in last
        predicted = tmp_path / "demo" / name / "predicted.csv"
        assert predicted.read_bytes() == (demo_of(name) / "predicted.csv").read_bytes()
