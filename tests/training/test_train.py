"""A whole training: the same seed gives the same run, an interruption changes nothing, bad pictures are passed over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tallymark
from tallymark.problems import BadInput
from tallymark.training import fit
from tallymark.training.train import weights_for
from tests.sets import copy_of

QUICK = {"width": 4, "neck": 8, "side": 64, "crop": 64, "epochs": 3, "batch": 4, "judged": 3, "views": 1}


def train(sets: Path, name: str, out: Path, **changes: Any) -> Any:
    return tallymark.train(name, sets / name, out, preset="tiny", **(QUICK | changes))


def weights(run: Path) -> dict[str, torch.Tensor]:
    return torch.load(run / "weights.pt", weights_only=True)


def same(a: Path, b: Path) -> bool:
    one, other = weights(a), weights(b)
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("name", ["wheat", "ships", "food"])
def test_the_same_seed_gives_the_same_run(sets: Path, name: str, tmp_path: Path) -> None:
    first, again = (train(sets, name, tmp_path / out) for out in ("a", "b"))
    assert first.score.value == again.score.value
    assert same(tmp_path / "a", tmp_path / "b")
    train(sets, name, tmp_path / "c", seed=1)
    assert not same(tmp_path / "a", tmp_path / "c")


def test_a_run_has_all_its_files(sets: Path, tmp_path: Path) -> None:
    train(sets, "wheat", tmp_path / "run")
    names = {path.name for path in (tmp_path / "run").iterdir()}
    expected = {"recipe.toml", "environment.json", "log.jsonl", "weights.pt", "model.onnx", "tuning.csv", "score.json"}
    assert expected <= names
    lines = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert len(lines) == QUICK["judged"]
    assert lines[-1]["epoch"] == QUICK["epochs"]
    assert {"score", "loss_heat", "steps_per_second"} <= lines[0].keys()


class Killed(Exception):
    pass


@pytest.mark.parametrize("killed_at", [2, 4])
def test_going_on_after_a_kill_equals_an_uninterrupted_training(
    sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed_at: int
) -> None:
    train(sets, "wheat", tmp_path / "whole", anchor=0.3)
    learn, steps = fit.Fit._learn, 0

    def stumble(self: fit.Fit, *given: Any, **named: Any) -> dict[str, float]:
        nonlocal steps
        steps += 1
        if steps > killed_at * len(self.batches) // 2:
            raise Killed
        return learn(self, *given, **named)

    monkeypatch.setattr(fit.Fit, "_learn", stumble)
    with pytest.raises(Killed):
        train(sets, "wheat", tmp_path / "parted", anchor=0.3)
    monkeypatch.undo()
    assert not (tmp_path / "parted" / "weights.pt").exists()
    train(sets, "wheat", tmp_path / "parted", resume=True, anchor=0.3)
    assert same(tmp_path / "whole", tmp_path / "parted")
    recipe = tmp_path / "parted" / "recipe.toml"
    with pytest.raises(BadInput, match="other_recipe"):
        train(sets, "wheat", tmp_path / "parted", resume=True, anchor=0.3, epochs=4)
    assert recipe.exists()


def test_a_corrupt_photograph_is_passed_over_and_reported(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "wheat", tmp_path)
    broken = sorted((folder / "train").iterdir())[:2]
    broken[0].write_bytes(b"\xff\xd8 not a photograph")
    broken[1].unlink()
    trained = tallymark.train("wheat", folder, tmp_path / "run", preset="tiny", **QUICK)
    assert trained is not None
    assert {problem.item for problem in trained.problems} <= {path.stem for path in broken}
    assert (tmp_path / "run" / "problems.csv").exists()


def test_several_models_judge_every_item_once(sets: Path, tmp_path: Path) -> None:
    trained = train(sets, "wheat", tmp_path / "run", folds=2, models=2, epochs=1)
    catalog = tallymark.read("wheat", sets / "wheat")
    assert sorted(trained.score.items["item"].to_list()) == sorted(catalog.of("train").items.ids.to_list())
    assert [path.parent.name for path in trained.run.models] == ["fold-0", "fold-1"]
    predicted = tallymark.predict(tmp_path / "run", sets / "wheat", tmp_path / "submission.csv")
    assert len(predicted.found.items) == len(catalog.of("test"))


def test_each_fold_starts_where_the_same_fold_was_held_out(tmp_path: Path) -> None:
    for fold in ("fold-0", "fold-1"):
        (tmp_path / "run" / fold).mkdir(parents=True)
        (tmp_path / "run" / fold / "weights.pt").touch()
    run = str(tmp_path / "run")
    assert weights_for(run, "fold-1") == str(tmp_path / "run" / "fold-1")
    assert weights_for(run, "") == run
    assert weights_for("imagenet", "fold-1") == "imagenet"
    with pytest.raises(BadInput, match=r"no fold-2.*as many models and the same folds"):
        weights_for(run, "fold-2")


def test_a_time_budget_ends_with_a_usable_run(sets: Path, tmp_path: Path) -> None:
    trained = train(sets, "wheat", tmp_path / "run", minutes=0.05, epochs=1000)
    assert trained.run.models
    assert np.isfinite(trained.score.value)
    steps = [json.loads(line)["step"] for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert steps == sorted(set(steps))


def test_a_second_round_learns_from_what_the_first_found(sets: Path, tmp_path: Path) -> None:
    train(sets, "wheat", tmp_path / "first")
    test = sets / "wheat" / "test"
    second = train(sets, "wheat", tmp_path / "second", pseudo=test, weights=str(tmp_path / "first"), epochs=1)
    assert second.run.models
    with pytest.raises(BadInput, match="no_run"):
        train(sets, "wheat", tmp_path / "third", pseudo=test)


def test_two_processes_train_one_model(sets: Path, tmp_path: Path) -> None:
    changes = [f"{name}={value}" for name, value in QUICK.items()]
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "tallymark",
        "train", "wheat", str(sets / "wheat"), *changes, "--preset=tiny", f"--out={tmp_path / 'run'}", "--json",
    ]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "score" in json.loads(done.stdout)
    assert (tmp_path / "run" / "model.onnx").exists()


def test_an_unknown_field_is_refused_with_the_nearest(sets: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="did you mean 'epochs'"):
        train(sets, "wheat", tmp_path / "run", epoch=3)
    with pytest.raises(BadInput, match="a preset"):
        tallymark.train("wheat", sets / "wheat", tmp_path / "run", preset="smal")
