"""Dry runs: what a training takes, without a file being written."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tallymark
from tallymark.cli.main import app
from tallymark.training.dry_run import OPTIMISER_BYTES

FAST = {"width": 4, "neck": 8, "batch_size": 4, "evaluations": 2}


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dry") / "field"
    tallymark.synth("wheat", folder, items=16, size=96)
    return folder


def test_steps_memory_and_time_are_counted(field: Path) -> None:
    measured = tallymark.dry_run("wheat", field, preset="tiny", epochs=10, minutes=3, **FAST)
    assert measured.models == 1
    assert measured.items + measured.held_out == len(tallymark.read("wheat", field).in_split("train"))
    assert measured.steps == 10 * (measured.items // 4)
    assert measured.parameters == measured.trained > 1000
    assert measured.step_flops > 0
    assert measured.network_bytes == measured.activation_bytes + OPTIMISER_BYTES * measured.parameters
    steps, evaluations = measured.steps * measured.step_seconds, 2 * measured.held_out * measured.item_seconds
    assert measured.seconds == pytest.approx(steps + evaluations)
    assert measured.epochs_in_time == pytest.approx(10 * 180 / measured.seconds)


def test_twice_the_batch_takes_twice_the_operations_and_activations(field: Path) -> None:
    one, two = (tallymark.dry_run("wheat", field, preset="tiny", **FAST | {"batch_size": size}) for size in (2, 4))
    assert two.step_flops == pytest.approx(2 * one.step_flops, rel=0.01)
    assert two.activation_bytes == pytest.approx(2 * one.activation_bytes, rel=0.1)


def test_the_command_prints_a_table_and_writes_nothing(field: Path, tmp_path: Path) -> None:
    words = [f"{name}={value}" for name, value in FAST.items()]
    command = ["train", "wheat", str(field), *words, "--preset", "tiny", "--dry-run", "--out", str(tmp_path / "run")]
    printed = CliRunner().invoke(app, command)
    assert printed.exit_code == 0
    assert "nothing was written" in printed.stdout
    assert "samples per second" in printed.stdout
    parsed = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    assert parsed["steps"] > 0
    assert list(tmp_path.iterdir()) == []


def test_frozen_parameters_need_no_optimiser(field: Path) -> None:
    frozen = tallymark.dry_run("wheat", field, preset="tiny", frozen_stages=2, **FAST)
    assert frozen.trained < frozen.parameters


def test_bad_options_are_refused_as_by_a_training(field: Path) -> None:
    with pytest.raises(tallymark.BadInput, match="task"):
        tallymark.dry_run("wheat", field, task="masks")
    with pytest.raises(tallymark.BadInput, match="minutes"):
        tallymark.dry_run("wheat", field, minutes=math.nan)


def test_items_that_corrections_label_are_counted(field: Path, tmp_path: Path) -> None:
    """A review that is complete labels an item of the test set, so that there is more to train on."""
    item = tallymark.read("wheat", field).in_split("test").items.ids[0]
    stated = {"tallymark": "corrections", "version": 1, "challenge": "wheat", "geometry": "boxes"}
    review = tmp_path / "corrections.json"
    review.write_text(json.dumps({**stated, "items": {item: {"complete": True, "missed": [{"shape": [1, 1, 9, 9]}]}}}))
    plain = tallymark.dry_run("wheat", field, preset="tiny", folds=2, **FAST)
    corrected = tallymark.dry_run("wheat", field, preset="tiny", folds=2, corrections=[review], **FAST)
    assert corrected.items + corrected.held_out == plain.items + plain.held_out + 1


def test_pseudo_labels_cannot_be_rehearsed(field: Path) -> None:
    command = ["train", "wheat", str(field), "--preset", "tiny", "--dry-run", "--pseudo", str(field)]
    printed = CliRunner().invoke(app, command, env={"COLUMNS": "200"})
    assert printed.exit_code == 2
    assert "--pseudo with --dry-run" in printed.output
