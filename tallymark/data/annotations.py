"""Annotations: the objects of each item. Truth and predictions are this one type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
import polars as pl

from tallymark.data.items import Items
from tallymark.geometry import Geometry

G = TypeVar("G", bound=Geometry, covariant=True)
"""Covariant: columns are read, and never changed."""
S = TypeVar("S", bound=Geometry)
PART = 20_000
"""Items whose objects are handled at a time, where their text would take much memory."""


@dataclass(frozen=True, eq=False)
class Annotations(Generic[G]):
    """Columns of one geometry, with optional class and score, ordered by item.

    The objects of item i are the rows `offsets[i]:offsets[i + 1]`; within an item they keep the order of the file.

    label: index into `classes`. score: confidence, higher is better.
    line: the line of the file that has the object.
    number: the object's number within its item, counted from 1, before any were excluded.
    """

    items: Items
    offsets: np.ndarray
    shapes: G
    label: np.ndarray | None = None
    score: np.ndarray | None = None
    classes: tuple[str, ...] = ()
    line: np.ndarray | None = None
    number: np.ndarray | None = None

    def __post_init__(self) -> None:
        columns = (self.shapes, self.label, self.score, self.line, self.number)
        lengths = {len(column) for column in columns if column is not None}
        if len(self.offsets) != len(self.items) + 1 or lengths != {int(self.offsets[-1])}:
            raise ValueError(f"{len(self.items)} items, {len(self.offsets)} offsets, columns of {lengths} rows")

    @staticmethod
    def from_rows(
        items: Items,
        item: np.ndarray,
        shapes: S,
        *,
        label: np.ndarray | None = None,
        score: np.ndarray | None = None,
        classes: tuple[str, ...] = (),
        line: np.ndarray | None = None,
        number: np.ndarray | None = None,
    ) -> Annotations[S]:
        """From rows in any order: `item[r]` is the position of row r's item in `items`."""
        if (np.diff(item) < 0).any():
            order = np.argsort(item, kind="stable")
            shapes = shapes.take(order)
            label, score, line, number = (_take(column, order) for column in (label, score, line, number))
        offsets = np.concatenate([[0], np.cumsum(np.bincount(item, minlength=len(items)))])
        return Annotations(items, offsets, shapes, label, score, classes, line, number)

    @staticmethod
    def empty(items: Items, shapes: S, classes: tuple[str, ...] = ()) -> Annotations[S]:
        """Without objects; `shapes` gives the geometry."""
        return Annotations(
            items, np.zeros(len(items) + 1, np.int64), shapes.take(np.empty(0, np.int64)), classes=classes
        )

    def __len__(self) -> int:
        return len(self.shapes)

    @cached_property
    def counts(self) -> np.ndarray:
        """The number of objects of each item."""
        return np.diff(self.offsets)

    @cached_property
    def item(self) -> np.ndarray:
        """The index of each object's item."""
        return np.repeat(np.arange(len(self.items)), self.counts)

    @property
    def weak(self) -> bool:
        """Whether it is only known which items have objects, and not where: clips with a yes or no."""
        return bool(getattr(self.shapes, "weak", False))

    @property
    def scores(self) -> np.ndarray:
        """The score of each object; 1 where there are none."""
        return np.ones(len(self)) if self.score is None else self.score

    @property
    def numbers(self) -> np.ndarray:
        """The number of each object within its item, counted from 1."""
        return np.arange(len(self)) - self.offsets[self.item] + 1 if self.number is None else self.number

    @property
    def highest_scores(self) -> np.ndarray:
        """The highest score in each item, 0 where it has no object."""
        highest = np.zeros(len(self.items))
        np.maximum.at(highest, self.item, self.scores)
        return highest

    @property
    def labels(self) -> np.ndarray:
        """The class of each object; 0 where there are none."""
        return np.zeros(len(self), np.int64) if self.label is None else self.label

    def reindex(self, items: Items) -> Annotations[G]:
        """The objects under other items: objects of unknown items are dropped, new items are empty."""
        if items.are(self.items.ids):
            return replace(self, items=items)
        index = items.find(self.items.ids)
        item = index[self.item]
        return self._gather(items, item, np.flatnonzero(item >= 0))

    def parts(self, count: int = PART) -> Iterator[Annotations[G]]:
        """The same, `count` items at a time; without items, one empty part."""
        for start in range(0, max(len(self.items), 1), count):
            offsets = self.offsets[start : start + count + 1]
            rows = np.arange(offsets[0], offsets[-1])
            label, score, line, number = (
                _take(column, rows) for column in (self.label, self.score, self.line, self.number)
            )
            items = Items(self.items.ids[start : start + count])
            shapes = self.shapes.take(rows)
            yield Annotations(items, offsets - offsets[0], shapes, label, score, self.classes, line, number)

    def clip(self, size: np.ndarray) -> Annotations[G]:
        """The objects clipped to their items; `size` is (items, 2), width and height of each item."""
        shapes, kept = self.shapes.clip(size[self.item])
        return replace(self._gather(self.items, self.item, kept), shapes=shapes)

    def filter(self, objects: np.ndarray) -> Annotations[G]:
        """The objects where `objects` is true, under the same items."""
        return self._gather(self.items, self.item, np.flatnonzero(objects))

    def _gather(self, items: Items, item: np.ndarray, kept: np.ndarray) -> Annotations[G]:
        return Annotations.from_rows(
            items,
            item[kept],
            self.shapes.take(kept),
            label=_take(self.label, kept),
            score=_take(self.score, kept),
            classes=self.classes,
            line=_take(self.line, kept),
            number=_take(self.number, kept),
        )


def concat_items(several: Sequence[Annotations[G]]) -> Annotations[G]:
    """Annotations of different items as one; a column that any of them lacks is dropped."""
    shapes = [one.shapes for one in several]
    while len(shapes) > 1:  # pairwise, which copies each row only log2(n) times
        last = shapes[-1:] if len(shapes) % 2 else []
        shapes = [one.concat(other) for one, other in zip(shapes[::2], shapes[1::2], strict=False)] + last
    ids = pl.concat([one.items.ids for one in several])
    groups = [one.items.group for one in several if one.items.group is not None]
    starts = np.cumsum([0, *(len(one.items) for one in several)])

    def column(columns: list[np.ndarray | None]) -> np.ndarray | None:
        known = [one for one in columns if one is not None]
        return np.concatenate(known) if len(known) == len(columns) else None

    return Annotations.from_rows(
        Items(ids, pl.concat(groups) if len(groups) == len(several) else None),
        np.concatenate([one.item + start for one, start in zip(several, starts[:-1], strict=True)]),
        shapes[0],
        label=column([one.label for one in several]),
        score=column([one.score for one in several]),
        classes=several[0].classes,
        line=column([one.line for one in several]),
        number=column([one.number for one in several]),
    )


def align_classes(first: Annotations[G], second: Annotations[G]) -> tuple[Annotations[G], Annotations[G]]:
    """Both with one list of classes: those of the first, then further ones of the second."""
    if first.classes == second.classes:
        return first, second
    classes = tuple(dict.fromkeys(first.classes + second.classes))
    index = {name: at for at, name in enumerate(classes)}

    def relabel(annotations: Annotations[G]) -> Annotations[G]:
        new = np.array([index[name] for name in annotations.classes], np.int64)
        return replace(annotations, label=new[annotations.labels], classes=classes)

    return relabel(first), relabel(second)


def offset_type(objects: int) -> type[np.signedinteger]:
    """The type of the offsets of so many objects: 32 bits where these suffice."""
    return np.int32 if objects <= np.iinfo(np.int32).max else np.int64


def _take(column: np.ndarray | None, index: np.ndarray) -> np.ndarray | None:
    return None if column is None else column[index]
