"""A photograph or a recording that a disk fails to read during a training: it stops, and resumes to the same run."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

import tallymark
from tallymark.api.models import find_preset
from tallymark.core.problems import EVERY, BadInput, Problems
from tallymark.detector.coders import CODERS
from tallymark.formats.coco_writer import write_coco_boxes
from tallymark.inference.pipeline import infer_outputs
from tallymark.io import archives, audio
from tallymark.modalities import modality_of
from tallymark.modalities.lidar.painting import paint_color
from tallymark.training.evaluator import Evaluator
from tests.training.test_train import QUICK, same


class Disk:
    """Fails to read photographs from the n-th on, and once there is a file."""

    def __init__(self, good: int, until: Path = Path("/nowhere")) -> None:
        self.good = good
        self.until = until
        self.read = archives.read_bytes

    def __call__(self, path: Path) -> bytes:
        self.good -= 1
        if self.good < 0 or self.until.exists():
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return self.read(path)


def test_a_photograph_that_cannot_be_read_stops_a_training_and_it_resumes(
    sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = QUICK | {"epochs": 2, "evaluations": 2}

    def train(out: str, **options: Any) -> Any:
        return tallymark.train("wheat", sets / "wheat", tmp_path / out, preset="tiny", **quick, **options)

    expected = train("whole")
    with monkeypatch.context() as broken:
        broken.setattr(archives, "read_bytes", Disk(1000, until=tmp_path / "run" / "checkpoint.pt"))
        with pytest.raises(BadInput) as caught:
            train("run")
    problem = next(iter(caught.value.problems))
    assert (problem.kind, problem.found) == ("read_failed", "input/output error")
    assert Path(problem.file).is_file()
    assert "resume: the same command with --resume" in problem.remedy
    resumed = train("run", resume=True)
    assert not resumed.problems
    assert resumed.score.value == expected.score.value
    assert same(tmp_path / "run", tmp_path / "whole")


def test_a_training_is_not_evaluated_without_the_items_that_a_disk_fails_to_read(
    sets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = tallymark.read("wheat", sets / "wheat").with_truth().select(np.arange(4))
    recipe = find_preset("wheat", "tiny").replace(image_size=64)
    outputs = _outputs(recipe)
    monkeypatch.setattr("tallymark.training.evaluator.as_model", lambda network: outputs)
    rule: Any = None
    assert len(Evaluator(catalog, recipe, rule).predict(outputs)[0].items) == 4
    monkeypatch.setattr(archives, "read_bytes", Disk(2))
    with pytest.raises(BadInput, match="--resume"):
        Evaluator(catalog, recipe, rule).predict(outputs)
    with pytest.raises(BadInput, match="--resume"):
        list(infer_outputs(catalog, [outputs], recipe, Problems(EVERY), title="probing"))


def _outputs(recipe: Any) -> Any:
    """A model that finds nothing."""

    def model(inputs: np.ndarray) -> dict[str, np.ndarray]:
        count, height, width = len(inputs), inputs.shape[1] // recipe.stride, inputs.shape[2] // recipe.stride
        values = CODERS[recipe.task].values
        return {
            "heat": np.zeros((count, 1, height, width), np.float32),
            "values": np.zeros((count, values, height, width), np.float32),
            "quality": np.zeros((count, 1, height, width), np.float32),
            "presence": np.zeros(count, np.float32),
        }

    return model


def test_a_recording_that_a_disk_fails_to_read_stops_a_training(sets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = tallymark.read("upcalls", sets / "upcalls").with_truth()
    recipe = find_preset("upcalls", "tiny")

    def failing(file: Any, *given: Any, **named: Any) -> Any:
        raise soundfile.LibsndfileError(2)

    monkeypatch.setattr(audio, "_is_plain", lambda file: False)  # so that the library reads
    monkeypatch.setattr(soundfile.SoundFile, "read", failing)
    with pytest.raises(BadInput, match="system error after 0 of"):
        modality_of(recipe).dataset(catalog, recipe)


def test_neither_the_scale_of_a_training_nor_coco_lack_images_because_a_disk_fails(
    sets: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    catalog = tallymark.read("wheat", sets / "wheat").with_truth().select(np.arange(3))
    catalog = replace(catalog, size=None)
    recipe = find_preset("wheat", "tiny")

    def failing(path: Path) -> Any:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(path))

    monkeypatch.setattr("tallymark.io.images.open_file", failing)
    with pytest.raises(BadInput, match="--resume"):
        modality_of(recipe).training_scale(catalog, recipe, np.ones(1), None)
    with pytest.raises(BadInput, match="stale file handle"):
        write_coco_boxes(catalog, tmp_path / "coco.json")


def test_points_are_not_left_unpainted_because_a_disk_fails(sets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = tallymark.read("lyft", sets / "lyft")
    points = np.zeros((1, 5), np.float32)
    assert paint_color(points, catalog.drive, 0).shape == (1, 4)
    monkeypatch.setattr(archives, "read_bytes", Disk(0))
    with pytest.raises(tallymark.io.media.BadMedia, match="input/output error"):
        paint_color(points, catalog.drive, 0)
