"""Scores from Python: rule options, and the score options that a challenge declares."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import soundfile

import tallymark
from tallymark.core.problems import BadInput


@pytest.fixture
def detections(tmp_path: Path) -> tuple[Path, Path]:
    truth, submission = tmp_path / "truth.csv", tmp_path / "detections.csv"
    truth.write_text("filename,timestamp\na.wav,10\n")
    submission.write_text("filename,timestamp\na.wav,50\n")
    return truth, submission


def test_hours_are_a_rule_option_or_come_from_audio(detections: tuple[Path, Path], tmp_path: Path) -> None:
    assert math.isnan(tallymark.score("upcalls", *detections).details["fp_per_hour"])
    assert tallymark.score("upcalls", *detections, hours=2).details["fp_per_hour"] == 0.5
    soundfile.write(tmp_path / "a.wav", np.zeros(2000 * 90), 2000)
    assert tallymark.score("upcalls", *detections, audio=tmp_path).details["fp_per_hour"] == 40
    assert tallymark.score("upcalls", *detections, audio=None, hours=2).details["fp_per_hour"] == 0.5


def test_a_score_option_of_another_challenge_is_unknown(detections: tuple[Path, Path]) -> None:
    with pytest.raises(BadInput, match="unknown_option: found 'by_distance'"):
        tallymark.score("upcalls", *detections, by_distance="folder")


def test_distances_are_an_analysis_of_a_score(sets: Path, tmp_path: Path) -> None:
    folder, submission = sets / "lyft", tmp_path / "submission.csv"
    truth = tallymark.read("lyft", folder).in_split("train").truth
    assert truth is not None
    tallymark.write("lyft", truth, submission)
    score = tallymark.score("lyft", folder, submission, by_distance=folder, min_points=5)
    assert list(score.analyses) == ["distances"]
    assert "metres" in str(score)
    tables = tallymark.by_distance("lyft", folder, submission, folder, min_points=5)
    assert score.as_dict()["distances"] == tables.as_dict()
    assert tables.classes["recall_70"].min() == 1
    assert not tallymark.score("lyft", folder, submission).analyses


def test_distances_need_3d_boxes(detections: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        tallymark.by_distance("upcalls", *detections, tmp_path)
