"""Public and private items of a leaderboard: leakage-free by groups, and stratified as folds are."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from tallymark.core.problems import EVERY, BadInput, Problem, Problems
from tallymark.data.folds import assign_groups, group_table
from tallymark.data.items import Items
from tallymark.io.tables import Table, read_table, write_table

SPLITS = ("public", "private")
FEW_GROUPS = 100
"""Groups up to which pairs of them are exchanged to meet the share; of many, moving single ones is enough."""
MANY_GROUPS = 5000
"""Groups from which on the greedy choice is left as it is: it meets the share."""
MOST_MOVES = 50
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
    group: pl.Series, stratum: np.ndarray, objects: np.ndarray, share: float, seed: int, where: str
) -> np.ndarray:
    """Whether each item is public. Groups stay together, so that the share is met only as well as they allow.

    group, stratum, objects: of each item; objects: how many it has. where: the data, for messages.
    """
    members, item_group = np.unique(group.to_numpy().astype(str), return_inverse=True)
    if not 0 < share < 1:
        expected = "a share between 0 and 1"
        raise BadInput(Problem("bad_option", where, f"public share {share:g}", expected, "give e.g. 0.3"))
    if seed < 0:
        raise BadInput(Problem("bad_option", where, f"seed={seed}", "a whole number from 0 on", "give e.g. 0"))
    if len(members) < 2:
        found = f"{len(members)} groups among {len(group)} items"
        remedy = "a private part needs items of other groups than the public one"
        raise BadInput(Problem("too_few_groups", where, found, "at least 2 groups", remedy))
    table = group_table(item_group, stratum)
    public = assign_groups(table, np.array([share, 1 - share]), seed) == 0
    owned = np.bincount(item_group, weights=objects)
    parts = np.column_stack([table, owned / max(owned.sum(), 1)])
    return _improve(public, parts, share)[item_group]


def _improve(public: np.ndarray, parts: np.ndarray, share: float) -> np.ndarray:
    """A better choice of public groups, by moving or exchanging groups as long as that helps.

    parts: (groups, columns), the share of each group in every stratum, then in all items and in all objects. With few
    groups a greedy choice may leave one part without objects, or without anything.
    """
    weight = np.append(np.full(parts.shape[1] - 2, 1 / max(parts.shape[1] - 2, 1)), [2.0, 2.0])
    counted = parts[:, -2:].sum(axis=0) > 0  # items and objects, if there are any
    swaps = len(parts) <= FEW_GROUPS

    def costs(sums: np.ndarray) -> np.ndarray:
        """Of public parts with these sums (n, columns): how far off they are; very much if either part is empty."""
        empty = ((sums[:, -2:] < 1e-9) | (sums[:, -2:] > 1 - 1e-9)) & counted
        total: np.ndarray = ((sums - share) ** 2) @ weight + 1e6 * empty.sum(axis=1)
        return total

    public = public.copy()
    for _ in range(MOST_MOVES if len(parts) < MANY_GROUPS else 0):
        sums = parts[public].sum(axis=0)
        step = np.where(public, -1.0, 1.0)[:, None] * parts
        moved = costs(sums + step)
        best: list[tuple[float, tuple[int, ...]]] = [(float(moved.min()), (int(moved.argmin()),))]
        out, into = np.flatnonzero(public), np.flatnonzero(~public)
        if swaps and len(out) and len(into):
            pairs = (step[out][:, None] + step[into][None]).reshape(-1, parts.shape[1])
            exchanged = costs(sums + pairs)
            first, second = divmod(int(exchanged.argmin()), len(into))
            best.append((float(exchanged.min()), (int(out[first]), int(into[second]))))
        cost, changed = min(best)
        if cost >= float(costs(sums[None])[0]) - 1e-12:
            break
        public[list(changed)] = ~public[list(changed)]
    return public


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
