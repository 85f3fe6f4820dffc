"""Quantisation of runs: a run that is predicted as any other, and the figures of both."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import tallymark
from tallymark.core.problems import BadInput
from tests.cli.running import run as run_command
from tests.untrained import untrained

pytest.importorskip("onnx")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two models, of which it is known what they were trained on."""
    folder = tmp_path_factory.mktemp("quantize") / "run"
    for fold in range(2):
        (folder / f"fold-{fold}").mkdir(parents=True)
        (folder / f"fold-{fold}" / "trained_on.csv").write_text(f"item\nimage{fold}\n")
        untrained("wheat", folder / f"fold-{fold}" / "model.onnx", score_threshold=0.04, train_folds=2)
    (folder / "recipe.toml").write_text("# settings\n")
    return folder


def problem_of(*arguments: Any, **named: Any) -> Any:
    with pytest.raises(BadInput) as caught:
        tallymark.quantize(*arguments, **named)
    [problem] = caught.value.problems
    return problem


def test_a_quantised_run_is_predicted_as_any_other(made: Path, sets: Path, tmp_path: Path) -> None:
    out = tmp_path / "new"
    result = tallymark.quantize(made, sets / "wheat", out, items=4, threads=1)
    assert result.after.bytes < 0.7 * result.before.bytes
    assert min(result.before.seconds, result.after.seconds, result.speedup) > 0
    assert result.before.score is not None
    assert result.after.score is not None
    assert result.calibrated == 4
    assert result.held_out
    assert "held out of the training" in str(result)
    names = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
    assert names == ["fold-0/model.onnx", "fold-1/model.onnx", "quantization.json", "recipe.toml"]
    assert json.loads((out / "quantization.json").read_text()) == result.as_dict()
    predictor = tallymark.open_model(out)
    fact = predictor.sessions[1].metadata.facts["quantized"]
    assert fact["source"] == hashlib.sha256((made / "fold-1" / "model.onnx").read_bytes()).hexdigest()
    assert fact["calibrated_on"] == "4 images"
    assert len(tallymark.predict(predictor, sets / "wheat", split="test").predictions.items) > 0
    problem = problem_of(out, sets / "wheat", tmp_path / "twice")
    assert (problem.kind, problem.remedy) == ("already_quantized", "name the run that it was made from")


@pytest.mark.parametrize("name", ["upcalls", "food", "lyft", "ships"])
def test_models_of_every_challenge_are_quantised_and_scored(name: str, sets: Path, tmp_path: Path) -> None:
    model = untrained(name, tmp_path / "model.onnx")
    printed = run_command("quantize", model, "--calibrate", sets / name, "--items", 2, "--threads", 1, "--json")
    result = json.loads(printed)
    assert result["out"] == str(tmp_path / "model-int8.onnx")
    assert Path(result["out"]).stat().st_size == result["after"]["bytes"]
    assert result["before"]["runtime"].startswith("onnxruntime ")
    if name != "food":  # whose classes are not those of the model
        assert result["before"]["score"] is not None
        assert not result["held_out"]
        assert "may have been trained on" in result["notes"][0]


def test_the_command_prints_both_and_where_they_are(sets: Path, tmp_path: Path) -> None:
    model = untrained("wheat", tmp_path / "model.onnx")
    folder = tmp_path / "photographs"
    shutil.copytree(sets / "wheat" / "test", folder)
    out = tmp_path / "int8.onnx"
    printed = run_command("quantize", model, "--calibrate", folder, "--out", out, "--items", 2, "--threads", 1)
    assert "time for a tile" in printed
    assert "no score: no image of the folder is annotated" in printed
    assert f"written to {out}" in printed
    assert "exists" in run_command("quantize", model, "--calibrate", folder, "--out", out, code=2)
    run_command("quantize", model, "--calibrate", folder, "--out", out, "--items", 1, "--threads", 1, "--force")


def test_an_item_that_cannot_be_read_is_said_once(made: Path, sets: Path, tmp_path: Path) -> None:
    """Not once for each model of the run."""
    folder = tmp_path / "photographs"
    shutil.copytree(sets / "wheat" / "test", folder)
    (folder / "broken.jpg").write_bytes(b"not an image")
    result = tallymark.quantize(made, folder, tmp_path / "new", items=100, threads=1)
    assert [problem.item for problem in result.problems] == ["broken"]


def test_the_current_folder_has_a_name_too(
    made: Path, sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    shutil.copytree(made, run)
    monkeypatch.chdir(run)
    assert tallymark.quantize(".", sets / "wheat", items=1, threads=1).out == tmp_path / "run-int8"
    monkeypatch.chdir(run / "fold-0")
    (tmp_path / "run-int8").rename(tmp_path / "moved")
    assert tallymark.quantize("..", sets / "wheat", items=1, threads=1).out == tmp_path / "run-int8"


def test_what_cannot_be_quantised_is_a_problem(made: Path, sets: Path, tmp_path: Path, monkeypatch: Any) -> None:
    assert problem_of(made, sets / "wheat", tmp_path / "one.onnx").kind == "bad_path"
    assert problem_of(made, sets / "wheat", items=0).found == "items=0"
    assert problem_of(made, sets / "wheat", made).kind == "same_file"
    assert problem_of(made, sets / "wheat", rule_options={"exclude": "list.csv"}).found == "'exclude'"
    monkeypatch.setitem(sys.modules, "onnx", None)
    problem = problem_of(made, sets / "wheat", tmp_path / "new")
    assert (problem.kind, problem.remedy) == ("not_installed", "pip install 'tallymark[train]'")
    assert not (tmp_path / "new").exists()
