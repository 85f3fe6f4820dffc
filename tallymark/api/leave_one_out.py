"""Leave one group out: a training for each source, day, drive or folder, without it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tallymark.core.problems import BadInput, Problem
from tallymark.core.recipe import Recipe
from tallymark.data.catalog import Catalog
from tallymark.data.folds import FoldBy, Folds, make_folds, read_folds


def choose_folds(
    catalog: Catalog, recipe: Recipe, given: Mapping[str, object], fold_table: str | Path | None
) -> tuple[Folds | None, Recipe]:
    """The folds of a table, or one for each group if the recipe says so, and the recipe; None: folds as it makes them.

    given: fields of the recipe that the user chose.
    """
    if not recipe.leave_one_out:
        return None if fold_table is None else read_folds(fold_table), recipe
    if fold_table is not None:
        expected = "one of --folds and --leave-one-out"
        raise BadInput(Problem("bad_option", "train", f"folds={fold_table}", expected, "leave out one of them"))
    return leave_groups_out(catalog, recipe, given)


def leave_groups_out(catalog: Catalog, recipe: Recipe, given: Mapping[str, object]) -> tuple[Folds, Recipe]:
    """A fold for each group, and the recipe that holds out all of them.

    given: fields that the user chose, which stay. Otherwise a model is evaluated once, at its end: a checkpoint that is
    chosen by the score of the group would not be honest about groups that nobody has annotated yet.
    """
    changed = recipe.replace(**{"evaluations": 1, "fold_by": "groups"} | dict(given))
    if changed.fold_by == "items":
        remedy = "leave it out, or give fold_by=folders"
        raise BadInput(Problem("bad_option", "recipe", "fold_by=items", "groups to leave out", remedy))
    splits = ("train", "val") if changed.train_on_val else ("train",)
    by: FoldBy = "folders" if changed.fold_by == "folders" else "groups"
    folds = make_folds(catalog.in_split(*splits), leave_one_out=True, by=by)
    changed = changed.replace(train_folds=given.get("train_folds", folds.count))
    if changed.train_folds < 2:
        expected = "at least 2: the thresholds of each group are tuned on the others"
        raise BadInput(Problem("bad_option", "recipe", f"train_folds={changed.train_folds}", expected, "leave it out"))
    return folds, changed
