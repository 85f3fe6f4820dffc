"""Tuning of a run: better settings from its held-out candidates, which are written only if that is asked for."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import tallymark
from tallymark.cli.main import app
from tallymark.core.outputs import write_bytes
from tallymark.core.problems import BadInput
from tallymark.inference.metadata import KEY, ModelMetadata
from tallymark.inference.onnx_file import metadata_text, read_model, with_metadata
from tests.sets import contents

QUICK = {"width": 4, "neck": 8, "image_size": 64, "crop_size": 64, "epochs": 2, "batch_size": 4, "evaluations": 1}


@pytest.fixture(scope="module")
def trained(sets: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with two folds, so that its score is cross-tuned."""
    out = tmp_path_factory.mktemp("tune") / "run"
    tallymark.train("wheat", sets / "wheat", out, preset="tiny", train_folds=2, **QUICK)  # type: ignore[arg-type]
    return out


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "run"))


def problem_of(run: Path, **given: Any) -> Any:
    with pytest.raises(BadInput) as caught:
        tallymark.tune(run, **given)
    return next(iter(caught.value.problems))


def test_the_settings_of_the_training_are_found_again(run: Path) -> None:
    before = contents(run)
    result = tallymark.tune(run)
    assert result.tuned == result.recipe == tallymark.open_model(run).metadata.recipe
    assert result.after.value == result.before.value
    assert result.held_out.score.value == json.loads((run / "score.json").read_text())["score"]
    assert result.folds == 2
    assert contents(run) == before
    assert not result.written


def test_given_fields_are_not_tuned(run: Path) -> None:
    result = tallymark.tune(run, score_threshold=0.91, nms_iou=0.2, fusion="wbf")
    assert (result.tuned.score_threshold, result.tuned.nms_iou, result.tuned.fusion) == (0.91, 0.2, "wbf")


def test_tuned_settings_are_written_where_that_is_asked_for(run: Path, sets: Path, tmp_path: Path) -> None:
    before = contents(run)
    tallymark.tune(run, write=True)
    same = contents(run)
    for name in before.keys() - {"held_out.parquet"}:  # the same settings are the same files
        assert same[name] == before[name] or name.endswith(".onnx"), name
    outputs = tallymark.predict(run, sets / "wheat", split="all").predictions
    result = tallymark.tune(run, write=True, score_threshold=0.02)
    assert {path.name for path in result.written} == {
        "model.onnx", "held_out.parquet", "held_out.csv", "tuning.csv", "score.json"
    }  # fmt: skip
    model = tallymark.open_model(run)
    assert model.metadata.recipe.score_threshold == 0.02
    assert model.metadata.facts["score"] == result.held_out.score.value
    assert len(tallymark.predict(model, sets / "wheat", split="all").predictions) >= len(outputs)
    assert json.loads((run / "score.json").read_text())["score"] == result.held_out.score.value
    assert pl.read_csv(run / "tuning.csv")["score_threshold"].unique().to_list() == [0.02]
    submission = tallymark.read_submission("wheat", run / "held_out.csv")
    assert submission.scores.min() >= 0.02
    assert tallymark.tune(run).recipe.score_threshold == 0.02
    assert (run / "recipe.toml").read_bytes() == before["recipe.toml"], "it says how the run was trained"


def test_speeds_measured_at_other_thresholds_are_removed(run: Path) -> None:
    assert tallymark.tune(run, write=True).notes == ()
    for path in tallymark.tune(run).run.models:
        own = ModelMetadata.read(metadata_text(read_model(path), KEY), path)
        measured = replace(own, speeds={"fast": {"tta": 1, "score_threshold": 0.42}})
        write_bytes(path, with_metadata(read_model(path), KEY, measured.text()))
    assert tallymark.tune(run).notes == ()
    [note] = tallymark.tune(run, write=True).notes
    assert "tallymark bench RUN DATA --write" in note
    assert tallymark.open_model(run).metadata.speeds == {}


def test_a_failure_to_write_changes_nothing(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(run)

    def fail(*given: Any, **named: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tallymark.api.tune.write_json", fail)
    with pytest.raises(BadInput, match="no space left"):
        tallymark.tune(run, write=True, score_threshold=0.02)
    assert contents(run) == before


def test_bad_input_is_a_problem(run: Path, sets: Path, tmp_path: Path) -> None:
    assert problem_of(tmp_path).kind == "no_candidates"
    assert problem_of(run, epochs=3).kind == "bad_option"
    assert problem_of(run, score_threshold=2).kind == "bad_option"
    assert problem_of(run, nonsense=2).kind == "unknown_option"
    assert problem_of(run, rule_options={"exclude": "list.csv"}).kind == "unknown_option"
    tallymark.synth("wheat", tmp_path / "other", items=4, seed=9, size=64)
    assert problem_of(run, data=tmp_path / "other").kind == "other_data"
    environment = json.loads((run / "environment.json").read_text())
    (run / "environment.json").write_text(json.dumps({**environment, "data": str(tmp_path / "gone")}))
    assert problem_of(run).kind == "no_data"
    (run / "environment.json").unlink()
    assert problem_of(run).kind == "no_data"
    assert tallymark.tune(run, data=sets / "wheat").after.value >= 0


def test_corrections_of_the_training_are_asked_for(run: Path, sets: Path, tmp_path: Path) -> None:
    truth = tallymark.read("wheat", sets / "wheat").with_truth().truth
    held_out = pl.read_csv(run / "held_out.csv")["image_id"].to_list()
    item = next(name for name in held_out if truth.counts[truth.items.find(pl.Series([name]))[0]])
    boxes = truth.filter(truth.items.ids.to_numpy()[truth.item] == item).shapes
    marked = {"complete": True, "truths": [{"number": 0, "verdict": "wrong", "shape": boxes.as_json()[0]}]}
    review = tmp_path / "corrections.json"
    stated = {"tallymark": "corrections", "version": 1, "challenge": "wheat", "geometry": "boxes"}
    review.write_text(json.dumps({**stated, "items": {item: marked}}))
    environment = json.loads((run / "environment.json").read_text())
    recorded = {"file": str(review), "sha256": hashlib.sha256(review.read_bytes()).hexdigest(), "items": 1}
    (run / "environment.json").write_text(json.dumps({**environment, "corrections": [recorded]}))
    problem = problem_of(run)
    assert problem.kind == "no_corrections"
    assert str(review) in problem.remedy
    objects = len(tallymark.tune(run, corrections=[review]).held_out.truth)
    (run / "environment.json").write_text(json.dumps(environment))
    assert len(tallymark.tune(run).held_out.truth) == objects + 1
    review.write_text(review.read_text() + " ")
    (run / "environment.json").write_text(json.dumps({**environment, "corrections": [recorded]}))
    assert problem_of(run, corrections=[review]).found.startswith("others than")


def test_exclusions_of_the_training_are_asked_for(sets: Path, tmp_path: Path) -> None:
    """Objects that were ignored would count as missed."""
    truth = tallymark.read("wheat", sets / "wheat").with_truth().truth
    run, listed = tmp_path / "run", tmp_path / "excluded.csv"
    listed.write_text("item,number\n" + "".join(f"{item},1\n" for item in truth.items.ids))
    tallymark.train("wheat", sets / "wheat", run, preset="tiny", exclude=listed, **QUICK)  # type: ignore[arg-type]
    problem = problem_of(run)
    assert problem.kind == "no_exclusions"
    assert str(listed) in problem.remedy
    held_out = tallymark.tune(run, exclude=listed).held_out.truth
    assert held_out.counts.tolist() == [max(count - 1, 0) for count in truth.reindex(held_out.items).counts]


def test_the_command_prints_both_scores(run: Path) -> None:
    printed = CliRunner().invoke(app, ["tune", str(run), "fusion=wbf"], env={"COLUMNS": "120"})
    assert printed.exit_code == 0, printed.output
    for words in ("score_threshold", "before", "tuned", "baseline", "nothing is changed"):
        assert words in printed.output
    result = CliRunner().invoke(app, ["tune", str(run), "--json", "--write"])
    stated = json.loads(result.output)
    assert {"before", "after", "score", "baseline", "settings", "written"} <= stated.keys()
    assert len(stated["written"]) == 6
    refused = CliRunner().invoke(app, ["tune", str(run), "write=yes"])
    assert refused.exit_code == 2


def test_labels_have_a_temperature_to_tune(sets: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    tallymark.train("food", sets / "food", run, preset="tiny", **{**QUICK, "neck": 48})  # type: ignore[arg-type]
    own = tallymark.open_model(run).metadata.recipe
    stated = json.loads((run / "score.json").read_text())
    assert own.temperature == pl.read_csv(run / "tuning.csv").sort("log_loss")["temperature"][0]
    assert {"top1_error", "calibration_error_untuned", "calibration_error"} <= stated.keys()
    tallymark.tune(run, write=True, temperature=3)
    assert tallymark.open_model(run).metadata.recipe == own.replace(temperature=3)
    result = tallymark.tune(run)
    assert (result.recipe.temperature, result.tuned) == (3, own)
    assert result.after.value == result.before.value == stated["score"]
    assert "temperature" in str(result)
    assert "nms_iou" not in str(result)
