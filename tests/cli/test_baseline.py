"""A score is shown beside that of a trivial submission: in text, in JSON and in runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import run

CASES = {
    "wheat": ('image_id,bbox\na,"[0, 0, 9, 9]"\n', "image_id,PredictionString\na,1 0 0 9 9\n", 0.0),
    "upcalls": ("filename,timestamp,label\na.wav,5,up\n", "filename,timestamp\na.wav,5\n", 0.0),
    "lyft": (
        "Id,PredictionString\na,0 0 0 2 4 2 0 car\nb,\n",
        "Id,PredictionString\na,1 0 0 0 2 4 2 0 car\nb,\n",
        0.0,
    ),
    "ships": (
        "ImageId,EncodedPixels\na,1 9\nb,\nc,\n",
        "ImageId,EncodedPixels\na,1 9\nb,\nc,\n",
        2 / 3,  # two of three chips show no ship, so a blank file is right there
    ),
    "food": (  # 7 is most common, then 2 and 3; of five images, the one of class 9 remains wrong
        "image_name,label\na,7\nb,7\nc,9\nd,3\ne,2\n",
        "image_name,pred1,pred2,pred3\na,7,1,2\nb,7,1,2\nc,9,1,2\nd,3,1,2\ne,2,1,0\n",
        1 / 5,
    ),
}
"""Truth, a submission without an error, and the score of a trivial one."""


@pytest.mark.parametrize("name", CASES)
def test_score_shows_the_baseline(name: str, tmp_path: Path) -> None:
    truth, submission, baseline = CASES[name]
    paths = tmp_path / "truth.csv", tmp_path / "submission.csv"
    for path, text in zip(paths, (truth, submission), strict=True):
        path.write_text(text)
    printed = json.loads(run("score", name, *paths, "--json"))
    assert printed["baseline"] == pytest.approx(baseline)
    shown = run("score", name, *paths)
    what = "the most common labels for every image" if name == "food" else "nothing found"
    assert f"baseline {baseline:.6f} ({what})\n" in shown


def test_a_score_that_is_not_better_says_so(tmp_path: Path) -> None:
    truth, submission = tmp_path / "truth.csv", tmp_path / "submission.csv"
    truth.write_text("ImageId,EncodedPixels\na,1 9\nb,\n")
    submission.write_text("ImageId,EncodedPixels\na,100 9\nb,\n")
    assert "baseline 0.500000 (nothing found); this score is not better" in run("score", "ships", truth, submission)


def test_a_baseline_without_a_score_is_null(tmp_path: Path) -> None:
    """Of images without boxes and predictions none counts, so that only the submission has a score."""
    truth, submission = tmp_path / "truth.csv", tmp_path / "submission.csv"
    truth.write_text("image_id,bbox\na,\n")
    submission.write_text("image_id,PredictionString\na,1 0 0 9 9\n")
    printed = json.loads(run("score", "wheat", truth, submission, "--json"))
    assert (printed["score"], printed["baseline"]) == (0.0, None)
    assert "baseline without a score (nothing found)\n" in run("score", "wheat", truth, submission)


@pytest.mark.slow
def test_a_run_and_the_demo_have_the_baseline(demo_of: Callable[[str], Path]) -> None:
    folder = demo_of("food")
    score = json.loads((folder / "run" / "score.json").read_text())
    assert score["score"] < score["baseline"] < 1
    assert "(the most common labels for every image)" in (folder.parent.parent / "printed.txt").read_text()
