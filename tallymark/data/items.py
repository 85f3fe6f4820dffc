"""Items: the images, recordings or sweeps that annotations belong to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl


@dataclass(frozen=True, eq=False)
class Items:
    """Unique ids in a fixed order.

    group: of each item, e.g. the source, day or log it comes from. line: the first line of the file that has the item.
    """

    ids: pl.Series
    group: pl.Series | None = None
    line: np.ndarray | None = None

    @classmethod
    def of(cls, ids: list[str]) -> Items:
        return cls(pl.Series("id", ids, dtype=pl.String))

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, ids: pl.Series) -> np.ndarray:
        """The index of each id; -1 where it is not an item."""
        if len(ids) == len(self.ids) and bool((ids == self.ids).all()):
            return np.arange(len(ids))
        joined = pl.DataFrame({"id": ids}).join(self._index, on="id", how="left", maintain_order="left")
        return joined["index"].fill_null(-1).to_numpy()

    @cached_property
    def _index(self) -> pl.DataFrame:
        return pl.DataFrame({"id": self.ids, "index": np.arange(len(self))})


def unique_items(ids: pl.Series, line: np.ndarray, group: pl.Series | None = None) -> tuple[Items, np.ndarray]:
    """The unique ids of a file in order of first appearance, and the item of every row."""
    new = (ids != ids.shift(1)).fill_null(True).to_numpy()  # the rows of an item are mostly consecutive
    start = np.flatnonzero(new)
    heads = ids[start]
    first = start[heads.is_first_distinct().to_numpy()]
    items = Items(ids[first], None if group is None else group[first].str.strip_chars(), line[first])
    return items, items.find(heads)[np.cumsum(new) - 1]
