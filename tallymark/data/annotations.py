"""Annotations: what is in each item. Truth and predictions are this one type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
import polars as pl

from tallymark.data.items import Items
from tallymark.geometry import Geometry

G = TypeVar("G", bound=Geometry)


@dataclass(frozen=True, eq=False)
class Annotations(Generic[G]):
    """Columns of one geometry, with optional class and confidence, ordered by item.

    The objects of item i are the rows `offsets[i]:offsets[i + 1]`; within an item they keep the order of the file.
    `label` numbers `classes`; `score` is the confidence, higher is surer; `line` is where a file states the object;
    `number` is which of its item's objects it was, from 1 on, before some were left out.
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

    @classmethod
    def from_rows(
        cls,
        items: Items,
        item: np.ndarray,
        shapes: G,
        *,
        label: np.ndarray | None = None,
        score: np.ndarray | None = None,
        classes: tuple[str, ...] = (),
        line: np.ndarray | None = None,
        number: np.ndarray | None = None,
    ) -> Annotations[G]:
        """From rows in any order: `item[r]` is the position of row r's item in `items`."""
        if (np.diff(item) < 0).any():
            order = np.argsort(item, kind="stable")
            shapes = shapes.take(order)
            label, score, line, number = (_at(column, order) for column in (label, score, line, number))
        offsets = np.concatenate([[0], np.cumsum(np.bincount(item, minlength=len(items)))])
        return cls(items, offsets, shapes, label, score, classes, line, number)

    @classmethod
    def empty(cls, items: Items, shapes: G, classes: tuple[str, ...] = ()) -> Annotations[G]:
        """Nothing in any item; `shapes` says of which geometry."""
        return cls(items, np.zeros(len(items) + 1, np.int64), shapes.take(np.empty(0, np.int64)), classes=classes)

    def __len__(self) -> int:
        return len(self.shapes)

    @cached_property
    def counts(self) -> np.ndarray:
        """How many objects each item has."""
        return np.diff(self.offsets)

    @cached_property
    def item(self) -> np.ndarray:
        """The item of each object."""
        return np.repeat(np.arange(len(self.items)), self.counts)

    @property
    def scores(self) -> np.ndarray:
        """The score of each object; all alike where there is none."""
        return np.ones(len(self)) if self.score is None else self.score

    @property
    def numbers(self) -> np.ndarray:
        """Which of its item's objects each is, from 1 on."""
        return np.arange(len(self)) - self.offsets[self.item] + 1 if self.number is None else self.number

    @property
    def labels(self) -> np.ndarray:
        """The class of each object; all alike where there is none."""
        return np.zeros(len(self), np.int64) if self.label is None else self.label

    def reindex(self, items: Items) -> Annotations[G]:
        """The same objects listed under other items: objects of unknown items go, unnamed items are empty."""
        index = items.find(self.items.ids)
        if len(index) == len(items) and (index == np.arange(len(items))).all():
            return replace(self, items=items)
        item = index[self.item]
        return self._gathered(items, item, np.flatnonzero(item >= 0))

    def filter(self, objects: np.ndarray) -> Annotations[G]:
        """The objects where `objects` is true, under the same items."""
        return self._gathered(self.items, self.item, np.flatnonzero(objects))

    def _gathered(self, items: Items, item: np.ndarray, kept: np.ndarray) -> Annotations[G]:
        return Annotations.from_rows(
            items,
            item[kept],
            self.shapes.take(kept),
            label=_at(self.label, kept),
            score=_at(self.score, kept),
            classes=self.classes,
            line=_at(self.line, kept),
            number=_at(self.number, kept),
        )


def concat_items(parts: Sequence[Annotations[G]]) -> Annotations[G]:
    """Annotations of different items as one; a column that any of them lacks is left out."""
    shapes = [part.shapes for part in parts]
    while len(shapes) > 1:  # two by two: one after the other, the first would be copied as often as there are others
        last = shapes[-1:] if len(shapes) % 2 else []
        shapes = [one.concat(other) for one, other in zip(shapes[::2], shapes[1::2], strict=False)] + last
    ids = pl.concat([part.items.ids for part in parts])
    groups = [part.items.group for part in parts if part.items.group is not None]
    starts = np.cumsum([0, *(len(part.items) for part in parts)])

    def column(name: str) -> np.ndarray | None:
        columns = [getattr(part, name) for part in parts]
        return None if any(one is None for one in columns) else np.concatenate(columns)

    return Annotations.from_rows(
        Items(ids, pl.concat(groups) if len(groups) == len(parts) else None),
        np.concatenate([part.item + start for part, start in zip(parts, starts[:-1], strict=True)]),
        shapes[0],
        label=column("label"),
        score=column("score"),
        classes=parts[0].classes,
        line=column("line"),
        number=column("number"),
    )


def align_classes(first: Annotations[G], second: Annotations[G]) -> tuple[Annotations[G], Annotations[G]]:
    """Both with one numbering of classes: those of the first, then what else the second has."""
    if first.classes == second.classes:
        return first, second
    classes = tuple(dict.fromkeys(first.classes + second.classes))
    number = {name: at for at, name in enumerate(classes)}

    def renumbered(annotations: Annotations[G]) -> Annotations[G]:
        new = np.array([number[name] for name in annotations.classes], np.int64)
        return replace(annotations, label=new[annotations.labels], classes=classes)

    return renumbered(first), renumbered(second)


def _at(column: np.ndarray | None, index: np.ndarray) -> np.ndarray | None:
    return None if column is None else column[index]
