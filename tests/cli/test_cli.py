"""The command line as a whole: help, version, list, demo."""

from __future__ import annotations

import json
from collections.abc import Callable
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


COMMANDS = [
    ("score", "TRUTH", "SUBMISSION"),
    ("check", "SUBMISSION"),
    ("compare", "TRUTH", "SUBMISSION", "SUBMISSION"),
    ("repair", "SUBMISSION", "--out", "OUT"),
    ("convert", "SUBMISSION", "--out", "OUT"),
    ("fuse", "SUBMISSION", "SUBMISSION", "--out", "OUT"),
    ("board", "FOLDER", "TRUTH", "--out", "OUT"),
    ("report", "SUBMISSION", "--out", "OUT"),
    ("explore", "FOLDER", "--out", "OUT"),
    ("folds", "FOLDER", "--out", "OUT"),
    ("folds", "FOLDER", "--out", "OUT", "--public-private"),
    ("train", "FOLDER", "--out", "OUT"),
    ("train", "FOLDER", "--dry-run"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("option", ["name", "out", "seed", "images", "exclude", "rule_options"])
def test_a_rule_option_that_there_is_not_is_refused(
    words: tuple[str, ...], option: str, good: Callable[[str], tuple[Path, Path]], tmp_path: Path
) -> None:
    """Also where it is called like an argument or an option of the command."""
    truth, submission = good("wheat")
    places = {"TRUTH": truth, "SUBMISSION": submission, "FOLDER": tmp_path, "OUT": tmp_path / "out"}
    command, *rest = words
    text = run(command, "wheat", *(places.get(word, word) for word in rest), "--rule", f"{option}=1", code=2)
    assert "unknown_option" in text
    assert f"'{option}'" in text
    assert not (tmp_path / "out").exists()


def test_score_options_are_no_rule_options(good: Callable[[str], tuple[Path, Path]]) -> None:
    assert "'min_points'" in run("score", "lyft", *good("lyft"), "--rule", "min_points=many", code=2)


@pytest.mark.parametrize("words", [COMMANDS[2], COMMANDS[7]], ids=lambda words: words[0])
def test_a_negative_seed_is_refused(
    words: tuple[str, ...], good: Callable[[str], tuple[Path, Path]], tmp_path: Path
) -> None:
    truth, submission = good("wheat")
    places = {"TRUTH": truth, "SUBMISSION": submission, "OUT": tmp_path / "out"}
    command, *rest = words
    text = run(command, "wheat", *(places.get(word, word) for word in rest), "--seed", -1, code=2)
    assert "Invalid value for '--seed'" in text
