"""A part of a data set: items whose files were not downloaded are left out by every command, and named once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tallymark
from tests.cli.running import run
from tests.sets import copy_of

TINY = ("--preset", "tiny", "epochs=1", "evaluations=1", "width=4", "neck=8", "tta=1", "clip_seconds=8.192", "folds=2")
GONE = [f"20990101/20990101_{hour:02}0000.wav" for hour in range(20)]
"""Recordings that the table names, but that are not there."""


@pytest.fixture
def partial(sets: Path, tmp_path: Path) -> Path:
    """The recordings of a small set, and a table that has calls of many more."""
    folder = copy_of(sets, "upcalls", tmp_path)
    [table] = [path for path in folder.rglob("annotations*.csv") if "start" in path.read_text().split("\n")[0]]
    rows = pl.read_csv(table, infer_schema=False)
    more = pl.DataFrame({"filename": GONE, "start": "1.0", "end": "2.0", "label": "up"})
    pl.concat([rows, more.select(rows.columns)]).write_csv(table)
    return folder


def with_calls_of(folder: Path, kept: list[str]) -> None:
    """Leave the calls of these recordings in the table of a set; the others stay, as empty ones."""
    [table] = [path for path in folder.rglob("annotations*.csv") if "start" in path.read_text().split("\n")[0]]
    rows = pl.read_csv(table, infer_schema=False)
    rows.filter(pl.col("filename").is_in(kept)).write_csv(table)


def test_recordings_without_a_file_are_never_trained_on(partial: Path, tmp_path: Path) -> None:
    """Neither those of the data set, nor those of further data."""
    extra = shutil.copytree(partial, tmp_path / "extra")
    printed = run("train", "upcalls", partial, *TINY, "--extra-data", extra, "--out", tmp_path / "run", "--json")
    trained = json.loads(printed[printed.index("{") :])  # after the progress
    assert trained["skipped"]["counts"] == {"missing_media": 2}
    assert f"{len(GONE)} of " in trained["skipped"]["problems"][0]["found"]
    listed = set(pl.read_csv(tmp_path / "run" / "trained_on.csv")["item"])
    assert listed
    assert not listed & set(GONE)


def test_a_partial_folder_is_scored_by_what_is_there(partial: Path, tmp_path: Path) -> None:
    submission = tmp_path / "submission.csv"
    submission.write_text("filename,timestamp\n")
    scored = json.loads(run("score", "upcalls", partial, submission, "--json"))
    assert any(f"{len(GONE)} of " in remark for remark in scored["remarks"])
    counts = tallymark.read("upcalls", partial).with_media().with_truth().truth
    assert scored["counts"][0]["fn"] == len(counts)


def test_folds_and_pages_are_of_the_files_that_are_there(partial: Path, tmp_path: Path) -> None:
    made = json.loads(run("folds", "upcalls", partial, "--folds", 2, "--out", tmp_path / "folds.csv", "--json"))
    assert made["notes"]["counts"] == {"missing_media": 1}
    assert not set(pl.read_csv(tmp_path / "folds.csv")["id"]) & set(GONE)
    assert "missing_media" in run("folds", "upcalls", partial, "--folds", 2, "--out", tmp_path / "again.csv")
    run("explore", "upcalls", partial, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert f"{len(GONE)} of " in page
    assert GONE[-1] not in page


def test_check_counts_many_missing_files_in_one_row(partial: Path) -> None:
    checked = json.loads(run("check", "upcalls", partial, "--json", code=2))
    assert checked["counts"] == {"missing_media": 1}
    assert f"{len(GONE)} of " in checked["problems"][0]["found"]


def test_a_table_without_any_of_its_files_is_refused(partial: Path, tmp_path: Path) -> None:
    for recording in partial.rglob("*.wav"):
        recording.unlink()
    for command in ("folds", "explore"):
        assert "missing_media" in run(command, "upcalls", partial, "--out", tmp_path / "out", code=2)
    assert "missing_media" in run("train", "upcalls", partial, *TINY, "--out", tmp_path / "run", code=2)


def test_training_without_calls_is_refused(partial: Path, tmp_path: Path) -> None:
    with_calls_of(partial, GONE)
    refused = run("train", "upcalls", partial, *TINY, "--out", tmp_path / "run", code=2)
    assert "no_positives" in refused
    assert "to train on" in refused
    assert not (tmp_path / "run").exists()


def test_nothing_to_score_in_the_held_out_fold_is_refused(partial: Path, tmp_path: Path) -> None:
    run("folds", "upcalls", partial, "--folds", 3, "--out", tmp_path / "folds.csv")
    folds = pl.read_csv(tmp_path / "folds.csv")
    with_calls_of(partial, folds.filter(pl.col("fold") > 0)["id"].to_list())
    table = ("--folds", tmp_path / "folds.csv", "--out", tmp_path / "run")
    refused = run("train", "upcalls", partial, *TINY, *table, "train_folds=3", code=2)
    assert "nothing can be scored" in refused


@pytest.mark.slow
def test_sweeps_without_a_file_are_not_pseudo_labelled(tmp_path: Path) -> None:
    data = tmp_path / "lyft"
    run("synth", "lyft", data, "--items", 15, "samples_per_scene=2", "beams=24", "columns=360", "cameras=none")
    catalog = tallymark.read("lyft", data)
    gone, *there = np.flatnonzero(~catalog.labelled).tolist()
    sweep = catalog.path(gone)
    assert sweep is not None
    sweep.unlink()
    small = ("--preset", "tiny", "epochs=1", "evaluations=1", "width=4", "neck=8", "bev_range=16", "voxel_size=0.5")
    run("train", "lyft", data, *small, "--out", tmp_path / "first")
    pseudo = (f"weights={tmp_path / 'first'}", "--pseudo", data)
    printed = run("train", "lyft", data, *small, *pseudo, "--out", tmp_path / "second", "--json")
    skipped = json.loads(printed[printed.index("{") :])["skipped"]
    assert skipped["counts"] == {"missing_media": 2}  # of the data set, and of the folder to pseudo-label
    listed = set(pl.read_csv(tmp_path / "second" / "trained_on.csv")["item"])
    assert catalog.items.ids[gone] not in listed
    assert {catalog.items.ids[item] for item in there} <= listed


def test_the_split_that_is_predicted_is_said_without_those_that_are_missing(partial: Path, tmp_path: Path) -> None:
    shutil.rmtree(partial / "test")
    present = len(tallymark.read("upcalls", partial).with_media())
    printed = run("predict", "upcalls", partial, "--out", tmp_path / "submission.csv")
    assert f"the submission is about {present} recordings of the annotated data" in printed
