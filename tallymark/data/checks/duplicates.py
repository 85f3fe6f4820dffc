"""Duplicate files, near-duplicate media, and leakage between splits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tallymark.core.problems import Problem, Problems
from tallymark.data.catalog import Catalog
from tallymark.data.checks.media import Inspections
from tallymark.data.near_duplicates import find_near_duplicates
from tallymark.io.media import Inspection

SPLIT_RANK = {"train": 0, "val": 1, "test": 2}
"""Of two splits, the one of the lower rank is trained on."""


def check_duplicates(catalog: Catalog, inspections: Inspections, problems: Problems) -> None:
    """Report the later of two duplicates; across splits it is a leak, and the training item is reported.

    An item is reported once, however many duplicates it has.
    """
    reported: set[int] = set()
    rank = [SPLIT_RANK.get(split, 0) for split in catalog.split]
    pairs = list(_pairs(catalog, inspections, rank))
    for first, second, kind, how in sorted(pairs, key=lambda pair: rank[pair[0]] == rank[pair[1]]):  # leaks first
        expected, remedy = "each item once", "exclude it"
        if kind == "shared_scene":
            expected, remedy = "images of different scenes", "keep both in one fold, as tallymark folds does"
        if rank[first] != rank[second]:
            kind, expected, remedy = "leak", "no item of one split in another", "exclude it from training"
            if rank[second] > rank[first]:
                first, second = second, first
        if second in reported:
            continue
        reported.add(second)
        item = None if kind == "shared_scene" else catalog.items.ids[second]  # no reason to exclude it
        found = f"{how} {catalog.items.ids[first]} in {catalog.split[first]}"
        found += _label_difference(catalog, first, second)
        problems.add(Problem(kind, str(catalog.path(second)), found, expected, remedy, item=item))


def _pairs(catalog: Catalog, inspections: Inspections, rank: list[int]) -> Iterator[tuple[int, int, str, str]]:
    """Pairs of items with the same bytes, then near-duplicates, then those that share a part of their scene."""
    readable = {item: one for item, one in enumerate(inspections) if isinstance(one, Inspection)}
    by_digest: dict[bytes, int] = {}
    for item, inspection in sorted(readable.items(), key=lambda pair: -rank[pair[0]]):  # the test item comes first
        first = by_digest.setdefault(inspection.digest, item)
        if first != item:
            yield first, item, "duplicate_media", "the same bytes as"
    if not readable or not catalog.medium.comparable:
        return
    items = list(readable)
    thumbnails = np.stack([inspection.thumbnail for inspection in readable.values()])
    for cells in sorted({1, catalog.cells}):
        kind, how = ("near_duplicate", "similar") if cells == 1 else ("shared_scene", "shares a part of the scene")
        pairs = find_near_duplicates(thumbnails, cells)
        preposition = "to" if cells == 1 else "with"
        for first, second, similarity in zip(pairs.first, pairs.second, pairs.similarity, strict=True):
            yield items[first], items[second], kind, f"{how} ({similarity:.3f}) {preposition}"


def _label_difference(catalog: Catalog, first: int, second: int) -> str:
    """A remark if two near-duplicates have different labels."""
    truth = catalog.truth
    if truth is None or truth.shapes.localized or not truth.counts[first] or not truth.counts[second]:
        return ""
    names = [truth.classes[truth.shapes.label[truth.offsets[item]]] for item in (first, second)]
    return "" if names[0] == names[1] else f", labelled {names[0]} there and {names[1]} here"
