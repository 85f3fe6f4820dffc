"""Shards: predictions are the same, bit by bit, however many items are in a shard and whatever the threads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tallymark
from tallymark.core.engines.choice import EngineChoice
from tallymark.core.engines.pace import Pace
from tallymark.inference.candidate_columns import candidate_columns
from tallymark.inference.infer_catalog import FIRST_SHARD
from tallymark.inference.predictor import Predictor
from tests.made import NAMES
from tests.untrained import untrained


@pytest.mark.parametrize("name", NAMES)
def test_candidates_do_not_depend_on_shards_or_threads(
    name: str, sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = untrained(name, tmp_path / "model.onnx")
    catalog = tallymark.read(name, sets / name).with_media()
    catalog = catalog.select(np.arange(min(len(catalog), 10)))
    found = []
    for items, threads in ((len(catalog), 1), (1, 1), (3, 3)):
        monkeypatch.setattr(Pace, "shard_size", lambda *_, items=items: items)
        result = Predictor([model], threads=threads).predict(catalog, engine=EngineChoice(workers=1))
        assert len(set(result.candidates.page)) == -(-len(catalog) // items)
        found.append(candidate_columns(result.candidates.load()))
    whole, *others = found
    assert len(whole["score"])
    for other in others:
        assert {column: part.tobytes() for column, part in other.items()} == {
            column: part.tobytes() for column, part in whole.items()
        }


def test_short_work_has_two_shards_however_many_cores_there_are(sets: Path, tmp_path: Path) -> None:
    """One to measure the pace, and one of all other items: those of workers that are never started are not needed."""
    model = untrained("food", tmp_path / "model.onnx")
    catalog = tallymark.read("food", sets / "food").with_media()
    result = Predictor([model], threads=8).predict(catalog)
    assert len(catalog) > FIRST_SHARD
    assert len(set(result.candidates.page)) == 2
