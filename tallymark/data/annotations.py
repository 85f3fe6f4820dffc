"""Annotations: what is in each item. Truth and predictions are this one type."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from tallymark.data.geometry import Geometry
from tallymark.data.items import Items

G = TypeVar("G", bound=Geometry)


@dataclass(frozen=True, eq=False)
class Annotations(Generic[G]):
    """Columns of one geometry, with optional class and confidence, ordered by item.

    The objects of item i are the rows `offsets[i]:offsets[i + 1]`; within an item they keep the order of the file.
    `label` numbers `classes`; `score` is the confidence, higher is surer.
    """

    items: Items
    offsets: np.ndarray
    shapes: G
    label: np.ndarray | None = None
    score: np.ndarray | None = None
    classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        lengths = {len(column) for column in (self.shapes, self.label, self.score) if column is not None}
        if len(self.offsets) != len(self.items) + 1 or lengths != {int(self.offsets[-1])}:
            raise ValueError(f"{len(self.items)} items, {len(self.offsets)} offsets, columns of {lengths} rows")

    @classmethod
    def gather(
        cls,
        items: Items,
        item: np.ndarray,
        shapes: G,
        *,
        label: np.ndarray | None = None,
        score: np.ndarray | None = None,
        classes: tuple[str, ...] = (),
    ) -> Annotations[G]:
        """From rows in any order: `item[r]` is the position of row r's item in `items`."""
        if (np.diff(item) < 0).any():
            order = np.argsort(item, kind="stable")
            shapes = shapes.take(order)
            label = None if label is None else label[order]
            score = None if score is None else score[order]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(item, minlength=len(items)))])
        return cls(items, offsets, shapes, label, score, classes)

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
    def confidence(self) -> np.ndarray:
        """The score of each object; all alike where there is none."""
        return np.ones(len(self)) if self.score is None else self.score

    @property
    def kind(self) -> np.ndarray:
        """The class of each object; all alike where there is none."""
        return np.zeros(len(self), np.int64) if self.label is None else self.label

    def onto(self, items: Items) -> Annotations[G]:
        """The same objects listed under other items: objects of unknown items go, unnamed items are empty."""
        index = items.find(self.items.ids)
        if len(index) == len(items) and (index == np.arange(len(items))).all():
            return replace(self, items=items)
        item = index[self.item]
        known = np.flatnonzero(item >= 0)
        return Annotations.gather(
            items,
            item[known],
            self.shapes.take(known),
            label=None if self.label is None else self.label[known],
            score=None if self.score is None else self.score[known],
            classes=self.classes,
        )
