"""Folds for honest validation: items of one group stay together, and every fold has its share of each kind of item."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from tallymark.core.problems import BadInput, Problem, Problems
from tallymark.data.catalog import NO_GROUP, Catalog
from tallymark.data.checks.media import inspect_all
from tallymark.data.items import Items
from tallymark.data.near_duplicates import clusters, find_alikes
from tallymark.geometry import Labels
from tallymark.io.media import THUMBNAIL, Inspection
from tallymark.io.tables import number_text, read_table, write_table


@dataclass(frozen=True, eq=False)
class Folds:
    """The fold of each item, counted from 0, the group that it belongs to, and how many objects are in it."""

    items: Items
    fold: np.ndarray
    group: pl.Series
    objects: np.ndarray

    @property
    def count(self) -> int:
        return int(self.fold.max(initial=-1)) + 1

    def of(self, catalog: Catalog) -> np.ndarray:
        """The fold of each item of a catalog; -1 where it has none, as the items of a test set."""
        return np.append(self.fold, -1)[self.items.find(catalog.items.ids)]

    def split(self, catalog: Catalog, fold: int) -> tuple[Catalog, Catalog]:
        """What to train with and what to validate with."""
        folds = self.of(catalog)
        return catalog.select((folds >= 0) & (folds != fold)), catalog.select(folds == fold)

    @property
    def table(self) -> pl.DataFrame:
        """For each fold its items, objects, empty items and groups."""
        rows = pl.DataFrame({"fold": self.fold, "group": self.group, "objects": self.objects})
        return (
            rows.group_by("fold")
            .agg(
                items=pl.len(),
                objects=pl.sum("objects"),
                empty=(pl.col("objects") == 0).sum(),
                groups=pl.n_unique("group"),
            )
            .sort("fold")
        )

    def save(self, path: str | Path) -> None:
        """Write them as CSV: `id,group,fold,objects`."""
        numbers = {"fold": number_text(self.fold), "objects": number_text(self.objects)}
        write_table(path, {"id": self.items.ids, "group": self.group, **numbers})


def read_folds(path: str | Path) -> Folds:
    """Folds as `Folds.save` wrote them."""
    problems = Problems()
    table = problems.checked(read_table(path, problems))
    if not {"id", "group", "fold", "objects"} <= set(table.header):
        found, remedy = ",".join(table.header), "make the file with tallymark split"
        raise BadInput(Problem("bad_header", str(path), found, "id,group,fold,objects", remedy, line=1))
    ids, numbers = table.text("id"), []
    for name in ("fold", "objects"):
        values = table.text(name).cast(pl.Int64, strict=False)
        bad = np.flatnonzero((values.is_null() | (values < 0).fill_null(True)).to_numpy())
        table.report(problems, f"bad_{name}", bad, name, "a whole number from 0 on", "make the file again", ids=ids)
        numbers.append(values.fill_null(0).to_numpy())
    again = np.flatnonzero(~ids.is_first_distinct().to_numpy())
    table.report(problems, "duplicate_id", again, "id", "every item once", "make the file again", ids=ids)
    problems.raise_if_any()
    return Folds(Items(ids), numbers[0], table.text("group"), numbers[1])


def make_folds(
    catalog: Catalog, count: int = 5, seed: int = 0, *, leave_one_out: bool = False, or_fewer: bool = False
) -> Folds:
    """Deal the labelled items, but those of the test part, into folds.

    With `leave_one_out` every group is a fold of its own; items without a group are dealt out among these.
    or_fewer: where there are fewer groups than folds, each is a fold; else that is a `BadInput`.
    """
    chosen = catalog.select(catalog.labelled & (catalog.split != "test").to_numpy())
    _refuse(catalog, chosen, count, seed)
    group = groups_of(chosen)
    if leave_one_out:
        return _by_group(chosen, group)
    members, item_group = np.unique(group.to_numpy().astype(str), return_inverse=True)
    count = min(count, max(len(members), 2)) if or_fewer else count
    if len(members) < count:
        found, expected = f"{len(members)} groups among {len(chosen)} items", f"at least {count}, one for each fold"
        raise BadInput(Problem("too_few_groups", str(catalog.root), found, expected, "ask for fewer folds"))
    kinds = strata(chosen)
    table = np.zeros((len(members), int(kinds.max(initial=0)) + 2))
    np.add.at(table, (item_group, kinds), 1)
    table[:, -1] = table[:, :-1].sum(axis=1)  # and the items altogether
    fold = _deal(table, count, np.random.default_rng(seed))
    return Folds(chosen.items, fold[item_group], group, _objects(chosen))


def _refuse(catalog: Catalog, chosen: Catalog, count: int, seed: int) -> None:
    root = str(catalog.root)
    if not len(chosen):
        expected, remedy = "items to learn from, with their truth", "name the folder that has the tables too"
        raise BadInput(Problem("no_truth", root, f"none among {len(catalog)} items", expected, remedy))
    if count < 1:
        raise BadInput(Problem("bad_option", root, f"folds={count}", "a whole number from 1 on", "give e.g. 5"))
    if seed < 0:
        raise BadInput(Problem("bad_option", root, f"seed={seed}", "a whole number from 0 on", "give e.g. 0"))


def groups_of(catalog: Catalog) -> pl.Series:
    """What must stay together: the group of the data set, or look-alikes where media are crops of larger scenes.

    An item without a group is one of its own.
    """
    ids = catalog.items.ids
    if catalog.cells > 1:
        return _look_alikes(catalog)
    if catalog.items.group is None:
        return ids.alias("group")
    return pl.select(pl.when(catalog.items.group == NO_GROUP).then(ids).otherwise(catalog.items.group)).to_series()


def strata(catalog: Catalog) -> np.ndarray:
    """The kind of each item: its class, or how many objects it has (none, 1, 2-3, 4-7, 8-15, …)."""
    truth = catalog.truth
    if truth is None:
        return np.zeros(len(catalog), np.int64)
    if isinstance(truth.shapes, Labels) and (truth.counts > 0).all():
        return truth.shapes.label[truth.offsets[:-1]]
    return np.where(truth.counts > 0, np.floor(np.log2(np.maximum(truth.counts, 1))) + 1, 0).astype(np.int64)


def _objects(catalog: Catalog) -> np.ndarray:
    return np.zeros(len(catalog), np.int64) if catalog.truth is None else catalog.truth.counts


def _deal(table: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """A fold for each group, given how many items of each kind it has: the largest first, to where they lack most."""
    table = table / np.maximum(table.sum(axis=0), 1)
    order = rng.permutation(len(table))
    order = order[np.argsort(-table[order].max(axis=1), kind="stable")]
    filled, fold = np.zeros((count, table.shape[1])), np.zeros(len(table), np.int64)
    for group in order:
        fold[group] = np.argmin(filled @ table[group])
        filled[fold[group]] += table[group]
    return fold


def _by_group(catalog: Catalog, group: pl.Series) -> Folds:
    """Each group is a fold, in order of appearance; items that are alone in theirs are dealt out among these."""
    size = group.to_frame("group").select(pl.len().over("group")).to_series().to_numpy()
    names = group.filter(pl.Series(size > 1)).unique(maintain_order=True)
    if len(names) < 2:
        found = f"{len(names)} groups of more than one item"
        raise BadInput(Problem("too_few_groups", str(catalog.root), found, "at least 2", "leave out leave-one-out"))
    fold = Items(names).find(group).copy()
    alone = np.flatnonzero(fold < 0)
    fold[alone] = np.arange(len(alone)) % len(names)
    return Folds(catalog.items, fold, group, _objects(catalog))


def _look_alikes(catalog: Catalog) -> pl.Series:
    """A group for each cluster of look-alikes, named after its first item."""
    seen = inspect_all(catalog)
    blank = np.zeros((THUMBNAIL, THUMBNAIL), np.uint8)
    thumbnails = np.stack([inspect.thumbnail if isinstance(inspect, Inspection) else blank for inspect in seen])
    number = clusters(len(catalog), find_alikes(thumbnails, catalog.cells))
    first = np.unique(number, return_index=True)[1]
    return catalog.items.ids[first[number]].alias("group")
