"""The command line as a whole: help, version, list, demo."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.made import NAMES


def test_help_lists_every_command() -> None:
    text = run("--help")
    commands = "list check score compare repair convert explore folds synth train predict tune fuse kit demo"
    assert all(command in text for command in commands.split())


def test_list_shows_challenges_and_the_options_of_one() -> None:
    text = run("list")
    assert all(name in text for name in NAMES)
    assert "best_overall" not in text
    assert "best_overall" in run("list", "wheat")
    assert "or misses if the best overall is taken" in run("list", "wheat")
    listed = {row["name"]: row for row in json.loads(run("list", "--json"))["challenges"]}
    assert set(listed) >= set(NAMES)
    assert {"option": "shape", "values": "HEIGHTxWIDTH", "default": "768x768"} in listed["ships"]["rule_options"]
    assert "did you mean 'ships'?" in run("list", "ship", code=2)


def test_an_unknown_challenge_suggests_the_nearest(tmp_path: Path) -> None:
    assert "did you mean 'wheat'?" in run("check", "wheet", tmp_path / "x.csv", code=2)


def test_version() -> None:
    assert run("--version").startswith("tallymark 0.")


@pytest.mark.slow
def test_the_demo_of_one_challenge_trains_and_scores_only_that(tmp_path: Path) -> None:
    text = run("demo", "food", "--out", tmp_path / "demo")
    assert "tallymark score food" in text
    assert "wheat" not in text
    assert "baseline score" in text
    assert (tmp_path / "demo" / "food" / "predicted.csv").exists()
    assert (tmp_path / "demo" / "food" / "submission.csv").exists()
