"""Scores from Python: rule options, and the score options that a challenge declares."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import soundfile

import tallymark
from tallymark.api.report import subject_of
from tallymark.core.problems import BadInput
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Labels


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


def test_hours_of_a_fold_are_those_of_its_recordings(detections: tuple[Path, Path], tmp_path: Path) -> None:
    for name in ("a.wav", "b.wav"):
        soundfile.write(tmp_path / name, np.zeros(2000 * 90), 2000)
    write_folds(tmp_path / "folds.csv", ["a.wav", "b.wav"], [0, 1])
    of_a_fold = {"fold_table": tmp_path / "folds.csv", "fold": 0}
    assert tallymark.score("upcalls", *detections, audio=tmp_path, **of_a_fold).details["fp_per_hour"] == 40
    assert tallymark.score("upcalls", *detections, audio=tmp_path, images=detections[0]).details["fp_per_hour"] == 40
    assert tallymark.score("upcalls", *detections, audio=tmp_path).details["fp_per_hour"] == 20


def test_every_command_scores_the_labelled_recordings_of_a_folder_only(tmp_path: Path) -> None:
    folder, files = tmp_path / "recordings", tmp_path / "files"
    folder.mkdir()
    files.mkdir()
    for name in ("a.wav", "b.wav", "c.wav"):
        soundfile.write(folder / name, np.zeros(2000 * 90), 2000)
    for name in ("a", "b"):  # c.wav has no label track: nobody knows whether it has calls
        (folder / f"{name}.txt").write_text("10\t11\tup\n30\t31\tup\n")
    found = ["a.wav,10.5,0.9", "a.wav,80,0.3", "b.wav,30.5,0.8", "c.wav,20,0.7", "c.wav,50,0.6"]
    paths = [files / "first.csv", files / "second.csv"]
    for path, rows in zip(paths, (found, found[:-1]), strict=True):
        path.write_text("filename,timestamp,score\n" + "\n".join(rows) + "\n")
    f1 = pytest.approx(2 * 2 / (2 * 2 + 1 + 2))
    score = tallymark.score("upcalls", folder, paths[0])
    assert score.value == f1
    assert score.details["fp_per_hour"] == 20
    assert score.remarks == ("1 of 3 predicted items in first.csv without annotations or media: not scored",)
    assert tallymark.compare("upcalls", folder, *paths).difference == 0
    assert [entry.score for entry in tallymark.board("upcalls", files, folder).entries] == [f1, f1]
    fused = tallymark.fuse("upcalls", paths, truth=folder, score_threshold=0.0)
    assert [one.score.value for one in fused.inputs] == [f1, f1]
    assert fused.predictions.items.ids.to_list() == ["a.wav", "b.wav", "c.wav"]
    subject = subject_of(tallymark.challenge("upcalls"), paths[0], tallymark.read("upcalls", folder), None, {})
    assert subject.truth is not None
    assert subject.rule(subject.truth, subject.predicted).value == f1


def test_the_score_of_a_group_is_that_of_its_items_alone(tmp_path: Path) -> None:
    """F1 is of all calls together: recordings with few calls count less."""
    names = [f"2009032{day}_{hour:02}0000.wav" for day in (7, 8) for hour in range(2)]
    for name in names:
        soundfile.write(tmp_path / name, np.zeros(2000 * 90), 2000)
    calls = pl.DataFrame({"filename": [names[0], *[names[1]] * 9, names[2]], "timestamp": [*range(0, 55, 5)]})
    calls.write_csv(tmp_path / "annotations.csv")
    calls[[0, 1, 2]].write_csv(tmp_path / "submission.csv")
    score = tallymark.score("upcalls", tmp_path, tmp_path / "submission.csv", images=tmp_path)
    assert score.groups is not None
    assert score.groups is score.groups, "they are computed once"
    assert dict(score.groups.select("group", "score").iter_rows()) == pytest.approx(
        {"2009-03-27": 2 * 3 / (2 * 3 + 7), "2009-03-28": 0.0}
    )


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


FOLD_NAMES = ("wheat", "upcalls", "food", "lyft", "ships")


def write_folds(path: Path, ids: list[str], fold: list[int]) -> None:
    table = {"id": ids, "group": ids, "fold": fold, "objects": [0] * len(ids)}
    pl.DataFrame(table).write_csv(path)


@pytest.mark.parametrize("name", FOLD_NAMES)
def test_the_items_of_a_fold_are_scored_alone(name: str, sets: Path, tmp_path: Path) -> None:
    catalog = tallymark.read(name, sets / name).with_truth()
    truth = catalog.truth
    fold = np.arange(len(truth.items)) % 2
    write_folds(tmp_path / "folds.csv", truth.items.ids.to_list(), fold.tolist())
    moved = truth.filter(truth.numbers != 1)
    if name == "food":
        moved = Annotations.from_rows(
            truth.items, np.repeat(truth.item, 3), Labels(np.tile([0, 1, 2], len(truth))), classes=truth.classes
        )
    options = {"num_classes": 4} if name == "food" else {}
    tallymark.write(name, moved, tmp_path / "all.csv", **options)
    inside = Items(truth.items.ids.filter(pl.Series(fold == 1)))
    tallymark.write(name, moved.reindex(inside), tmp_path / "inside.csv", **options)
    what = tallymark.challenge(name)
    rule = what.parse_rule_options(options, sets / name, truth.classes)
    expected = what.score(truth.reindex(inside), moved.reindex(inside), rule).value
    for file in ("all.csv", "inside.csv"):
        scored = tallymark.score(
            name, sets / name, tmp_path / file, fold_table=tmp_path / "folds.csv", fold=1, **options
        )
        assert scored.value == pytest.approx(expected, nan_ok=True)
        assert scored.items.height == len(inside)


def test_folds_that_cannot_be_scored_are_problems(tmp_path: Path) -> None:
    files = tallymark.challenge("wheat").folder / "example"
    truth, submission = files / "truth.csv", files / "submission.csv"
    ids = tallymark.read_truth("wheat", truth).items.ids.to_list()
    table = tmp_path / "folds.csv"
    write_folds(table, ids, [0] * len(ids))

    def kinds(**given: Any) -> set[str]:
        with pytest.raises(BadInput) as caught:
            tallymark.score("wheat", truth, submission, **given)
        return set(caught.value.problems.counts)

    assert tallymark.score("wheat", truth, submission, fold_table=table, fold=0).value > 0
    assert kinds(fold=0) == kinds(fold_table=table) == {"bad_option"}
    assert kinds(fold=0, fold_table=table, images=submission) == {"bad_option"}
    assert kinds(fold=7, fold_table=table) == {"empty_fold"}
    write_folds(table, ["x", "y"], [0, 0])
    assert "no_common_id" in kinds(fold_table=table, fold=0)
    write_folds(table, ids[:1], [0])  # the submission has other ids than those of any fold
    assert "unknown_id" in kinds(fold_table=table, fold=0)
