"""Event detection end to end: from recordings with Raven tables to a run, its recall curve and its exports."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import soundfile
from typer.testing import CliRunner

import tallymark
from tallymark.api import data as api_data
from tallymark.cli.main import app
from tallymark.core.problems import BadInput
from tallymark.formats import write_raven
from tallymark.inference.metadata import ModelMetadata
from tallymark.inference.predictor import Predictor
from tallymark.inference.recall_curve import RecallCurve
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.reporting.calls import calls_per_hour
from tallymark.training.export import export
from tallymark.training.network import make_network

TINY = AudioRecipe().replace(width=4, neck=8)
SMALL: dict[str, Any] = {
    "width": 4,
    "neck": 8,
    "epochs": 1,
    "evaluations": 1,
    "clip_seconds": 4.096,
    "folds": 3,
    "train_folds": 2,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings of some days with a Raven table for each, and no other table; some have no calls."""
    synthetic = tmp_path_factory.mktemp("synthetic")
    mine = tmp_path_factory.mktemp("mine")
    api_data.synth("upcalls", synthetic, items=10, seconds=20, calls=700, quiet=0.2)
    catalog = api_data.read("upcalls", synthetic).in_split("train")
    truth: Any = catalog.truth
    for item in range(len(catalog)):
        shutil.copy(synthetic / catalog.files[item], mine / Path(catalog.files[item]).name)
    tables = write_raven(truth, mine, (50, 350))
    for table in tables:
        shutil.move(table, mine / table.name)
    for day in [path for path in mine.iterdir() if path.is_dir()]:
        day.rmdir()
    return mine


@pytest.fixture(scope="module")
def run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "run"
    tallymark.train("upcalls", folder, out, preset="tiny", **SMALL)
    return out


def test_raven_tables_are_the_truth_of_recordings(folder: Path) -> None:
    catalog = tallymark.read("upcalls", folder)
    assert catalog.labelled.all()
    assert catalog.truth is not None
    assert (catalog.truth.counts == 0).any()
    assert catalog.truth.shapes.length is not None
    assert catalog.group.n_unique() > 3


def test_a_run_has_a_recall_curve_of_all_held_out_recordings(run: Path, folder: Path) -> None:
    """Each model is evaluated on recordings that it was not trained on; the curve is of all of these."""
    score = json.loads((run / "score.json").read_text())
    table = pl.read_csv(run / "recall.csv")
    assert table.columns == ["score_threshold", "recall", "precision", "f1", "fp_per_hour"]
    hours = score["items"] * 20 / 3600
    assert score["rule_options"]["hours"] == pytest.approx(hours, abs=1e-6)
    assert score["fp_per_hour"] == pytest.approx(score["fp"] / hours, rel=1e-4)
    models = [Predictor([path]).metadata for path in sorted(run.glob("fold-*/model.onnx"))]
    assert len(models) == 2
    for metadata in models:
        curve = RecallCurve.of(metadata.recall_curve)
        assert curve is not None
        assert curve.hours == pytest.approx(hours)
        assert curve.table.equals(table)
        assert score["recall_at_10_fp_per_hour"] == curve.recall_at(10)
        assert score["recall_at_1_fp_per_hour"] <= score["recall_at_10_fp_per_hour"]
        truth: Any = tallymark.read("upcalls", folder).truth
        assert metadata.event_seconds == pytest.approx(np.median(truth.shapes.length), abs=1e-3)
    assert "false positives per hour" in (run / "recall.html").read_text()


def test_a_threshold_is_chosen_by_its_false_positives_per_hour(run: Path, folder: Path) -> None:
    table = pl.read_csv(run / "recall.csv")
    rate = float(table["fp_per_hour"].median() or 0)
    wanted = table.filter(pl.col("fp_per_hour") <= rate)["score_threshold"][0]
    alone = next(run.glob("fold-*/model.onnx"))
    for model in (run, alone):
        assert tallymark.predict(model, folder, fp_per_hour=rate).recipe.score_threshold == wanted
    least = float(table["fp_per_hour"].min() or 0)
    note = tallymark.predict(alone, folder, fp_per_hour=0).notes[0]
    assert ("no threshold had as few as" if least else "cannot be distinguished") in note
    with pytest.raises(BadInput, match="one way to choose the score threshold"):
        tallymark.predict(alone, folder, fp_per_hour=1, score_threshold=0.5)


def test_every_export_is_written(run: Path, folder: Path, tmp_path: Path) -> None:
    names = ("counts.csv", "calls.csv", "days.csv", "calls.html", "raven", "audacity", "clips")
    options = ("--counts", "--objects", "--days", "--plot", "--raven", "--audacity", "--clips")
    written = [word for option, name in zip(options, names, strict=True) for word in (option, str(tmp_path / name))]
    words = [
        "predict",
        str(run),
        str(folder),
        "score_threshold=0.04",
        "--out",
        str(tmp_path / "submission.csv"),
        "--form",
        "scored",
    ]
    result = CliRunner().invoke(app, [*words, *written, "--clips-each", "2", "--json"])
    assert result.exit_code == 0, result.output
    summary = json.loads(result.output)
    recordings = sorted(path.name for path in folder.glob("*.wav"))
    assert summary["items"] == len(recordings)
    assert summary["hours"] == pytest.approx(len(recordings) * 20 / 3600, abs=1e-6)
    submission = pl.read_csv(tmp_path / "submission.csv")
    assert submission.columns == ["filename", "timestamp", "score"]
    assert submission.height == summary["count"] > len(recordings)
    assert all(group["timestamp"].is_sorted() for _, group in submission.group_by("filename"))
    assert not tallymark.check("upcalls", tmp_path / "submission.csv", against=folder).problems
    truth = tmp_path / "truth.csv"
    truth.write_text("filename,timestamp,label\n" + f"{recordings[0]},1.0,up\n")
    scored = tallymark.score("upcalls", truth, tmp_path / "submission.csv").details
    counts = pl.read_csv(tmp_path / "counts.csv")
    assert counts["count"].sum() == summary["count"]
    assert 0 < scored["fp"] <= summary["count"]
    assert counts["recorder"].unique().to_list() == ["NOPP6_EST"]
    days = pl.read_csv(tmp_path / "days.csv")
    assert days.columns == ["recorder", "day", "hours", "count", "per_hour"]
    assert days["day"].to_list() == sorted(counts["day"].unique().to_list())
    assert days["count"].sum() == summary["count"]
    assert pl.read_csv(tmp_path / "calls.csv").height == summary["count"]
    assert "Calls by day and hour" in (tmp_path / "calls.html").read_text()
    assert pl.read_csv(tmp_path / "clips" / "index.csv").height >= 4
    shutil.copytree(folder, tmp_path / "again", ignore=shutil.ignore_patterns("*.txt"))
    for kind in ("raven", "audacity"):  # files for other tools are read back as they were
        shutil.copytree(tmp_path / kind, tmp_path / "again" / kind)
        read: Any = tallymark.read("upcalls", tmp_path / "again").truth
        assert len(read) == summary["count"]
        assert np.allclose(np.sort(read.shapes.time), np.sort(submission["timestamp"].to_numpy()), atol=1e-3)
        shutil.rmtree(tmp_path / "again" / kind)
    table = next((tmp_path / "raven").glob("*.txt")).read_text().splitlines()
    first = dict(zip(table[0].split("\t"), table[1].split("\t"), strict=True))
    assert (first["Low Freq (Hz)"], first["High Freq (Hz)"]) == ("40", "415")
    assert 0 < float(first["Score"]) < 1


def test_the_official_form_has_two_columns(run: Path, folder: Path, tmp_path: Path) -> None:
    tallymark.predict(run, folder, tmp_path / "submission.csv", score_threshold=0.04)
    assert (tmp_path / "submission.csv").read_text().splitlines()[0] == "filename,timestamp"
    with pytest.raises(BadInput, match="official or scored"):
        tallymark.predict(run, folder, tmp_path / "submission.csv", form="score")


def test_options_that_a_model_does_not_support_are_refused(folder: Path, run: Path, tmp_path: Path) -> None:
    def refused(*words: str) -> str:
        result = CliRunner().invoke(app, ["predict", *words, "--json"])
        assert result.exit_code == 2, result.output
        [problem] = json.loads(result.output)["problems"]
        return f"{problem['kind']} {problem['found']} {problem['expected']}"

    recipe = ImageRecipe().replace(width=4, neck=8)
    export(make_network(recipe, 1).eval(), ModelMetadata("wheat", recipe), tmp_path / "model.onnx")
    model = str(tmp_path / "model.onnx")
    for option in ("--days", "--plot", "--raven", "--audacity", "--clips"):
        assert refused(model, str(folder), option, "x") == f"bad_option {option} a model of events in recordings"
    expected = "bad_option a model of wheat a model of events in recordings"
    assert refused(model, str(folder), "--fp-per-hour", "1") == expected
    assert refused(str(run), str(folder), "--gsd", "1") == "bad_option --gsd a model that detects objects in images"
    assert refused(str(run), str(folder), "tta=2") == "bad_option tta=2 tta=1: time has one direction only"
    assert refused(str(run), str(folder), "--counts", str(tmp_path)).startswith("bad_path a folder")
    for option in ("--out", "--counts", "--objects", "--days", "--plot"):
        assert "bad_path no folder" in refused(str(run), str(folder), option, str(tmp_path / "no" / "x.csv"))
    labels = ImageRecipe().replace(width=4, task="labels")
    export(make_network(labels, 3).eval(), ModelMetadata("food", labels, ("a", "b", "c")), tmp_path / "model.onnx")
    assert refused(model, str(folder), "--counts", "x") == "bad_option --counts a model that detects objects"
    assert refused(model, str(folder), "--gsd", "1") == "bad_option --gsd a model that detects objects in images"
    assert "not_empty" in refused(str(run), str(folder), "--clips", str(tmp_path))


def test_a_model_without_a_recall_curve_has_no_operating_point(folder: Path, tmp_path: Path) -> None:
    export(make_network(TINY, 1).eval(), ModelMetadata("upcalls", TINY), tmp_path / "model.onnx")
    with pytest.raises(BadInput, match="without a recall curve"):
        tallymark.predict(tmp_path / "model.onnx", folder, fp_per_hour=1)


@pytest.mark.parametrize(
    "changes", [{"hop_seconds": 0.064}, {"fmin": 60.0}, {"n_bins": 64}, {"background_norm": False}, {"norm_context": 0}]
)
def test_models_of_other_spectrograms_are_no_ensemble(changes: dict[str, Any], tmp_path: Path) -> None:
    paths = []
    for number, recipe in enumerate((TINY, TINY.replace(**changes))):
        paths.append(tmp_path / f"{number}.onnx")
        export(make_network(recipe, 1).eval(), ModelMetadata("upcalls", recipe), paths[-1])
    [name] = changes
    with pytest.raises(BadInput, match=rf"other_model: found {name} .*, expected {name} "):
        Predictor(paths)


def test_a_damaged_recording_is_predicted_up_to_the_damage(tmp_path: Path) -> None:
    export(make_network(TINY, 1).eval(), ModelMetadata("upcalls", TINY), tmp_path / "model.onnx")
    (tmp_path / "in").mkdir()
    noise = 0.1 * np.random.default_rng(0).standard_normal(400_000)
    for name in ("a", "b", "c"):
        soundfile.write(tmp_path / "in" / f"{name}.flac", noise, 1000)
    whole = (tmp_path / "in" / "b.flac").read_bytes()
    (tmp_path / "in" / "b.flac").write_bytes(whole[: len(whole) * 6 // 10])
    result = tallymark.predict(tmp_path / "model.onnx", tmp_path / "in")
    assert [(problem.kind, problem.item) for problem in result.problems] == [("corrupt_media", "b.flac")]
    seconds_read = result.candidates.size[:, 0]
    assert seconds_read.tolist() == [400, pytest.approx(0.6 * 400, abs=5), 400]  # a block of FLAC is some 4 s
    objects = result.candidates.load().objects
    for item, seconds in enumerate(seconds_read.tolist()):
        times = objects.shapes.time[objects.item == item]
        assert seconds - 5 < times.max() <= seconds + 0.1
    early = objects.shapes.time < seconds_read[1] - 60
    before = [objects.shapes.time[(objects.item == item) & early] for item in (0, 1)]
    assert np.allclose(*before, atol=1e-3)
    hours = calls_per_hour(result.predictions, seconds_read)
    assert hours.filter(recorder="b.flac")["hours"].to_list() == [pytest.approx(seconds_read[1] / 3600, abs=1e-6)]


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_concurrent_tiles_do_not_change_predictions(run: Path, folder: Path, runtime: Any, monkeypatch: Any) -> None:
    if runtime == "openvino":
        pytest.importorskip("openvino")
    monkeypatch.setattr("tallymark.modalities.audio.tiling.TILE_FRAMES", 64)  # many tiles
    catalog = tallymark.read("upcalls", folder)
    model = sorted(run.glob("fold-*/model.onnx"))[:1]
    one, three = (Predictor(model, runtime, threads).predict(catalog).candidates.load().objects for threads in (1, 3))
    assert len(one) > len(catalog)
    assert np.allclose(one.shapes.time, three.shapes.time, atol=1e-4)
    assert np.allclose(one.scores, three.scores, atol=1e-5)
