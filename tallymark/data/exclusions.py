"""Exclusions: items and objects of a data set that are not used.

A CSV file with a column `item` and optionally `number`, the number of the object within its item, counted from 1;
without it the whole item is excluded. The list of problems that a check writes has this form: delete the rows of what
you want to keep.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from tallymark.core.problems import Problem, Problems, clip
from tallymark.data.catalog import Catalog
from tallymark.io.tables import read_table


@dataclass(frozen=True, eq=False)
class Exclusions:
    """Ids of whole items, and (id, number) of objects, as listed in a file."""

    file: str
    items: pl.Series
    objects: pl.DataFrame

    def covers(self, problem: Problem) -> bool:
        """Whether a problem is about something that is excluded."""
        return problem.item in self._items or (problem.item, problem.number) in self._objects

    @cached_property
    def _items(self) -> set[str]:
        return set(self.items)

    @cached_property
    def _objects(self) -> set[tuple[str, int]]:
        return set(self.objects.rows())

    def apply(self, catalog: Catalog, problems: Problems) -> Catalog:
        """The catalog without them; ids that neither the catalog nor the problems mention are noted."""
        notes = catalog.notes.without(self.covers)
        known = {*catalog.items.ids, *(problem.item for problem in (*problems, *catalog.notes))}
        for name in sorted({*self._items, *self.objects["item"]} - known):
            expected, remedy = "an item of the data set", "use the list of this data set, or drop the row"
            notes.add(Problem("unused_exclusion", self.file, f"no item {clip(name)}", expected, remedy))
        catalog = replace(catalog, notes=notes)
        truth = catalog.truth
        if truth is not None and self.objects.height:
            rows = pl.DataFrame({"item": truth.items.ids[truth.item], "number": truth.numbers})
            listed = rows.join(self.objects.with_columns(bad=True), ["item", "number"], "left", maintain_order="left")
            truth = replace(truth, number=truth.numbers).filter(listed["bad"].is_null().to_numpy())
        kept = ~catalog.items.ids.is_in(self.items.implode()).to_numpy()
        return replace(catalog, truth=truth).select(kept)


def read_exclusions(path: str | Path, problems: Problems) -> Exclusions | None:
    """Read a list of exclusions; rows without an item (problems of a whole file) are skipped."""
    table = read_table(path, problems)
    if table is None:
        return None
    if "item" not in table.header:
        found, expected = ",".join(table.header), "a column item, and optionally number"
        remedy = "use a list as `tallymark check … --out` writes it"
        problems.add(Problem("bad_header", str(path), found, expected, remedy, line=1))
        return None
    item = table.text("item")
    number = table.text("number") if "number" in table.header else pl.repeat("", len(table), eager=True)
    whole = number.str.strip_suffix(".0").cast(pl.Int64, strict=False)  # pandas may write 3 as 3.0
    bad = np.flatnonzero(((number != "") & (whole.is_null() | (whole < 1))).fill_null(True).to_numpy())
    table.report(
        problems,
        "bad_number",
        bad,
        "number",
        "a whole number from 1 on",
        "leave it empty to exclude the whole item",
        ids=item,
    )
    rows = pl.DataFrame({"item": item, "number": whole}).filter(pl.col("item") != "").unique(maintain_order=True)
    whole_items = rows.filter(pl.col("number").is_null())["item"]
    return Exclusions(str(path), whole_items, rows.filter(pl.col("number").is_not_null()))
