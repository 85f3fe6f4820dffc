"""Weights of an earlier run are not evaluated on items that they were trained on."""

from __future__ import annotations

from pathlib import Path

import pytest

import tallymark
from tallymark.core.problems import BadInput
from tallymark.data.catalog import Catalog
from tallymark.inference.run import TRAINED_ON
from tallymark.training.provenance import initial_weights, record_provenance, trained_on
from tests.training.test_train import train


@pytest.fixture(scope="module")
def catalog(sets: Path) -> Catalog:
    return tallymark.read("wheat", sets / "wheat").in_split("train")


def run_of(folder: Path, *trained: set[str]) -> str:
    """A run of as many models, which were trained on these items."""
    for fold, items in enumerate(trained):
        own = folder / f"fold-{fold}" if len(trained) > 1 else folder
        own.mkdir(parents=True)
        (own / "weights.pt").touch()
        record_provenance(own, frozenset(items), resume=False)
    return str(folder)


def test_each_fold_starts_from_weights_with_the_same_fold_held_out(catalog: Catalog, tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", {"a"}, {"b"})
    assert initial_weights(run, "fold-1", catalog).source == str(tmp_path / "run" / "fold-1")
    assert initial_weights(run, "", catalog).source == run
    assert initial_weights("imagenet", "fold-1", catalog).source == "imagenet"
    with pytest.raises(BadInput, match=r"no fold-2.*as many models and the same folds"):
        initial_weights(run, "fold-2", catalog)


def test_weights_trained_on_a_held_out_item_are_refused(catalog: Catalog, tmp_path: Path) -> None:
    name = catalog.items.ids[3]
    message = rf"known_items: found weights trained on 1 of the {len(catalog)} held-out items, as {name}"
    single, several = run_of(tmp_path / "single", {name, "x"}), run_of(tmp_path / "several", {"x"}, {name})
    for weights, fold in ((single, "fold-0"), (single, ""), (f"{single}/weights.pt", ""), (several, "fold-1")):
        with pytest.raises(BadInput, match=message):
            initial_weights(weights, fold, catalog)
    assert initial_weights(several, "fold-0", catalog).source == f"{several}/fold-0"
    (Path(single) / TRAINED_ON).unlink()  # without the list, nothing is known
    assert initial_weights(single, "fold-0", catalog).source == single


@pytest.mark.parametrize("items", [{"1e5", "007", "nan", "a b", 'q"x', "c,d", "é"}, set()])
def test_the_list_of_items_is_read_as_it_was_written(items: set[str], tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", items)
    assert trained_on(Path(run)) == items
    record_provenance(Path(run), frozenset(items), resume=True)
    with pytest.raises(BadInput, match=r"other_items: found 1 items more or less, as z"):
        record_provenance(Path(run), frozenset(items | {"z"}), resume=True)


@pytest.mark.parametrize("damage", [b"", b"\0\0", b"its\na\n"])
def test_a_damaged_list_is_written_anew_when_a_training_is_resumed(damage: bytes, tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", {"a", "b"})
    (Path(run) / TRAINED_ON).write_bytes(damage)
    with pytest.raises(BadInput):  # for other trainings, it would protect held-out items
        trained_on(Path(run))
    record_provenance(Path(run), frozenset({"a", "b"}), resume=True)
    assert trained_on(Path(run)) == {"a", "b"}


@pytest.mark.slow
def test_a_single_model_cannot_initialize_folds_of_its_own_data(sets: Path, tmp_path: Path) -> None:
    """But a model of other data can, and one with the same items held out."""
    quick = {"epochs": 1, "evaluations": 1, "folds": 2}
    tallymark.synth("wheat", tmp_path / "wheat", items=8, size=64, seed=5)
    train(tmp_path, "wheat", tmp_path / "made", **quick)
    train(sets, "wheat", tmp_path / "own", **quick)
    own, made = str(tmp_path / "own"), str(tmp_path / "made")
    with pytest.raises(BadInput, match="known_items"):
        train(sets, "wheat", tmp_path / "folds", **quick, train_folds=2, weights=own)
    with pytest.raises(BadInput, match="known_items"):
        train(sets, "wheat", tmp_path / "other-folds", **quick, seed=1, weights=own)
    assert train(sets, "wheat", tmp_path / "longer", **quick, weights=own).run.models
    assert train(sets, "wheat", tmp_path / "both", **quick, train_folds=2, weights=made).run.models
    assert trained_on(tmp_path / "both" / "fold-0") > trained_on(Path(made))
    with pytest.raises(BadInput, match="known_items"):
        train(tmp_path, "wheat", tmp_path / "back", **quick, seed=1, weights=str(tmp_path / "both"))
