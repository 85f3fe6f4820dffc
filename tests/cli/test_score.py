"""`tallymark score`: tables, files, JSON, and the options that challenges declare."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.cli.running import run
from tests.submission.test_fuzzing import GOOD

PAIRS: dict[str, list[tuple[object, ...]]] = {
    "wheat": [("a", 0, 0, 1.0, 6), ("b", 0, 0, 200 / 210, 6)],
    "upcalls": [("a.wav", 0, 0, -0.5)],
    "food": [("a", 1)],
    "lyft": [("a", 0, 0, 1.0, 10)],
    "ships": [("a.jpg", 0, 0, 1.0, 10)],
}
"""What `--pairs` writes for the good files: item, numbers of truth and prediction, overlap, thresholds passed."""


def test_score_prints_tables_and_files(files: tuple[str, Path, Path]) -> None:
    name, truth, submission = files
    per_item, pairs = truth.with_name("items.csv"), truth.with_name("pairs.csv")
    text = run("score", name, truth, submission, "--per-item", per_item, "--pairs", pairs)
    assert text.replace("\n", "").endswith(f"written to {per_item}written to {pairs}")
    assert "score" in text
    assert "rule options" in text
    assert pl.read_csv(per_item, infer_schema=False)["item"].to_list() == pl.read_csv(submission)[:, 0].to_list()
    assert pl.read_csv(pairs).rows() == PAIRS[name]
    printed = json.loads(run("score", name, truth, submission, "--json"))
    assert {"score", "rule_options", "counts"} <= set(printed)


def test_wheat_shows_groups_by_source(good: Callable[[str], tuple[Path, Path]]) -> None:
    printed = json.loads(run("score", "wheat", *good("wheat"), "--json"))
    assert [group["group"] for group in printed["groups"]] == ["s", "t"]
    assert "groups" in run("score", "wheat", *good("wheat"))


def test_score_options_of_another_challenge_are_refused(
    good: Callable[[str], tuple[Path, Path]], tmp_path: Path
) -> None:
    command = ("score", "wheat", *good("wheat"))
    for option in (("--audio", tmp_path), ("--hours", 3)):
        text = run(*command, *option, code=2)
        assert "bad_option" in text
        assert "it is an option of upcalls" in text
    assert "it is an option of lyft" in run(*command, "--by-distance", tmp_path, code=2)
    assert "No such option" in run(*command, "--nonsense", 3, code=2)


def test_min_points_need_distances(good: Callable[[str], tuple[Path, Path]]) -> None:
    assert "add --by-distance" in run("score", "lyft", *good("lyft"), "--min-points", 3, code=2)


def test_score_help_shows_the_options_that_challenges_declare() -> None:
    text = run("score", "--help")
    assert all(option in text for option in ("--hours", "--audio", "--by-distance", "--min-points", "--rule"))
    text = run("score", "upcalls", "--help")
    assert "--hours" in text
    assert "--by-distance" not in text
    listed = {row["name"]: row for row in json.loads(run("list", "--json"))["challenges"]}
    flags = [option["option"] for option in listed["upcalls"]["score_options"]]
    assert flags == ["--hours", "--audio", "--labels", "--time-pattern", "--time-zone"]
    assert listed["wheat"]["score_options"] == []


def test_options_may_stand_before_the_challenge(good: Callable[[str], tuple[Path, Path]]) -> None:
    printed = json.loads(run("score", "--json", "--hours=2", "upcalls", *good("upcalls")))
    assert printed["rule_options"]["hours"] == 2


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["-r", "matsch=best_overall"], "did you mean 'match'?"),
        (["-r", "match=best_overal"], "did you mean 'best_overall'?"),
        (["-r", "match"], "key=value"),
    ],
)
def test_an_unknown_rule_option_suggests_the_nearest(
    words: list[str], hint: str, good: Callable[[str], tuple[Path, Path]]
) -> None:
    assert hint in run("score", "wheat", *good("wheat"), *words, code=2)


def test_images_of_another_set_are_refused(tmp_path: Path) -> None:
    truth, submission, images = (tmp_path / f"{name}.csv" for name in ("truth", "submission", "images"))
    truth.write_text(GOOD["wheat"][0])
    submission.write_text(GOOD["wheat"][1])
    images.write_text("image_id,PredictionString\na.jpg,\nb.jpg,\n")
    assert "no_common_id" in run("score", "wheat", truth, submission, "--images", images, code=2)


def test_an_unwritable_output_is_reported(good: Callable[[str], tuple[Path, Path]], tmp_path: Path) -> None:
    words = ("score", "wheat", *good("wheat"))
    unwritable = ("--per-item", tmp_path / "no" / "items.csv")
    assert "bad_path" in run(*words, *unwritable, code=2)
    assert json.loads(run(*words, *unwritable, "--json", code=2))["counts"] == {"bad_path": 1}


def test_a_missing_score_is_explained_and_gives_no_verdict(tmp_path: Path) -> None:
    truth, submission = tmp_path / "truth.csv", tmp_path / "submission.csv"
    truth.write_text("Id,PredictionString\ns,0 0 0 2 4 2 0 car\nu,\n")
    submission.write_text("Id,PredictionString\ns,0.9 0 0 0 2 4 2 0 car\nu,\n")
    words = ("lyft", truth, submission)
    assert "a sample has no truth" in run("score", *words, "-r", "metric=mlebench")
    assert "no verdict" in run("compare", *words, submission, "-r", "metric=mlebench", "--resamples", 50)
