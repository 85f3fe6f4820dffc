"""Provenance of weights: which items they were trained on. They must not be evaluated on any of them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tallymark.core.problems import BadInput, Problem, Problems
from tallymark.data.catalog import Catalog
from tallymark.data.exclusions import read_exclusions
from tallymark.detector.weights import WEIGHTS, weights_of_run
from tallymark.inference.run import TRAINED_ON
from tallymark.io.tables import write_table


class InitialWeights(NamedTuple):
    """source: as in a recipe. trained_on: the items that the weights were trained on, as far as that is known."""

    source: str
    trained_on: frozenset[str]


def initial_weights(source: str, fold: str, val: Catalog) -> InitialWeights:
    """The initial weights of a fold's model: from a run of several models, those with the same fold held out.

    fold: the name of its folder if there are several. Weights trained on items of `val` are refused.
    """
    run = Path(source)
    if fold and any(run.glob(f"fold-*/{WEIGHTS}")):
        if not (run / fold / WEIGHTS).exists():
            remedy = "train that run with as many models and the same folds"
            raise BadInput(Problem("other_folds", source, f"no {fold}", "a model for each fold", remedy))
        run = run / fold
    known = trained_on(run)
    if leaked := known.intersection(val.items.ids):
        found = f"weights trained on {len(leaked)} of the {len(val)} held-out items, as {min(leaked)}"
        others = "hold out items that they do not know, as that run did (--folds FILE), or use other weights"
        remedy = f"{others}; if other items have these names, delete its {TRAINED_ON}"
        raise BadInput(Problem("known_items", str(run), found, "weights not trained on them", remedy))
    return InitialWeights(str(run), known)


def trained_on(weights: Path) -> frozenset[str]:
    """The items that weights were trained on, as far as it is recorded in their run.

    The list is beside the weights, in the format of a list of exclusions.
    """
    path = (weights_of_run(weights) if weights.is_dir() else weights).parent / TRAINED_ON
    problems = Problems()
    return problems.checked(_read(path, problems)) if weights.exists() and path.exists() else frozenset()


def record_provenance(folder: Path, items: frozenset[str], *, resume: bool) -> None:
    """Write the list of items that a model is trained on. A resumed training must have the same."""
    path = folder / TRAINED_ON
    if resume and (before := _read(path, Problems())) is not None:  # else there is none, or a damaged one
        if other := before ^ items:
            found = f"{len(other)} items more or less, as {min(other)}"
            remedy = "give the same folders, exclusions and folds, or a new folder; if the list was cut, delete it"
            raise BadInput(Problem("other_items", str(path), found, "the items that the training began with", remedy))
        return
    write_table(path, {"item": sorted(items)})


def _read(path: Path, problems: Problems) -> frozenset[str] | None:
    """The items in a list; None, with a problem, if it cannot be read."""
    listed = read_exclusions(path, problems)
    return None if problems or listed is None else frozenset(listed.items)
