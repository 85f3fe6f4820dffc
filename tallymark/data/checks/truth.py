"""The annotations of a data set, judged by their geometry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallymark.core.problems import Problem, Problems
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.checks.media import Seen, extents
from tallymark.geometry import Boxes, Cuboids, Events, Labels, Masks, Spatial

TINY_SIDE, TINY_AREA = 5 / 1024, 50 / 1024**2
"""Boxes up to this share of a side, or below this share of the picture, are slivers."""
GIANT = 0.1
"""Boxes and masks above this share of a picture span many things."""
SPECK = 10
"""Masks of fewer pixels."""
TWINS = 0.8
"""Overlap from which on two boxes or volumes are the same thing twice."""
SHORTEST, LONGEST = 0.05, 5.0
"""Seconds that a call lasts."""
SMALLEST, LARGEST = 0.1, 40.0
"""Metres that a side of a volume has."""


@dataclass(frozen=True, eq=False)
class Evaluate:
    """Reports objects of a catalog's truth, with file, line and number. `extent` is what was seen of each item."""

    catalog: Catalog
    truth: Annotations[Any]
    extent: np.ndarray
    problems: Problems

    def report(
        self, kind: str, bad: np.ndarray, found: Callable[[int], str], expected: str, remedy: str = "mend or exclude it"
    ) -> None:
        """One problem for each object where `bad` is true (or whose number it holds)."""
        truth, ids, tables = self.truth, self.catalog.items.ids, self.catalog.tables
        numbers = truth.numbers
        for at in (np.flatnonzero(bad) if bad.dtype == bool else bad).tolist():
            item = int(truth.item[at])
            self.problems.add(
                Problem(
                    kind,
                    str(tables[item] or self.catalog.root),
                    found(at),
                    expected,
                    remedy,
                    line=self._line(item) if truth.line is None else int(truth.line[at]),
                    item=ids[item],
                    number=int(numbers[at]),
                )
            )

    def twins(self, kind: str, shapes: Spatial, expected: str) -> None:
        """Objects that are nearly the same as an earlier one of their item; exact repetitions are duplicates."""
        pairs = shapes.pairs(shapes, self.truth.item, self.truth.item, TWINS)
        later = pairs.first < pairs.second
        first, second = pairs.first[later], pairs.second[later]
        iou = pairs.intersection[later] / pairs.union[later]
        second, at = np.unique(second, return_index=True)
        partner, overlap = dict(zip(second, first[at], strict=True)), dict(zip(second, iou[at], strict=True))
        numbers = self.truth.numbers
        same = np.array([overlap[k] > 1 - 1e-9 for k in second], bool)

        def found(at: int) -> str:
            return f"overlap {overlap[at]:.2f} with #{numbers[partner[at]]}"

        self.report(f"duplicate_{kind}", second[same], found, "each object once", "drop one of the two")
        self.report(f"twin_{kind}", second[~same], found, expected, "keep the better one")

    def _line(self, item: int) -> int | None:
        line = self.catalog.items.line
        return None if line is None or not line[item] else int(line[item])


@np.errstate(over="ignore", invalid="ignore")  # of boxes larger than any picture
def check_truth(catalog: Catalog, seen: Seen, problems: Problems) -> None:
    """Judge every annotation."""
    truth = catalog.truth
    if truth is None:
        return
    size = extents(seen)
    if catalog.size is not None:  # annotations are about the picture that their table describes
        size = np.where(np.isfinite(catalog.size), catalog.size, size)
    judge = Evaluate(catalog, truth, size, problems)
    shapes = truth.shapes
    if isinstance(shapes, Boxes):
        _judge_boxes(judge, shapes)
    elif isinstance(shapes, Masks):
        _judge_masks(judge, shapes)
    elif isinstance(shapes, Events):
        _judge_calls(judge, shapes)
    elif isinstance(shapes, Cuboids):
        _judge_volumes(judge, shapes)
    elif isinstance(shapes, Labels):
        _judge_labels(judge, shapes)


def _judge_boxes(judge: Evaluate, boxes: Boxes) -> None:
    width, height = judge.extent[judge.truth.item].T
    share = boxes.area / (width * height)
    left, right, top, bottom = boxes.x, boxes.x + boxes.width, boxes.y, boxes.y + boxes.height

    def found(at: int) -> str:
        return "[" + ", ".join(f"{column[at]:g}" for column in boxes.columns) + "]"

    outside = (left < 0) | (top < 0) | (right > width) | (bottom > height)
    judge.report("out_of_bounds", outside, found, "a box inside the picture", "clip it, or check the picture's size")
    tiny = (boxes.width <= TINY_SIDE * width) | (boxes.height <= TINY_SIDE * height) | (share < TINY_AREA)
    judge.report("tiny_box", tiny, found, "sides above half a percent of the picture's")
    giant = share > GIANT
    judge.report(
        "giant_box", giant, lambda at: f"{found(at)}: {share[at]:.0%} of the picture", f"at most {GIANT:.0%} of it"
    )
    judge.twins("box", boxes, "boxes of different things")


def _judge_masks(judge: Evaluate, masks: Masks) -> None:
    judge.report("tiny_mask", masks.area < SPECK, lambda at: f"{masks.area[at]} px", f"at least {SPECK} px")
    share = masks.area / (masks.shape[0] * masks.shape[1])
    giant = share > GIANT
    judge.report("giant_mask", giant, lambda at: f"{share[at]:.0%} of the picture", f"at most {GIANT:.0%} of it")
    shared = masks.collisions(judge.truth.item)
    later, at = np.unique(shared.second, return_index=True)
    pixels = dict(zip(later, shared.intersection[at], strict=True))
    judge.report("overlapping_masks", later, lambda at: f"{pixels[at]} px shared with another", "no common pixel")
    parts = masks.parts()
    judge.report("multi_part_mask", parts > 1, lambda at: f"{parts[at]} parts", "one part", "exclude, or leave it so")


def _judge_calls(judge: Evaluate, calls: Events) -> None:
    seconds = judge.extent[judge.truth.item, 0]
    length = np.zeros(len(calls)) if calls.length is None else np.nan_to_num(calls.length)
    start, end = calls.time - length / 2, calls.time + length / 2

    def found(at: int) -> str:
        return f"{start[at]:.3f} to {end[at]:.3f} s" if calls.length is not None else f"{calls.time[at]:.3f} s"

    if calls.length is not None:
        judge.report("empty_call", (length >= 0) & (length < SHORTEST), found, f"a call of at least {SHORTEST} s")
        judge.report("overlong_call", length > LONGEST, found, f"a call of at most {LONGEST:g} s")
    rounding = 1e-6
    judge.report("call_before_start", start < -rounding, found, "a call inside the recording")
    past = np.flatnonzero(end > seconds + rounding)
    judge.report("call_past_end", past, lambda at: f"{found(at)} of {seconds[at]:.3f} s", "a call inside the recording")
    rows = np.column_stack([judge.truth.item, start, end])
    again = np.ones(len(rows), bool)
    again[np.unique(rows, axis=0, return_index=True)[1]] = False
    judge.report("duplicate_call", again, found, "each call once", "drop the row")


def _judge_volumes(judge: Evaluate, volumes: Cuboids) -> None:
    sides = np.column_stack([volumes.width, volumes.length, volumes.height])
    odd = np.flatnonzero((sides < SMALLEST).any(axis=1) | (sides > LARGEST).any(axis=1))
    judge.report(
        "odd_volume",
        odd,
        lambda at: " x ".join(f"{side:g}" for side in sides[at]) + " m",
        f"sides of {SMALLEST:g} to {LARGEST:g} m",
    )
    judge.twins("volume", volumes, "volumes of different things")


def _judge_labels(judge: Evaluate, labels: Labels) -> None:
    """Classes that no training item has."""
    truth, catalog = judge.truth, judge.catalog
    train = (catalog.split == "train").to_numpy()[truth.item]
    if not train.any():
        return
    used = np.bincount(labels.label[train], minlength=len(truth.classes))
    file = str(catalog.tables[int(truth.item[np.argmax(train)])] or catalog.root)
    for number in np.flatnonzero(used == 0).tolist():
        found, expected = f"no item of class {number} ({truth.classes[number]})", "items of every class"
        judge.problems.add(Problem("absent_class", file, found, expected, "add items, or drop the class"))
