"""Checks of annotations, for each geometry: outside of the media, implausibly small or large, duplicated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallymark.core.problems import Problem, Problems
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.checks.media import Inspections, media_sizes
from tallymark.geometry import Boxes, Cuboids, Events, Geometry, Labels, Masks, Spatial
from tallymark.geometry.run_owners import first_collisions

TINY_SIDE = 5 / 1024
"""Boxes with a side of up to this share of the image's are slivers."""
TINY_AREA = 50 / 1024**2
"""So are boxes below this share of the image's area."""
GIANT = 0.1
"""Boxes and masks above this share of the image's area span many objects."""
TINY_MASK = 10
"""Masks of fewer pixels are specks."""
DUPLICATE_IOU = 0.8
"""IoU from which on two boxes or cuboids are the same object annotated twice."""
MIN_EVENT, MAX_EVENT = 0.05, 5.0
"""Plausible length of a call in seconds."""
MIN_CUBOID_SIDE, MAX_CUBOID_SIDE = 0.1, 40.0
"""Plausible sides of a cuboid in metres."""
ROUNDING = 1e-6
"""Seconds that times may be rounded by."""
ROUNDED_PIXELS = 0.01
"""Pixels that a box at the border may be outside by: YOLO labels have six decimals of the image's width and height."""


@dataclass(frozen=True, eq=False)
class TruthReport:
    """Reports objects of a catalog's truth by file, line and number.

    size: (n, 2) of each item: width and height in pixels, seconds and samples per second, or points and columns.
    """

    catalog: Catalog
    truth: Annotations[Geometry]
    size: np.ndarray
    problems: Problems

    def report(
        self,
        kind: str,
        bad: np.ndarray,
        found: Callable[[int], str],
        expected: str,
        remedy: str = "correct or exclude it",
    ) -> None:
        """One problem for each object where `bad` is true, or whose index it holds."""
        truth, ids, tables = self.truth, self.catalog.items.ids, self.catalog.tables
        numbers = truth.numbers
        for index in (np.flatnonzero(bad) if bad.dtype == bool else bad).tolist():
            item = int(truth.item[index])
            self.problems.add(
                Problem(
                    kind,
                    str(tables[item] or self.catalog.root),
                    found(index),
                    expected,
                    remedy,
                    line=self._line(item) if truth.line is None else int(truth.line[index]),
                    item=ids[item],
                    number=int(numbers[index]),
                )
            )

    def report_duplicates(self, shapes: Spatial, expected: str) -> None:
        """Objects that overlap an earlier one of their item: exact duplicates, and near-duplicates."""
        pairs = shapes.pairs(shapes, self.truth.item, self.truth.item, DUPLICATE_IOU)
        later = pairs.first < pairs.second
        first, second = pairs.first[later], pairs.second[later]
        iou = pairs.intersection[later] / pairs.union[later]
        second, at = np.unique(second, return_index=True)
        partner = dict(zip(second, first[at], strict=True))
        overlap = dict(zip(second, iou[at], strict=True))
        numbers = self.truth.numbers
        same = np.array([overlap[index] > 1 - 1e-9 for index in second], bool)

        def found(index: int) -> str:
            return f"IoU {overlap[index]:.2f} with #{numbers[partner[index]]}"

        noun = shapes.noun[0]
        self.report(f"duplicate_{noun}", second[same], found, "each object once", "drop one of the two")
        self.report(f"near_duplicate_{noun}", second[~same], found, expected, "keep the better one")

    def _line(self, item: int) -> int | None:
        line = self.catalog.items.line
        return None if line is None or not line[item] else int(line[item])


@np.errstate(over="ignore", invalid="ignore")  # of boxes with coordinates of 1e308
def check_truth(catalog: Catalog, inspections: Inspections, problems: Problems) -> None:
    """Report implausible annotations."""
    truth = catalog.truth
    if truth is None:
        return
    size = media_sizes(inspections)
    if catalog.size is not None:  # annotations are in pixels of the image that their table describes
        size = np.where(np.isfinite(catalog.size), catalog.size, size)
    check = CHECKS.get(type(truth.shapes))
    if check is not None:
        check(TruthReport(catalog, truth, size, problems), truth.shapes)


def _check_boxes(report: TruthReport, boxes: Boxes) -> None:
    width, height = report.size[report.truth.item].T
    share = boxes.area / (width * height)
    left, right, top, bottom = boxes.x, boxes.x + boxes.width, boxes.y, boxes.y + boxes.height

    def found(index: int) -> str:
        return "[" + ", ".join(f"{column[index]:g}" for column in boxes.columns) + "]"

    def found_share(index: int) -> str:
        return f"{found(index)}: {share[index]:.0%} of the image"

    outside = (left < -ROUNDED_PIXELS) | (top < -ROUNDED_PIXELS)
    outside |= (right > width + ROUNDED_PIXELS) | (bottom > height + ROUNDED_PIXELS)
    report.report("out_of_bounds", outside, found, "a box inside the image", "clip it, or check the image's size")
    tiny = (boxes.width <= TINY_SIDE * width) | (boxes.height <= TINY_SIDE * height) | (share < TINY_AREA)
    report.report("tiny_box", tiny, found, "sides above half a percent of the image's")
    report.report("giant_box", share > GIANT, found_share, f"at most {GIANT:.0%} of the image")
    report.report_duplicates(boxes, "boxes of different objects")


def _check_masks(report: TruthReport, masks: Masks) -> None:
    tiny = masks.area < TINY_MASK
    report.report("tiny_mask", tiny, lambda index: f"{masks.area[index]} px", f"at least {TINY_MASK} px")
    share = masks.area / (masks.shape[0] * masks.shape[1])
    expected = f"at most {GIANT:.0%} of the image"
    report.report("giant_mask", share > GIANT, lambda index: f"{share[index]:.0%} of the image", expected)
    shared = first_collisions(masks, report.truth.item)
    pixels = dict(zip(shared.second, shared.intersection, strict=True))
    report.report(
        "overlapping_masks", shared.second, lambda index: f"{pixels[index]} px shared with another", "no common pixel"
    )
    parts = masks.parts()
    remedy = "exclude it, or leave it as it is"
    report.report("multi_part_mask", parts > 1, lambda index: f"{parts[index]} parts", "one part", remedy)


def _check_events(report: TruthReport, events: Events) -> None:
    if events.weak:
        return
    seconds = report.size[report.truth.item, 0]
    length = np.zeros(len(events)) if events.length is None else np.nan_to_num(events.length)
    start, end = events.time - length / 2, events.time + length / 2

    def found(index: int) -> str:
        if events.length is None:
            return f"{events.time[index]:.3f} s"
        return f"{start[index]:.3f} to {end[index]:.3f} s"

    if events.length is not None:
        empty = (length >= 0) & (length < MIN_EVENT)
        report.report("empty_call", empty, found, f"a call of at least {MIN_EVENT} s")
        report.report("overlong_call", length > MAX_EVENT, found, f"a call of at most {MAX_EVENT:g} s")
    expected = "a call inside the recording"
    report.report("call_before_start", start < -ROUNDING, found, expected)
    past = np.flatnonzero(end > seconds + ROUNDING)
    report.report("call_past_end", past, lambda index: f"{found(index)} of {seconds[index]:.3f} s", expected)
    rows = np.column_stack([report.truth.item, start, end])
    duplicate = np.ones(len(rows), bool)
    duplicate[np.unique(rows, axis=0, return_index=True)[1]] = False
    report.report("duplicate_call", duplicate, found, "each call once", "drop the row")


def _check_cuboids(report: TruthReport, cuboids: Cuboids) -> None:
    sides = np.column_stack([cuboids.width, cuboids.length, cuboids.height])
    implausible = np.flatnonzero((sides < MIN_CUBOID_SIDE).any(axis=1) | (sides > MAX_CUBOID_SIDE).any(axis=1))

    def found(index: int) -> str:
        return " x ".join(f"{side:g}" for side in sides[index]) + " m"

    expected = f"sides of {MIN_CUBOID_SIDE:g} to {MAX_CUBOID_SIDE:g} m"
    report.report("implausible_cuboid", implausible, found, expected)
    report.report_duplicates(cuboids, "cuboids of different objects")


def _check_labels(report: TruthReport, labels: Labels) -> None:
    """Classes without a training item."""
    truth, catalog = report.truth, report.catalog
    train = (catalog.split == "train").to_numpy()[truth.item]
    if not train.any():
        return
    counts = np.bincount(labels.label[train], minlength=len(truth.classes))
    file = str(catalog.tables[int(truth.item[np.argmax(train)])] or catalog.root)
    for label in np.flatnonzero(counts == 0).tolist():
        found, expected = f"no item of class {label} ({truth.classes[label]})", "items of every class"
        report.problems.add(Problem("absent_class", file, found, expected, "add items, or drop the class"))


CHECKS: dict[type, Callable[[TruthReport, Any], None]] = {
    Boxes: _check_boxes,
    Masks: _check_masks,
    Events: _check_events,
    Cuboids: _check_cuboids,
    Labels: _check_labels,
}
"""The checks of each geometry that truth can have."""
