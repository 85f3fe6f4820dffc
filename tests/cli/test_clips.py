"""Clips with a yes or no: read as weak labels, trained on, predicted, and scored by presence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile

import tallymark
from tallymark.api.models import find_preset
from tallymark.data.folds import Folds
from tallymark.scoring.clip_presence import area_under_roc
from tallymark.training.train import TrainingPlan, hold_out
from tests.cli.running import run
from tests.formats.files import put

RATE = 2000
TRUTH = "clip_name,label\na.wav,1\nb.wav,0\nc.wav,1\nd.wav,0\n"


@pytest.fixture
def clips(sets: Path, tmp_path: Path) -> Path:
    """Two seconds around synthetic calls, and as many without any; and two clips that no table names."""
    catalog = tallymark.read("upcalls", sets / "upcalls").in_split("train")
    assert catalog.truth is not None
    folder = tmp_path / "clips"
    (folder / "train").mkdir(parents=True)
    rows = ["clip_name,label"]
    for item in range(len(catalog)):
        path = catalog.path(item)
        assert path is not None
        samples, rate = soundfile.read(path)
        times = catalog.truth.shapes.time[catalog.truth.item == item]
        for start in np.arange(0, len(samples) / rate - 2, 3.0):
            near = np.abs(times - start - 1)
            if near.min(initial=9) > 0.5 and near.min(initial=9) < 2.5:
                continue  # a call on the edge
            name = f"clip{len(rows)}.wav"
            soundfile.write(folder / "train" / name, samples[int(start * rate) : int((start + 2) * rate)], rate)
            rows.append(f"{name},{int(near.min(initial=9) <= 0.5)}")
    unnamed = rows[-2:]
    put(folder / "train.csv", "\n".join(rows[: -len(unnamed)]) + "\n")
    return folder


@pytest.mark.slow
def test_clips_from_check_to_score(clips: Path, tmp_path: Path) -> None:
    labels = pl.read_csv(clips / "train.csv")
    yes = int(labels["label"].sum())
    assert 0 < yes < len(labels)
    printed = json.loads(run("check", "upcalls", clips, "--json", code=2))
    assert printed["counts"] == {"orphan_media": 2}
    assert (printed["items"], printed["objects"]) == (len(labels) + 2, yes)
    assert f"{yes} of {len(labels)} with a call; they are scored by presence (AUC)" in printed["remarks"][0]
    run("explore", "upcalls", clips, "--out", tmp_path / "page.html")
    assert "scored by presence (AUC)" in (tmp_path / "page.html").read_text()
    words = ("--preset", "tiny", "--out", tmp_path / "run", "--json", "epochs=1", "folds=2")
    text = run("train", "upcalls", clips, *words)
    trained = json.loads(text[text.index("{") :])
    assert trained["score"] == trained["auc"]
    assert trained["baseline"] == 0.5
    assert "fp_per_hour" not in trained
    assert "recall_at_1_fp_per_hour" not in trained
    out = tmp_path / "probabilities.csv"
    run("predict", tmp_path / "run", clips, "--out", out)
    predicted = pl.read_csv(out)
    assert predicted.columns == ["clip_name", "probability"]
    assert set(labels["clip_name"]) <= set(predicted["clip_name"])
    assert predicted["probability"].n_unique() > 2
    assert "valid" in run("check", "upcalls", out)
    predicted.filter(pl.col("clip_name").is_in(labels["clip_name"].implode())).write_csv(out)
    for truth in (clips / "train.csv", clips):
        scored = json.loads(run("score", "upcalls", truth, out, "--json"))
        probability = labels.join(pl.read_csv(out), on="clip_name")
        positive, negative = (probability.filter(label=value)["probability"].to_numpy() for value in (1, 0))
        assert scored["score"] == pytest.approx(float((positive[:, None] > negative).mean()), abs=0.05)
        assert "fp_per_hour" not in scored
    out = tmp_path / "all.csv"
    run("predict", tmp_path / "run", clips / "train", "--out", out, "--form", "clips")
    assert pl.read_csv(out).height == len(labels) + 2


def test_clips_that_all_have_a_call_are_refused_before_training(clips: Path, tmp_path: Path) -> None:
    """Whether there is a call in a clip cannot be learnt, nor scored, from one answer."""
    labels = pl.read_csv(clips / "train.csv")
    labels.with_columns(label=pl.lit(1)).write_csv(clips / "train.csv")
    printed = run("train", "upcalls", clips, "--out", tmp_path / "run", "--preset", "tiny", "--json", code=2)
    assert json.loads(printed)["counts"] == {"no_negatives": 1}
    assert not (tmp_path / "run").exists()


def test_a_fold_of_clips_that_all_have_a_call_is_not_held_out(clips: Path) -> None:
    catalog = tallymark.read("upcalls", clips).with_media()
    chosen = catalog.select(catalog.labelled)
    counts = chosen.with_truth().truth.counts
    fold = np.arange(len(chosen)) % 3  # of which the first keeps clips with a call only
    fold[(fold == 0) & (counts == 0)] = 1
    folds = Folds(chosen.items, fold, chosen.items.ids, counts)
    recipe = find_preset("upcalls", "tiny")
    plan = TrainingPlan("upcalls", lambda truth, predicted: None, catalog, recipe, Path("run"), folds=folds)  # type: ignore[arg-type, return-value]
    assert [one.number for one in hold_out(plan)] == [1]


def test_clips_in_files_are_scored_by_auc(tmp_path: Path) -> None:
    truth = put(tmp_path / "truth.csv", TRUTH)
    probabilities = put(tmp_path / "p.csv", "clip,probability\na.wav,0.9\nb.wav,0.4\nc.wav,0.4\nd.wav,0.1\n")
    printed = json.loads(run("score", "upcalls", truth, probabilities, "--json"))
    assert printed["score"] == printed["auc"] == 0.875  # of four pairs three are in order, and one is a tie
    assert printed["accuracy"] == 0.75
    detections = put(tmp_path / "d.csv", "filename,timestamp,score\na.wav,1,0.5\nd.wav,1,0.5\n")
    printed = json.loads(run("score", "upcalls", truth, detections, "--json"))
    assert (printed["tp"], printed["fp"], printed["fn"], printed["tn"]) == (1, 1, 1, 1)
    assert "AUC: 0.5" in run("score", "upcalls", truth, detections)


@pytest.mark.parametrize(
    ("truth", "predicted", "kind"),
    [
        (TRUTH, "clip_name,probability\na.wav,0.9\nb.wav,0.4\nc.wav,0.4\n", "missing_id"),
        (TRUTH, "clip_name,probability\na.wav,1\nb.wav,0\nc.wav,1\nd.wav,0\ne.wav,0\n", "unknown_id"),
        (TRUTH, "clip_name,probability\na.wav,x\nb.wav,0\nc.wav,1\nd.wav,0\n", "not_a_number"),
        (TRUTH.replace("a.wav,1", "a.wav,maybe"), "filename,timestamp\n", "bad_label"),
        (TRUTH + "a.wav,1\n", "filename,timestamp\n", "duplicate_id"),
        ("filename,timestamp\na.wav,1\n", "clip_name,probability\na.wav,0.9\n", "other_truth"),
    ],
)
def test_clips_that_do_not_fit_are_refused(tmp_path: Path, truth: str, predicted: str, kind: str) -> None:
    files = put(tmp_path / "truth.csv", truth), put(tmp_path / "p.csv", predicted)
    printed = json.loads(run("score", "upcalls", *files, "--json", code=2))
    assert kind in printed["counts"]


def test_one_kind_of_clip_alone_has_no_auc(tmp_path: Path) -> None:
    truth = put(tmp_path / "truth.csv", "clip_name,label\na.wav,1\n")
    predicted = put(tmp_path / "p.csv", "clip_name,probability\na.wav,0.9\n")
    printed = json.loads(run("score", "upcalls", truth, predicted, "--json"))
    assert printed["score"] is None
    assert "clips with and without" in printed["note"]


def test_the_area_counts_weights_and_ties() -> None:
    positive, negative = np.array([0.9, 0.4]), np.array([0.4, 0.1])
    assert area_under_roc(positive, negative) == 0.875
    twice = area_under_roc(positive, negative, np.array([2, 1]), np.array([1, 3]))
    assert twice == area_under_roc(np.array([0.9, 0.9, 0.4]), np.array([0.4, 0.1, 0.1, 0.1]))
    assert np.isnan(area_under_roc(positive, negative[:0]))
