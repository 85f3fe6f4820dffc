"""Checkpoints, weights and run folders that are damaged or belong to something else: a problem with a remedy each."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

import tallymark
from tallymark.cli.main import app
from tallymark.core.problems import BadInput, Problem
from tallymark.detector.weights import load_weights, read_finished
from tallymark.training import loop
from tallymark.training.checkpoint import CHECKPOINT, load_checkpoint
from tallymark.training.loop import Trainer
from tallymark.training.network import make_network
from tests.sets import copy_of
from tests.training.test_loop import ALONE, RECIPE, Evaluate, trainer_of
from tests.untrained import untrained

NAN = float("nan")
Damage = Callable[[dict[str, Any]], object]


class Code:
    """Something that only code can load."""


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    trainer_of(folder).train(Evaluate(0.5))
    return folder / CHECKPOINT


@pytest.fixture(scope="module")
def whole(checkpoint: Path) -> dict[str, Any]:
    stored: dict[str, Any] = torch.load(checkpoint, weights_only=True)
    return stored


@pytest.fixture(scope="module")
def trainer(tmp_path_factory: pytest.TempPathFactory) -> Trainer:
    return trainer_of(tmp_path_factory.mktemp("new"))


def problem_of(act: Callable[[], object]) -> Problem:
    with pytest.raises(BadInput) as caught:
        act()
    (problem,) = caught.value.problems
    assert problem.remedy
    assert "weights_only" not in str(problem)
    assert "\n" not in str(problem)
    return problem


def resume(folder: Path) -> object:
    return trainer_of(folder).train(Evaluate(0.5), resume=True)


def fill(state: dict[str, torch.Tensor], value: float) -> None:
    """Put a value into the first tensor of floats."""
    next(one for one in state.values() if isinstance(one, torch.Tensor) and one.is_floating_point()).fill_(value)


def other_shape(state: dict[str, torch.Tensor]) -> None:
    state["head.heatmap.bias"] = torch.zeros(7)


FILES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    **{f"cut-{quarter}": lambda data, quarter=quarter: data[: len(data) * quarter // 4] for quarter in (1, 2, 3)},
    "text": lambda data: b"a checkpoint\n",
    "zip": lambda data: b"PK\x05\x06" + bytes(18),
    "pickle": lambda data: b"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00.",
}
PARTS = ("state", "random", "network", "ema", "optimizer", "scaler")
DAMAGES: dict[str, Damage] = {
    **{f"no-{part}": lambda stored, part=part: stored.pop(part) for part in PARTS},
    **{f"{part}-number": lambda stored, part=part: stored.update({part: 3}) for part in PARTS},
    **{f"{part}-list": lambda stored, part=part: stored.update({part: []}) for part in PARTS},
    "network-nan": lambda stored: fill(stored["network"], NAN),
    "network-inf": lambda stored: fill(stored["network"], float("inf")),
    "ema-nan": lambda stored: fill(stored["ema"], NAN),
    "best-nan": lambda stored: fill(stored["state"]["best_weights"], NAN),
    "best-none": lambda stored: stored["state"].update(best_weights={}),
    "best-number": lambda stored: stored["state"].update(best_weights=3),
    "other-classes": lambda stored: other_shape(stored["network"]),
    "other-best": lambda stored: other_shape(stored["state"]["best_weights"]),
    "one-tensor-more": lambda stored: stored["network"].update(more=torch.zeros(3)),
    "one-tensor-less": lambda stored: stored["network"].popitem(),
    "a-number-for-a-tensor": lambda stored: stored["network"].update({"head.heatmap.bias": 0.0}),
    "whole-numbers": lambda stored: stored["network"].update({"head.heatmap.bias": torch.zeros(3, dtype=torch.int64)}),
    "step-text": lambda stored: stored["state"].update(step="ten"),
    "step-negative": lambda stored: stored["state"].update(step=-1),
    "best-score-nan": lambda stored: stored["state"].update(best=NAN),
    "unknown-number": lambda stored: stored["state"].update(stage=3),
    "no-step": lambda stored: stored["state"].pop("step"),
    "no-groups": lambda stored: stored["optimizer"].update(param_groups=[]),
    "group-without-parameters": lambda stored: stored["optimizer"]["param_groups"][0].pop("params"),
    "other-moments": lambda stored: stored["optimizer"]["state"][0].update(exp_avg=torch.zeros(5)),
    "short-random": lambda stored: stored.update(random=torch.zeros(3, dtype=torch.uint8)),
}


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_no_checkpoint(name: str, checkpoint: Path, trainer: Trainer, tmp_path: Path) -> None:
    (tmp_path / CHECKPOINT).write_bytes(FILES[name](checkpoint.read_bytes()))
    problem = problem_of(lambda: load_checkpoint(tmp_path / CHECKPOINT, trainer._parts, ALONE.device))
    assert (problem.kind, problem.file) == ("bad_checkpoint", str(tmp_path / CHECKPOINT))
    assert "delete" in problem.remedy


@pytest.mark.parametrize("name", DAMAGES)
def test_a_checkpoint_of_another_kind_is_refused(
    name: str, whole: dict[str, Any], trainer: Trainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = deepcopy(whole)
    DAMAGES[name](stored)
    (tmp_path / CHECKPOINT).touch()
    monkeypatch.setattr(torch, "load", lambda path, **options: stored)  # quicker than a file
    problem = problem_of(lambda: load_checkpoint(tmp_path / CHECKPOINT, trainer._parts, ALONE.device))
    assert (problem.kind, problem.file) == ("bad_checkpoint", str(tmp_path / CHECKPOINT))


def test_objects_and_pipes_are_not_loaded(tmp_path: Path) -> None:
    torch.save({"state": Code()}, tmp_path / CHECKPOINT)
    assert "Python objects" in problem_of(lambda: resume(tmp_path)).found
    assert "Python objects" in problem_of(lambda: load(tmp_path / CHECKPOINT)).found
    (tmp_path / CHECKPOINT).unlink()
    os.mkfifo(tmp_path / CHECKPOINT)
    assert "a pipe" in problem_of(lambda: resume(tmp_path)).found
    assert "a pipe" in problem_of(lambda: load(tmp_path / CHECKPOINT)).found


def test_a_whole_checkpoint_resumes(checkpoint: Path, tmp_path: Path) -> None:
    shutil.copy(checkpoint, tmp_path / CHECKPOINT)
    assert resume(tmp_path)


def load(path: Path) -> object:
    network = make_network(RECIPE, 3)
    return load_weights(network, network.backbone, str(path))


@pytest.mark.parametrize(
    "content",
    [
        3,
        [],
        {},
        {"a": 1},
        {"state_dict": 3},
        {3: torch.zeros(2)},
        {"a": torch.tensor(1.0)},
        {"a": torch.full((3,), NAN)},
        {"a": torch.zeros(2).to_sparse()},
        {"a": torch.zeros(2, dtype=torch.complex64)},
    ],
)
def test_a_file_without_the_weights_is_refused(content: object, tmp_path: Path) -> None:
    torch.save(content, tmp_path / "weights.pt")
    assert problem_of(lambda: load(tmp_path / "weights.pt")).kind in ("bad_weights", "other_weights")
    assert problem_of(lambda: load(tmp_path)).kind in ("bad_weights", "other_weights")
    finished = problem_of(lambda: read_finished(make_network(RECIPE, 3), tmp_path / "weights.pt"))
    assert finished.kind in ("bad_weights", "other_weights")


def test_a_run_without_weights_is_named(tmp_path: Path) -> None:
    problem = problem_of(lambda: load(tmp_path))
    assert (problem.kind, problem.file) == ("bad_weights", str(tmp_path / "weights.pt"))


def test_the_weights_of_a_diverged_training_are_refused(tmp_path: Path) -> None:
    network = make_network(RECIPE, 3)
    state = network.state_dict()
    torch.save(state, tmp_path / "weights.pt")
    read_finished(make_network(RECIPE, 3), tmp_path / "weights.pt")
    fill(state, NAN)
    torch.save(state, tmp_path / "weights.pt")
    for act in (lambda: load(tmp_path), lambda: read_finished(network, tmp_path / "weights.pt")):
        assert "not all finite" in problem_of(act).found
    other = make_network(RECIPE, 4)
    torch.save(other.state_dict(), tmp_path / "weights.pt")
    assert (
        "head.heatmap.weight of shape"
        in problem_of(lambda: read_finished(make_network(RECIPE, 3), tmp_path / "weights.pt")).found
    )


def test_a_loss_that_is_never_a_number_ends_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = trainer_of(tmp_path)
    whole = type(trainer.network).loss

    def spoiled(self: Any, *arguments: Any) -> dict[str, torch.Tensor]:
        losses = whole(self, *arguments)
        return losses if trainer.state.step < 4 else {name: value * NAN for name, value in losses.items()}

    monkeypatch.setattr(type(trainer.network), "loss", spoiled)
    evaluate = Evaluate(0.5)
    problem = problem_of(lambda: trainer.train(evaluate))
    assert problem.kind == "diverged"
    assert "learning_rate" in problem.remedy
    assert len(evaluate.weights) == 1  # the first was before the loss was spoiled
    stored = torch.load(tmp_path / CHECKPOINT, weights_only=True)
    assert all(torch.isfinite(value).all() for value in stored["state"]["best_weights"].values())


def test_a_few_spoiled_batches_leave_finite_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statistics of batch norm included, which no optimiser guards."""
    trainer = trainer_of(tmp_path)
    step = type(trainer)._train_step

    def spoil(self: Any, forward: Any, batch: Any, trim: float) -> dict[str, float]:
        spoiled = self.state.step in (1, 2, 5)
        inputs = batch.inputs.float()
        return step(self, forward, replace(batch, inputs=inputs * NAN if spoiled else inputs), trim)

    monkeypatch.setattr(type(trainer), "_train_step", spoil)
    weights = trainer.train(Evaluate(0.5))
    assert all(torch.isfinite(value).all() for value in weights.values())
    assert all(torch.isfinite(value).all() for value in trainer.network.state_dict().values())


def test_weights_that_grow_without_bounds_end_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def far_too_high(optimizer: torch.optim.Optimizer, *_: object) -> None:
        for group in optimizer.param_groups:
            group["lr"] = 1e30

    monkeypatch.setattr(loop, "set_learning_rate", far_too_high)
    assert problem_of(lambda: trainer_of(tmp_path).train(Evaluate(0.5))).kind == "diverged"


QUICK = ("width=4", "neck=8", "image_size=64", "crop_size=64", "epochs=1", "batch_size=4", "evaluations=1", "tta=1")


def command(*words: object) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(app, [*map(str, words), "--json"])
    assert "Traceback" not in result.output
    assert result.exit_code in (0, 2), result.exception
    return result.exit_code, json.loads(result.stdout)


@pytest.fixture(scope="module")
def food(sets: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("food") / "run"
    code, _ = command("train", "food", sets / "food", *QUICK, "weights=none", "--preset", "tiny", "--out", run)
    assert code == 0
    return run


@pytest.mark.parametrize("finished", [True, False])
def test_a_run_is_not_resumed_with_other_classes(finished: bool, sets: Path, food: Path, tmp_path: Path) -> None:
    """Neither with one more, nor with another one in place of one, which the shapes of the network do not show."""
    run = shutil.copytree(food, tmp_path / "run")
    if not finished:
        (run / "weights.pt").unlink()
    data = copy_of(sets, "food", tmp_path)
    names = (data / "class_list.txt").read_text()
    arguments = ("train", "food", data, *QUICK, "weights=none", "--preset", "tiny", "--out", run, "--resume")
    for changed in (f"{names.rstrip()}\n4 borscht\n", names.replace("0 ", "0 borscht_", 1)):
        (data / "class_list.txt").write_text(changed)
        code, printed = command(*arguments)
        assert (code, [problem["kind"] for problem in printed["problems"]]) == (2, ["other_data"])
    (data / "class_list.txt").write_text(f"{names.rstrip()}\n4 borscht\n")
    (run / "environment.json").write_text("{")  # without a record, the shapes show it
    code, printed = command(*arguments)
    assert (code, printed["problems"][0]["kind"]) == (2, "other_weights" if finished else "bad_checkpoint")


def test_a_run_that_lost_a_model_is_incomplete(tmp_path: Path) -> None:
    for fold in range(2):
        folder = tmp_path / "run" / f"fold-{fold}"
        folder.mkdir(parents=True)
        untrained("wheat", folder / "model.onnx", train_folds=2)
    assert len(tallymark.open_model(tmp_path / "run").sessions) == 2
    (tmp_path / "run" / "fold-1" / "model.onnx").unlink()
    problem = problem_of(lambda: tallymark.open_model(tmp_path / "run"))
    assert (problem.kind, problem.found) == ("missing_model", "1 of 2 models, as fold-0/model.onnx")
    assert len(tallymark.open_model(tmp_path / "run" / "fold-0").sessions) == 1
