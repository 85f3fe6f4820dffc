"""Whole trainings: determinism, resuming, unreadable images, folds, time budgets and pseudo-labels."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

import tallymark
from tallymark.core.problems import BadInput
from tallymark.modalities.audio import dataset as audio_dataset
from tallymark.training import loop
from tallymark.training.loop import Trainer
from tests.sets import copy_of

QUICK = {
    "width": 4,
    "neck": 8,
    "image_size": 64,
    "crop_size": 64,
    "epochs": 3,
    "batch_size": 4,
    "evaluations": 3,
    "tta": 1,
}


def train(sets: Path, name: str, out: Path, **changes: Any) -> Any:
    return tallymark.train(name, sets / name, out, preset="tiny", **(QUICK | changes))


def weights(run: Path) -> dict[str, torch.Tensor]:
    return torch.load(run / "weights.pt", weights_only=True)


def same(a: Path, b: Path) -> bool:
    one, other = weights(a), weights(b)
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wheat", "ships", "food"])
def test_the_same_seed_gives_the_same_run(sets: Path, name: str, tmp_path: Path) -> None:
    first, again = (train(sets, name, tmp_path / out) for out in ("a", "b"))
    assert first.score.value == again.score.value
    assert same(tmp_path / "a", tmp_path / "b")
    train(sets, name, tmp_path / "c", seed=1)
    assert not same(tmp_path / "a", tmp_path / "c")


def test_a_run_has_all_its_files(sets: Path, tmp_path: Path) -> None:
    trained = train(sets, "wheat", tmp_path / "run")
    names = {path.name for path in (tmp_path / "run").iterdir()}
    expected = {"recipe.toml", "environment.json", "log.jsonl", "weights.pt", "model.onnx", "tuning.csv", "score.json"}
    assert expected <= names
    submission = tmp_path / "run" / "held_out.csv"
    again = tallymark.score("wheat", sets / "wheat", submission, images=submission)
    assert again.value == pytest.approx(trained.score.value)
    every = tallymark.read_predictions("wheat", tmp_path / "run")
    kept = every.filter(every.scores >= trained.tuning.recipe.score_threshold)
    assert kept.counts.tolist() == tallymark.read_submission("wheat", submission).counts.tolist()
    lines = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert len(lines) == QUICK["evaluations"]
    assert lines[-1]["epoch"] == QUICK["epochs"]
    assert {"score", "loss_heat", "steps_per_second"} <= lines[0].keys()


class Interrupted(Exception):
    pass


def interrupted(train_once: Callable[..., Any], stop_at: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Train up to an interruption after so many batches, and then resume; returns at which batch that began.

    Without it, a training from the beginning, which ends with the same weights, would pass too.
    """
    step = Trainer._train_step
    steps: list[int] = []

    def fail(self: Trainer, *given: Any, **named: Any) -> dict[str, float]:
        if self.state.step >= stop_at:
            raise Interrupted
        return step(self, *given, **named)

    def record(self: Trainer, *given: Any, **named: Any) -> dict[str, float]:
        steps.append(self.state.step)
        return step(self, *given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_train_step", fail)
        with pytest.raises(Interrupted):
            train_once()
        patch.setattr(Trainer, "_train_step", record)
        train_once(resume=True)
    return steps[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "stop_at", "saved_at"),
    [
        ({"weight_interpolation": 0.3}, 2, 2),
        ({"weight_interpolation": 0.3}, 4, 4),
        ({"accumulate": 2, "evaluations": 1}, 3, 2),
    ],
)
def test_a_resumed_training_equals_an_uninterrupted_one(
    sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], stop_at: int, saved_at: int
) -> None:
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", -1.0)
    train(sets, "wheat", tmp_path / "whole", **changes)
    assert interrupted(partial(train, sets, "wheat", tmp_path / "resumed", **changes), stop_at, monkeypatch) == saved_at
    assert same(tmp_path / "whole", tmp_path / "resumed")
    with pytest.raises(BadInput, match="other_recipe"):
        train(sets, "wheat", tmp_path / "resumed", resume=True, **changes, epochs=4)
    assert (tmp_path / "resumed" / "recipe.toml").exists()


@pytest.mark.slow
def test_hard_negatives_are_the_same_after_resuming(
    sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", float("inf"))  # except at evaluations
    monkeypatch.setattr(audio_dataset, "MIN_SCORE", 0.0)  # so early, no detection is confident
    changes = {
        "width": 4,
        "neck": 8,
        "clip_seconds": 4.096,
        "epochs": 2,
        "batch_size": 8,
        "evaluations": 3,
        "folds": 3,
        "positive_crops": 0.2,
    }
    train_audio = partial(tallymark.train, "upcalls", sets / "upcalls", preset="tiny", hard_negatives=1, **changes)
    train_audio(tmp_path / "whole")
    steps = [json.loads(line)["step"] for line in (tmp_path / "whole" / "log.jsonl").read_text().splitlines()]
    assert interrupted(partial(train_audio, tmp_path / "resumed"), steps[0] + 1, monkeypatch) == steps[0]
    assert torch.load(tmp_path / "resumed" / "checkpoint.pt", weights_only=True)["state"]["dataset"]
    assert same(tmp_path / "whole", tmp_path / "resumed")


def test_a_training_is_not_resumed_with_other_items(sets: Path, tmp_path: Path) -> None:
    train(sets, "wheat", tmp_path / "run", epochs=1)
    more = tmp_path / "more"
    tallymark.synth("wheat", more, items=4, size=64, seed=1)
    with pytest.raises(BadInput, match=r"other_items.* give the same folders, exclusions and folds"):
        train(sets, "wheat", tmp_path / "run", epochs=1, resume=True, extra_data=[more])
    assert train(sets, "wheat", tmp_path / "run", epochs=1, resume=True).run.models


@pytest.mark.slow
def test_an_unreadable_image_is_skipped_and_reported(sets: Path, tmp_path: Path) -> None:
    """Whether in training or in evaluation; and once, although each of two models meets it."""
    folder = copy_of(sets, "wheat", tmp_path)
    folds = tallymark.folds("wheat", folder, folds=2)
    folds.save(tmp_path / "folds.csv")
    broken = [folds.items.ids[int(np.flatnonzero(folds.fold == fold)[0])] for fold in (0, 1)]
    for name, damage in zip(broken, (lambda path: path.write_bytes(b"\xff\xd8 no"), Path.unlink), strict=True):
        damage(next((folder / "train").glob(f"{name}.*")))
    for models in (1, 2):
        out = tmp_path / f"run-{models}"
        options = QUICK | {"train_folds": models, "batch_size": 1, "epochs": 1, "evaluations": 1}
        trained = tallymark.train("wheat", folder, out, preset="tiny", fold_table=tmp_path / "folds.csv", **options)
        assert trained is not None
        assert sorted(str(problem.item) for problem in trained.problems) == sorted(broken)
        assert sorted(pl.read_csv(out / "problems.csv")["item"]) == sorted(broken)


def test_several_models_evaluate_every_item_once(sets: Path, tmp_path: Path) -> None:
    trained = train(sets, "wheat", tmp_path / "run", folds=2, train_folds=2, epochs=1)
    catalog = tallymark.read("wheat", sets / "wheat")
    assert sorted(trained.score.items["item"].to_list()) == sorted(catalog.in_split("train").items.ids.to_list())
    assert [path.parent.name for path in trained.run.models] == ["fold-0", "fold-1"]
    predicted = tallymark.predict(tmp_path / "run", sets / "wheat", tmp_path / "submission.csv")
    assert len(predicted.predictions.items) == len(catalog.in_split("test"))


def test_a_time_budget_ends_with_a_usable_run(sets: Path, tmp_path: Path) -> None:
    trained = train(sets, "wheat", tmp_path / "run", minutes=0.05, epochs=1000)
    assert trained.run.models
    assert np.isfinite(trained.score.value)
    steps = [json.loads(line)["step"] for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert steps == sorted(set(steps))


def test_pseudo_labels_are_trained_on(sets: Path, tmp_path: Path) -> None:
    """Those of images without truth, even if the folder has others."""
    data = copy_of(sets, "wheat", tmp_path)
    first = train(sets, "wheat", tmp_path / "first")
    catalog = tallymark.read("wheat", data)
    unknown = catalog.items.ids.filter(pl.Series(~catalog.labelled)).to_list()
    broken = catalog.path(int(np.flatnonzero(~catalog.labelled)[0]))
    assert broken is not None
    broken.write_bytes(b"no photograph")
    again = {"weights": str(tmp_path / "first"), "epochs": 1}
    second = train(sets, "wheat", tmp_path / "second", pseudo=data, **again)
    assert [problem.file for problem in second.problems] == [str(broken)]
    trained = set(pl.read_csv(tmp_path / "second" / "trained_on.csv")["item"])
    known = set(catalog.in_split("train").items.ids) - set(first.evaluated.items.ids)
    assert trained == known | set(unknown[1:])
    with pytest.raises(BadInput, match="no_run"):
        train(sets, "wheat", tmp_path / "third", pseudo=data)
    with pytest.raises(BadInput, match="other_model"):
        tallymark.train("ships", sets / "ships", tmp_path / "third", pseudo=sets / "ships", weights=again["weights"])
    with pytest.raises(BadInput, match="no_unlabelled"):
        train(sets, "wheat", tmp_path / "third", pseudo=labelled_only(data), **again)


def labelled_only(folder: Path) -> Path:
    shutil.rmtree(folder / "test")
    (folder / "sample_submission.csv").unlink(missing_ok=True)
    return folder


@pytest.mark.slow
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


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("wheat", {"task": "masks"}, "task=masks, expected boxes"),
        ("wheat", {"minutes": 0}, "minutes=0, expected a number above 0"),
        ("wheat", {"minutes": float("nan")}, "minutes=nan"),
        ("wheat", {"frozen_stages": 9}, "frozen_stages=9, expected at most 5"),
        ("upcalls", {"tta": 2}, "tta=2, expected tta=1"),
    ],
)
def test_impossible_settings_are_refused_and_leave_no_folder(
    sets: Path, tmp_path: Path, name: str, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        tallymark.train(name, sets / name, tmp_path / "run", preset="tiny", **changes)
    assert not (tmp_path / "run").exists()


def test_folds_without_items_are_refused(sets: Path, tmp_path: Path) -> None:
    folds = tallymark.folds("wheat", sets / "wheat", folds=2)
    replace(folds, fold=folds.fold + 1).save(tmp_path / "from-1.csv")
    with pytest.raises(BadInput, match=r"empty_fold: found no labelled item in fold 0.* count folds from 0 on"):
        train(sets, "wheat", tmp_path / "a", fold_table=tmp_path / "from-1.csv")
    with pytest.raises(BadInput, match=r"empty_fold: found all labelled items in fold 0.* at least 2 folds"):
        train(sets, "wheat", tmp_path / "b", folds=1)
