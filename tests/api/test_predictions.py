"""Predictions are read from submissions, candidate files and runs alike."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

import tallymark
from tallymark.core.problems import BadInput
from tallymark.inference.candidate_files import write_candidates
from tallymark.inference.postprocess import postprocess
from tallymark.inference.run import HELD_OUT
from tests.inference.made_candidates import NAMES, made_candidates, made_metadata
from tests.made import annotations, columns_of


def kind_of(name: str, path: Path) -> str:
    with pytest.raises(BadInput) as caught:
        tallymark.read_predictions(name, path)
    return next(iter(caught.value.problems)).kind


@pytest.mark.parametrize("name", NAMES)
def test_candidates_above_a_score_are_what_that_threshold_predicts(name: str, tmp_path: Path) -> None:
    candidates, metadata = made_candidates(name, seed=1), made_metadata(name)
    write_candidates(candidates, tmp_path / HELD_OUT, metadata)
    every = tallymark.read_predictions(name, tmp_path / HELD_OUT)
    assert every.score is not None
    assert every.classes == metadata.classes
    for threshold in (0.0, 0.3, 0.8):
        plain = postprocess(candidates, metadata.recipe.replace(score_threshold=threshold, class_thresholds=""))
        kept = every if name == "food" else every.filter(every.scores >= threshold)
        assert kept.offsets.tolist() == plain.offsets.tolist()
        np.testing.assert_array_equal(kept.scores, plain.scores)
        for ours, theirs in zip(columns_of(kept.shapes), columns_of(plain.shapes), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_a_run_stands_for_its_held_out_candidates(tmp_path: Path) -> None:
    assert kind_of("wheat", tmp_path) == "no_candidates"
    write_candidates(made_candidates("wheat"), tmp_path / HELD_OUT, made_metadata("wheat"))
    of_run, of_file = (tallymark.read_predictions("wheat", path) for path in (tmp_path, tmp_path / HELD_OUT))
    assert len(of_run) == len(of_file) > 0


@pytest.mark.parametrize("name", NAMES)
def test_a_submission_is_read_as_its_dialect_says(name: str, tmp_path: Path) -> None:
    made = annotations(name, 3)
    tallymark.write(name, made, tmp_path / "made.csv")
    read = tallymark.read_predictions(name, tmp_path / "made.csv")
    assert len(read) == len(made)


def test_files_of_another_challenge_and_damaged_ones_are_problems(tmp_path: Path) -> None:
    path = tmp_path / "some.parquet"
    write_candidates(made_candidates("ships"), path, made_metadata("ships"))
    assert kind_of("wheat", path) == "other_challenge"
    path.write_bytes(path.read_bytes()[:-5])
    assert kind_of("ships", path) == "bad_candidates"
    assert kind_of("ships", tmp_path / "missing.csv") == "unreadable"


def test_prediction_writes_its_candidates(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for name in "ab":
        image = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
        cv2.imwrite(str(tmp_path / "images" / f"{name}.png"), image)
    result = tallymark.predict("wheat", tmp_path / "images", image_size=64, tta=1, score_threshold=0.05)
    tallymark.export_candidates(result, tmp_path / "some.parquet")
    read = tallymark.read_predictions("wheat", tmp_path / "some.parquet")
    assert read.items.ids.to_list() == result.catalog.items.ids.to_list()
    kept = read.filter(read.scores >= 0.05)
    assert kept.counts.tolist() == result.predictions.counts.tolist()
