"""Training from a folder: pseudo-labels, which are predicted by an engine."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from tallymark.api.train import _pseudo_labelled
from tallymark.core.engines.choice import EngineChoice
from tallymark.core.engines.contract import Engine
from tallymark.core.problems import Problems
from tallymark.core.registry import challenge
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
