"""Items: the images, recordings or sweeps that annotations belong to."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from tallymark.io.suffixes import IMAGE_SUFFIXES, MEDIA_SUFFIXES

IMAGE_SUFFIX, MEDIA_SUFFIX = (
    re.compile(f"(?:{'|'.join(map(re.escape, sorted(suffixes)))})$", re.IGNORECASE)
    for suffixes in (IMAGE_SUFFIXES, MEDIA_SUFFIXES)
)
BLOCK = 1 << 16
"""Ids that are compared at once: two long columns may be copied to be compared."""


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

    def are(self, ids: pl.Series) -> bool:
        """Whether these ids are those of the items, in the same order."""
        if len(ids) != len(self.ids):
            return False
        blocks = (slice(at, at + BLOCK) for at in range(0, len(ids), BLOCK))
        return all((ids[block] == self.ids[block]).all() for block in blocks)

    def find(self, ids: pl.Series) -> np.ndarray:
        """The index of each id; -1 where it is not an item."""
        if self.are(ids):
            return np.arange(len(ids))
        joined = pl.DataFrame({"id": ids}).join(self._index, on="id", how="left", maintain_order="left")
        return joined["index"].fill_null(-1).to_numpy()

    def spelled_like(self, known: Items) -> Items:
        """The same items under the ids of known ones where the two differ only in the suffix of an image file.

        An id that is known stays; where two ids would become the same one, the second stays too.
        """
        missing = known.find(self.ids) < 0
        if not missing.any():
            return self
        spelling = _by_stem(known)
        taken = set(self.ids.filter(pl.Series(~missing)))
        ids = self.ids.to_list()
        for at in np.flatnonzero(missing).tolist():
            other = spelling.get(IMAGE_SUFFIX.sub("", ids[at]))
            if other is not None and other not in taken:
                ids[at] = other
                taken.add(other)
        return Items(pl.Series("id", ids, dtype=pl.String), self.group, self.line)

    def meant_as(self, known: Items) -> dict[str, str]:
        """For ids that are not known the known one that each must mean, which no other may mean and none of these is.

        The two differ in the folders before a name, in the suffix of a media file, or in the case of letters only.
        """
        other = self.ids.filter(pl.Series(known.find(self.ids) < 0)).to_list()
        if not other:
            return {}
        missing = known.ids.filter(pl.Series(self.find(known.ids) < 0)).to_list()
        count = Counter(map(_plain, known.ids)) + Counter(map(_plain, missing))  # 2 for one that is single and missing
        named = Counter(map(_plain, other))
        spelling = {plain: one for one in missing if count[plain := _plain(one)] == 2}
        return {one: spelling[plain] for one in other if named[plain := _plain(one)] == 1 and plain in spelling}

    @cached_property
    def _index(self) -> pl.DataFrame:
        return pl.DataFrame({"id": self.ids, "index": np.arange(len(self))})


def _plain(one: str) -> str:
    """An id as it is compared where it is not known: the name without folders and suffix, in lower case."""
    return MEDIA_SUFFIX.sub("", one.replace("\\", "/").rpartition("/")[2].strip()).casefold()


def _by_stem(items: Items) -> dict[str, str]:
    """The id of each name without suffix that only one item has."""
    stems = [IMAGE_SUFFIX.sub("", one) for one in items.ids]
    count = Counter(stems)
    return {stem: one for stem, one in zip(stems, items.ids, strict=True) if count[stem] == 1}


def unique_items(ids: pl.Series, line: np.ndarray, group: pl.Series | None = None) -> tuple[Items, np.ndarray]:
    """The unique ids of a file in order of first appearance, and the item of every row."""
    new = (ids != ids.shift(1)).fill_null(True).to_numpy()  # the rows of an item are mostly consecutive
    start = np.flatnonzero(new)
    heads = ids[start]
    first = start[heads.is_first_distinct().to_numpy()]
    items = Items(ids[first], None if group is None else group[first].str.strip_chars(), line[first])
    return items, items.find(heads)[np.cumsum(new) - 1]
