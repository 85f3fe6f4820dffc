"""Items to calibrate and to evaluate on are apart where there are enough, and known items are not evaluated on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tallymark
from tallymark.core.problems import EVERY, BadInput, Problems
from tallymark.data.catalog import Catalog
from tallymark.inference import calibration
from tallymark.inference.calibration import calibration_tiles, choose_items, items_trained_on
from tallymark.inference.pipeline import no_step
from tallymark.inference.session import Session
from tests.sets import copy_of
from tests.untrained import untrained


@pytest.fixture(scope="module")
def catalog(sets: Path) -> Catalog:
    return tallymark.read("wheat", sets / "wheat")


def labelled(catalog: Catalog) -> list[str]:
    return catalog.items.ids.filter(catalog.labelled).to_list()


def test_items_to_calibrate_and_to_evaluate_on_are_apart(catalog: Catalog) -> None:
    chosen = choose_items(catalog, frozenset(), 4)
    assert len(chosen.calibration) == 4
    assert not set(chosen.calibration) & set(chosen.evaluation)
    assert catalog.labelled[chosen.evaluation].all()
    assert not chosen.held_out


def test_with_few_items_all_are_used_for_both(catalog: Catalog) -> None:
    chosen = choose_items(catalog, frozenset(), 64)
    assert len(chosen.calibration) == len(catalog)
    assert len(chosen.evaluation) == catalog.labelled.sum()


def test_items_of_the_training_are_calibrated_on_and_not_evaluated(catalog: Catalog) -> None:
    known = labelled(catalog)[:6]
    chosen = choose_items(catalog, frozenset(known), 5)
    evaluated = catalog.items.ids[chosen.evaluation].to_list()
    assert chosen.held_out
    assert sorted(evaluated) == sorted(set(labelled(catalog)) - set(known))
    assert not set(chosen.calibration) & set(chosen.evaluation)
    everything = choose_items(catalog, frozenset(labelled(catalog)), 5)
    assert not everything.held_out
    assert len(everything.evaluation)


def test_without_truth_nothing_is_evaluated(catalog: Catalog) -> None:
    assert not len(choose_items(catalog.select(~catalog.labelled), frozenset(), 2).evaluation)


def test_evaluation_is_limited(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "MAX_EVALUATED", 3)
    assert len(choose_items(catalog, frozenset(), 2).evaluation) == 3


def test_lists_of_trained_items_lie_beside_the_models(tmp_path: Path) -> None:
    for fold, text in enumerate(["item\na\nb\n", "item\nb\nc\n", "damaged"]):
        (tmp_path / f"fold-{fold}").mkdir()
        (tmp_path / f"fold-{fold}" / "trained_on.csv").write_text(text)
    models = [tmp_path / f"fold-{fold}" / "model.onnx" for fold in range(4)]
    assert items_trained_on(models) == {"a", "b", "c"}


@pytest.mark.parametrize("name", ["wheat", "upcalls", "lyft"])
def test_tiles_are_those_that_the_model_would_be_given(name: str, sets: Path, tmp_path: Path) -> None:
    session = Session(untrained(name, tmp_path / "model.onnx"), threads=1)
    catalog = tallymark.read(name, sets / name).select(np.arange(2))
    steps = []
    tiles = [tile.copy() for tile in calibration_tiles(catalog, session, Problems(), lambda: steps.append(1))]
    assert len(steps) == 2
    assert len(tiles) >= 2
    assert all(np.isfinite(part).all() for tile in tiles for part in session(tile[None]).values())


def test_unreadable_items_are_problems(sets: Path, tmp_path: Path) -> None:
    session = Session(untrained("wheat", tmp_path / "model.onnx"), threads=1)
    folder = copy_of(sets, "wheat", tmp_path)
    catalog = tallymark.read("wheat", folder).in_split("train").select(np.arange(2))
    path = catalog.path(0)
    assert path is not None
    path.write_bytes(b"not an image")
    problems = Problems(EVERY)
    assert len(list(calibration_tiles(catalog, session, problems, no_step))) == 1
    assert [problem.item for problem in problems] == [catalog.items.ids[0]]
    with pytest.raises(BadInput, match="no_items"):
        list(calibration_tiles(catalog.select(np.arange(1)), session, Problems(), no_step))
