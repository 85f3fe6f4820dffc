"""Training from a folder: from the pretrained model, and with pseudo-labels, which are predicted by an engine."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tallymark
from tallymark.api.train import _pseudo_labelled, changed_preset
from tallymark.core.engines.choice import EngineChoice
from tallymark.core.engines.contract import Engine
from tallymark.core.problems import BadInput, Problems
from tallymark.core.recipe import head_groups_of
from tallymark.core.registry import challenge
from tallymark.inference.session import Session
from tallymark.training.network import make_network
from tests.sets import copy_of


class Observed(EngineChoice):
    """An engine choice that notes the engines it makes."""

    made: list[Engine] = []  # noqa: RUF012  # of all instances

    def make(self, cores: int | None = None, *, at_once: bool = False) -> Engine:
        engine = super().make(cores, at_once=at_once)
        self.made.append(engine)
        return engine


def test_pseudo_labels_are_predicted_by_the_engine(sets: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    shutil.copy(challenge("wheat").folder / "model.onnx", run)
    data = copy_of(sets, "wheat", tmp_path)
    for path in sorted((data / "train").glob("*.jpg")):
        path.unlink()

    def labels(workers: int) -> Any:
        return _pseudo_labelled(str(run), "wheat", data, Observed(workers=workers), {}, Problems()).truth

    one, two = labels(1), labels(2)
    assert [engine.workers for engine in Observed.made] == [1, 2]
    assert len(one)
    np.testing.assert_array_equal(one.shapes.columns, two.shapes.columns)


@pytest.mark.parametrize("name", ["wheat", "ships", "upcalls", "lyft"])
def test_the_preset_small_starts_from_the_pretrained_model(name: str) -> None:
    recipe = changed_preset(name, "small", {"weights": "pretrained"})
    classes = Session(Path(recipe.weights), "onnxruntime").metadata.classes
    assert make_network(recipe, max(len(classes), 1), head_groups_of(recipe, classes)).head_fitted


def test_without_a_pretrained_model_there_is_a_remedy() -> None:
    with pytest.raises(BadInput, match=r"no_model.*leave out weights=pretrained"):
        changed_preset("food", "small", {"weights": "pretrained"})


def test_the_pretrained_model_is_not_evaluated_on_what_it_was_trained_on(sets: Path, tmp_path: Path) -> None:
    data = copy_of(sets, "wheat", tmp_path)
    known = pl.read_csv(challenge("wheat").folder / "trained_on.csv", schema={"item": pl.String})["item"]
    table = (data / "train.csv").read_text()
    for item, other in zip(sorted((data / "train").iterdir()), known, strict=False):
        table = table.replace(item.stem, other)
        item.rename(item.with_stem(other))
    (data / "train.csv").write_text(table)
    with pytest.raises(BadInput, match="known_items"):
        tallymark.train("wheat", data, tmp_path / "run", weights="pretrained")
