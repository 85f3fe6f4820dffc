"""Public and private items of a leaderboard: leakage-free by groups, and stratified as folds are."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from tallymark.core.problems import EVERY, BadInput, Problem, Problems
from tallymark.data.folds import assign_groups
from tallymark.data.items import Items
from tallymark.io.tables import Table, read_table, write_table

SPLITS = ("public", "private")
ID_COLUMNS = ("id", "item", "image_id", "ImageId", "image_name", "filename", "Id")
"""Names of the column with the ids in a list of public items; a table of one column may have any name."""


@dataclass(frozen=True, eq=False)
class PublicPrivate:
    """For each item of a truth whether it is public, its group, and its number of objects.

    notes: warnings about the data, and remarks about what was left out or is not known.
    """

    items: Items
    public: np.ndarray
    group: pl.Series
    objects: np.ndarray
    notes: Problems = field(default_factory=lambda: Problems(EVERY))

    @property
    def split(self) -> pl.Series:
        """`public` or `private` for each item."""
        return pl.Series("split", np.where(self.public, *SPLITS), dtype=pl.String)

    @property
    def table(self) -> pl.DataFrame:
        """For each of the two its number of items, their share, objects, empty items and groups."""
        rows = pl.DataFrame({"split": self.split, "group": self.group, "objects": self.objects})
        return (
            rows.group_by("split")
            .agg(
                items=pl.len(),
                share=pl.len() / rows.height,
                objects=pl.sum("objects"),
                empty=(pl.col("objects") == 0).sum(),
                groups=pl.n_unique("group"),
            )
            .sort("split", descending=True)
        )

    def save(self, path: str | Path) -> None:
        """Write them as CSV: `id,group,split`."""
        write_table(path, {"id": self.items.ids, "group": self.group, "split": self.split})


def split_public(
    items: Items, group: pl.Series, stratum: np.ndarray, share: float, seed: int, where: str
) -> np.ndarray:
    """Whether each item is public. Groups stay together, so that the share is met only as well as they allow."""
    members, item_group = np.unique(group.to_numpy().astype(str), return_inverse=True)
    if not 0 < share < 1:
        expected = "a share between 0 and 1"
        raise BadInput(Problem("bad_option", where, f"public share {share:g}", expected, "give e.g. 0.3"))
    if seed < 0:
        raise BadInput(Problem("bad_option", where, f"seed={seed}", "a whole number from 0 on", "give e.g. 0"))
    if len(members) < 2:
        found = f"{len(members)} groups among {len(items)} items"
        remedy = "a private part needs items of other groups than the public one"
        raise BadInput(Problem("too_few_groups", where, found, "at least 2 groups", remedy))
    side = assign_groups(item_group, stratum, np.array([share, 1 - share]), seed)
    for empty in set(range(2)) - set(side.tolist()):  # where few groups are large: the smallest
        side[np.argmin(np.bincount(item_group))] = empty
    return side[item_group] == 0


def read_public(path: str | Path, problems: Problems) -> pl.Series | None:
    """The ids of public items: of a file of `PublicPrivate.save`, or of any table with a column of ids."""
    before = problems.total
    table = read_table(path, problems)
    if table is None or problems.total > before:
        return None
    column = next((name for name in ID_COLUMNS if name in table.header), table.header[0])
    if column not in ID_COLUMNS and len(table.header) > 1:
        found, expected = ",".join(table.header), f"a column {', '.join(ID_COLUMNS[:-1])} or {ID_COLUMNS[-1]}"
        remedy = "name the column of ids: id"
        problems.add(Problem("bad_header", str(path), found, expected, remedy, line=1))
        return None
    ids = table.text(column)
    _report_ids(table, column, ids, problems)
    if "split" in table.header:
        split = table.text("split")
        odd = np.flatnonzero(~split.is_in(SPLITS).to_numpy())
        table.report(problems, "bad_split", odd, "split", "public or private", "correct the cell", ids=ids)
        ids = ids.filter(split == "public")
    if problems.total == before and not len(ids):
        remedy = "list the public items, or leave the file out"
        problems.add(Problem("no_public_id", str(path), "none", "ids of public items", remedy))
    return ids if problems.total == before else None


def _report_ids(table: Table, column: str, ids: pl.Series, problems: Problems) -> None:
    empty = np.flatnonzero((ids == "").to_numpy())
    table.report(problems, "empty_id", empty, column, "an id", "add the id, or remove the row")
    again = np.flatnonzero((~ids.is_first_distinct() & (ids != "")).to_numpy())
    table.report(problems, "duplicate_id", again, column, "every item once", "remove the row", ids=ids)
