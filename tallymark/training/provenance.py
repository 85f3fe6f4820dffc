"""Where a model starts, and what it learned from: weights must not have seen what they are to be judged by."""

from __future__ import annotations

from pathlib import Path

from tallymark.core.problems import BadInput, Problem, Problems
from tallymark.data.catalog import Catalog
from tallymark.data.exclusions import read_exclusions
from tallymark.detector.weights import WEIGHTS, of_run
from tallymark.io.tables import write_table

LEARNED = "learned.csv"
"""The name of the list of items that a model learned from, in the folder of its weights; a fix list by its form."""


def starting_weights(weights: str, fold: str, judged: Catalog) -> str:
    """Where the model of a fold starts: of a run of several models, at the one that held out the same fold.

    fold: the name of its folder if there are several. Weights that learned from items that are judged are refused.
    """
    run = Path(weights)
    if fold and any(run.glob(f"fold-*/{WEIGHTS}")):
        if not (run / fold / WEIGHTS).exists():
            found, remedy = f"no {fold}", "train that run with as many models and the same folds"
            raise BadInput(Problem("other_folds", weights, found, "a model for each fold", remedy))
        run = run / fold
    if known := trained_on(str(run)).intersection(judged.items.ids):
        found = f"weights that learned from {len(known)} of the {len(judged)} items to be judged, as {min(known)}"
        remedy = f"hold out the same folds as that run did; if other items have these names, delete its {LEARNED}"
        raise BadInput(Problem("known_items", str(run), found, "weights that have not seen them", remedy))
    return str(run)


def trained_on(weights: str) -> set[str]:
    """The items that weights learned from, as far as the run that they belong to tells."""
    path = Path(weights)
    listed = (of_run(path) if path.is_dir() else path).parent / LEARNED
    return _read(listed) if path.exists() and listed.exists() else set()


def record_provenance(folder: Path, items: set[str], *, resume: bool) -> None:
    """Write down what a model learns from. One that is gone on with must learn from the same."""
    path = folder / LEARNED
    if resume and path.exists() and (other := _read(path) ^ items):
        found, expected = f"{len(other)} items more or less, as {min(other)}", "the items that it was begun with"
        remedy = "give the same folders, fix list and split, or a new folder"
        raise BadInput(Problem("other_items", str(path), found, expected, remedy))
    write_table(path, {"item": sorted(items)})


def _read(path: Path) -> set[str]:
    problems = Problems()
    return set(problems.checked(read_exclusions(path, problems)).items)
