"""Weights of an earlier run are a start only for what they have not learned from."""

from __future__ import annotations

from pathlib import Path

import pytest

import tallymark
from tallymark.core.problems import BadInput
from tallymark.data.catalog import Catalog
from tallymark.training.provenance import LEARNED, record_provenance, starting_weights, trained_on
from tests.training.test_train import train


@pytest.fixture(scope="module")
def catalog(sets: Path) -> Catalog:
    return tallymark.read("wheat", sets / "wheat").in_split("train")


def run_of(folder: Path, *learned: set[str]) -> str:
    """A run of as many models, which have learned from these."""
    for fold, items in enumerate(learned):
        own = folder / f"fold-{fold}" if len(learned) > 1 else folder
        own.mkdir(parents=True)
        (own / "weights.pt").touch()
        record_provenance(own, items, resume=False)
    return str(folder)


def test_each_fold_starts_where_the_same_fold_was_held_out(catalog: Catalog, tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", {"a"}, {"b"})
    assert starting_weights(run, "fold-1", catalog) == str(tmp_path / "run" / "fold-1")
    assert starting_weights(run, "", catalog) == run
    assert starting_weights("imagenet", "fold-1", catalog) == "imagenet"
    with pytest.raises(BadInput, match=r"no fold-2.*as many models and the same folds"):
        starting_weights(run, "fold-2", catalog)


def test_weights_that_know_an_item_are_refused(catalog: Catalog, tmp_path: Path) -> None:
    name = catalog.items.ids[3]
    told = rf"known_items: found weights that learned from 1 of the {len(catalog)} items to be judged, as {name}"
    single, several = run_of(tmp_path / "single", {name, "x"}), run_of(tmp_path / "several", {"x"}, {name})
    for weights, fold in ((single, "fold-0"), (single, ""), (f"{single}/weights.pt", ""), (several, "fold-1")):
        with pytest.raises(BadInput, match=told):
            starting_weights(weights, fold, catalog)
    assert starting_weights(several, "fold-0", catalog) == f"{several}/fold-0"
    (Path(single) / LEARNED).unlink()  # of runs that do not tell, nothing is known
    assert starting_weights(single, "fold-0", catalog) == single


@pytest.mark.parametrize("items", [{"1e5", "007", "nan", "a b", 'q"x', "c,d", "é"}, set()])
def test_what_was_learned_is_read_as_it_was_written(items: set[str], tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", items)
    assert trained_on(run) == items
    record_provenance(Path(run), items, resume=True)
    with pytest.raises(BadInput, match=r"other_items: found 1 items more or less, as z"):
        record_provenance(Path(run), items | {"z"}, resume=True)


def test_a_single_model_is_no_start_for_folds_of_its_own_data(sets: Path, tmp_path: Path) -> None:
    """But one of other data is, and one that held out the same."""
    quick = {"epochs": 1, "evaluations": 1, "folds": 2}
    tallymark.synth("wheat", tmp_path / "wheat", items=8, size=64, seed=5)
    train(tmp_path, "wheat", tmp_path / "made", **quick)
    train(sets, "wheat", tmp_path / "own", **quick)
    own, made = str(tmp_path / "own"), str(tmp_path / "made")
    with pytest.raises(BadInput, match="known_items"):
        train(sets, "wheat", tmp_path / "folds", **quick, train_folds=2, weights=own)
    with pytest.raises(BadInput, match="known_items"):
        train(sets, "wheat", tmp_path / "dealt", **quick, seed=1, weights=own)
    assert train(sets, "wheat", tmp_path / "longer", **quick, weights=own).run.models
    assert train(sets, "wheat", tmp_path / "both", **quick, train_folds=2, weights=made).run.models
    assert trained_on(str(tmp_path / "both" / "fold-0")) > trained_on(made)
    with pytest.raises(BadInput, match="known_items"):
        train(tmp_path, "wheat", tmp_path / "back", **quick, seed=1, weights=str(tmp_path / "both"))
