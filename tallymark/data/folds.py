"""Leakage-free cross-validation folds: grouped by source, day or drive, and stratified by class or object count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import polars as pl

from tallymark.core.problems import EVERY, BadInput, Problem, Problems
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import NO_GROUP, Catalog
from tallymark.data.checks.media import inspect_all
from tallymark.data.items import Items
from tallymark.data.near_duplicates import cluster_duplicates, find_near_duplicates
from tallymark.io.media import THUMBNAIL, Inspection
from tallymark.io.tables import number_text, read_table, write_table

C = TypeVar("C", bound=Catalog)
FoldBy = Literal["groups", "folders"]
"""What stays together in a fold: groups of the data set, or the files of one folder, such as those of one site."""
LONE = "no group"
"""The group of items that are alone in theirs, in tables."""


@dataclass(frozen=True, eq=False)
class Folds:
    """For each item its fold, counted from 0, its group, and its number of objects.

    notes: warnings about the data set, such as items that have no fold because their file is missing.
    """

    items: Items
    fold: np.ndarray
    group: pl.Series
    objects: np.ndarray
    notes: Problems = field(default_factory=lambda: Problems(EVERY))

    @property
    def count(self) -> int:
        return int(self.fold.max(initial=-1)) + 1

    def of(self, catalog: Catalog) -> np.ndarray:
        """The fold of each item of a catalog; -1 for items without one, such as those of a test set."""
        return np.append(self.fold, -1)[self.items.find(catalog.items.ids)]

    def split(self, catalog: C, fold: int) -> tuple[C, C]:
        """The training and the validation items of a fold."""
        folds = self.of(catalog)
        return catalog.select((folds >= 0) & (folds != fold)), catalog.select(folds == fold)

    def group_of(self, items: Items) -> pl.Series:
        """The group of each of these items; `LONE` for those that are alone in theirs, or have no fold."""
        size = self.group.to_frame("group").select(pl.len().over("group")).to_series()
        known = pl.select(pl.when(size > 1).then(self.group).otherwise(pl.lit(LONE))).to_series()
        return pl.concat([known, pl.Series([LONE])])[self.items.find(items.ids)].alias("group")

    @property
    def table(self) -> pl.DataFrame:
        """For each fold its number of items, objects, empty items and groups."""
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
    """Folds from a file of `Folds.save`."""
    problems = Problems()
    table = problems.checked(read_table(path, problems))
    if not {"id", "group", "fold", "objects"} <= set(table.header):
        found, remedy = ",".join(table.header), "create the file with tallymark folds"
        raise BadInput(Problem("bad_header", str(path), found, "id,group,fold,objects", remedy, line=1))
    ids = table.text("id")
    numbers = []
    for name in ("fold", "objects"):
        values = table.text(name).cast(pl.Int64, strict=False)
        bad = np.flatnonzero((values.is_null() | (values < 0).fill_null(True)).to_numpy())
        table.report(problems, f"bad_{name}", bad, name, "a whole number from 0 on", "create the file again", ids=ids)
        numbers.append(values.fill_null(0).to_numpy())
    duplicate = np.flatnonzero(~ids.is_first_distinct().to_numpy())
    table.report(problems, "duplicate_id", duplicate, "id", "every item once", "create the file again", ids=ids)
    problems.raise_if_any()
    return Folds(Items(ids), numbers[0], table.text("group"), numbers[1])


def make_folds(
    catalog: Catalog,
    count: int = 5,
    seed: int = 0,
    *,
    leave_one_out: bool = False,
    or_fewer: bool = False,
    by: FoldBy = "groups",
) -> Folds:
    """Assign the labelled items, except those of the test split, to folds.

    leave_one_out: every group with objects is a fold; other groups, and items without one, are distributed among these.
    or_fewer: where there are fewer groups than folds, each group is a fold; otherwise that is a `BadInput`.
    """
    chosen = catalog.select(catalog.labelled & (catalog.split != "test").to_numpy())
    _check_arguments(catalog, chosen, count, seed)
    group = groups_of(chosen) if by == "groups" else folders_of(chosen)
    if leave_one_out:
        return _leave_one_group_out(chosen, group)
    members, item_group = np.unique(group.to_numpy().astype(str), return_inverse=True)
    count = min(count, max(len(members), 2)) if or_fewer else count
    if len(members) < count:
        found, expected = f"{len(members)} groups among {len(chosen)} items", f"at least {count}, one for each fold"
        raise BadInput(Problem("too_few_groups", str(catalog.root), found, expected, "ask for fewer folds"))
    stratum = strata(chosen)
    fold = assign_groups(group_table(item_group, stratum), np.zeros(count), seed)
    return Folds(chosen.items, fold[item_group], group, _objects(chosen))


def _check_arguments(catalog: Catalog, chosen: Catalog, count: int, seed: int) -> None:
    root = str(catalog.root)
    if not len(chosen):
        raise catalog.no_truth()
    if count < 1:
        raise BadInput(Problem("bad_option", root, f"folds={count}", "a whole number from 1 on", "give e.g. 5"))
    if seed < 0:
        raise BadInput(Problem("bad_option", root, f"seed={seed}", "a whole number from 0 on", "give e.g. 0"))


def groups_of(catalog: Catalog) -> pl.Series:
    """The group of each item: that of the data set, or near-duplicates if media are crops of larger scenes.

    An item without a group is a group of its own.
    """
    return _duplicate_groups(catalog) if catalog.cells > 1 else stated_groups(catalog.items)


def folders_of(catalog: Catalog) -> pl.Series:
    """The folder of each item's file, below the data set; an item without a file is a group of its own."""
    folders = catalog.files.str.replace(r"/?[^/]*$", "")
    return pl.select(pl.coalesce(folders, catalog.items.ids)).to_series().alias("group")


def stated_groups(items: Items) -> pl.Series:
    """The group of each item as the data set states it; an item without one is a group of its own."""
    if items.group is None:
        return items.ids.alias("group")
    return pl.select(pl.when(items.group == NO_GROUP).then(items.ids).otherwise(items.group)).to_series()


def join_groups(first: pl.Series, second: Sequence[str]) -> pl.Series:
    """The finest groups that split neither those of the first nor those of the second; named after a first one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    one, other = (np.unique(np.array(names, str), return_inverse=True)[1] for names in (first.to_list(), second))
    size = max(one.max(initial=0), other.max(initial=0)) + 1
    links = coo_array((np.ones(len(one)), (one, size + other)), shape=(2 * size, 2 * size))
    joined = connected_components(links, directed=False)[1][one]
    position = np.unique(joined, return_index=True)[1]
    order = np.unique(joined, return_inverse=True)[1]
    return first[position[order]].alias("group")


def strata(catalog: Catalog) -> np.ndarray:
    """The stratum of each item: its class, or its number of objects in powers of two (0, 1, 2-3, 4-7, 8-15, …)."""
    return np.zeros(len(catalog), np.int64) if catalog.truth is None else strata_of(catalog.truth)


def strata_of(truth: Annotations[Any]) -> np.ndarray:
    """The stratum of each item of a truth."""
    if not truth.shapes.localized and (truth.counts > 0).all():
        return truth.shapes.label[truth.offsets[:-1]]
    return np.where(truth.counts > 0, np.floor(np.log2(np.maximum(truth.counts, 1))) + 1, 0).astype(np.int64)


def _objects(catalog: Catalog) -> np.ndarray:
    return np.zeros(len(catalog), np.int64) if catalog.truth is None else catalog.truth.counts


def group_table(item_group: np.ndarray, stratum: np.ndarray) -> np.ndarray:
    """The share that each group has of each stratum, and in the last column of all items.

    item_group, stratum: of each item, numbered from 0.
    """
    table = np.zeros((int(item_group.max(initial=-1)) + 1, int(stratum.max(initial=0)) + 2))
    np.add.at(table, (item_group, stratum), 1)
    table[:, -1] = table[:, :-1].sum(axis=1)
    return table / np.maximum(table.sum(axis=0), 1)


def assign_groups(table: np.ndarray, shares: np.ndarray, seed: int) -> np.ndarray:
    """A part for each group of a table: the largest group first, greedily balanced over all columns.

    shares: of each part; zeros: all alike.
    """
    order = np.random.default_rng(seed).permutation(len(table))
    order = order[np.argsort(-table[order].max(axis=1), kind="stable")]
    excess = np.tile(-shares[:, None], table.shape[1])  # what each part has of a stratum, beyond its share
    part = np.zeros(len(table), np.int64)
    for group in order:
        part[group] = np.argmin(excess @ table[group])
        excess[part[group]] += table[group]
    return part


def _leave_one_group_out(catalog: Catalog, group: pl.Series) -> Folds:
    """Each group is a fold, in order of appearance.

    Groups of a single item, or without any object, cannot be scored: each is held out together with one of the others.
    """
    objects = _objects(catalog)
    sums = pl.DataFrame({"group": group, "objects": objects}).select(
        items=pl.len().over("group"), objects=pl.sum("objects").over("group")
    )
    names = group.filter((sums["items"] > 1) & (sums["objects"] > 0)).unique(maintain_order=True)
    if len(names) < 2:
        noun = catalog.medium.noun
        found = f"{len(names)} groups of more than one {noun} with annotations"
        raise BadInput(Problem("too_few_groups", str(catalog.root), found, "at least 2", "omit leave-one-out"))
    others = group.filter(~group.is_in(names.to_list())).unique(maintain_order=True)
    at = Items(pl.concat([names, others])).find(group)
    return Folds(catalog.items, np.where(at < len(names), at, (at - len(names)) % len(names)), group, objects)


def _duplicate_groups(catalog: Catalog) -> pl.Series:
    """A group for each cluster of near-duplicates, named after its first item."""
    inspections = inspect_all(catalog)
    blank = np.zeros((THUMBNAIL, THUMBNAIL), np.uint8)
    thumbnails = np.stack([one.thumbnail if isinstance(one, Inspection) else blank for one in inspections])
    cluster = cluster_duplicates(len(catalog), find_near_duplicates(thumbnails, catalog.cells))
    first = np.unique(cluster, return_index=True)[1]
    return catalog.items.ids[first[cluster]].alias("group")
