"""Files that occur twice, media that look alike, and test media that training has seen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tallymark.core.problems import Problem, Problems
from tallymark.data.catalog import Catalog
from tallymark.data.checks.media import Seen
from tallymark.data.near_duplicates import find_alikes
from tallymark.geometry import Labels
from tallymark.io.media import Inspection

ORDER = {"train": 0, "val": 1, "test": 2}
"""Of two parts, items of the earlier one are there to learn from."""


def check_twins(catalog: Catalog, seen: Seen, problems: Problems) -> None:
    """Of two alike, the later is reported; across parts it is a leak, and the one to train with is reported.

    An item is reported once, however many it looks like.
    """
    reported: set[int] = set()
    rank = [ORDER.get(part, 0) for part in catalog.split]
    pairs = list(_pairs(catalog, seen, rank))
    for first, second, kind, how in sorted(pairs, key=lambda pair: rank[pair[0]] == rank[pair[1]]):  # leaks first
        expected, remedy = "each item once", "exclude it"
        if kind == "shared_scene":
            expected, remedy = "chips of different scenes", "keep both in one fold, as tallymark split does"
        if rank[first] != rank[second]:
            kind, expected, remedy = "leak", "no item of one part in another", "exclude it from training"
            if rank[second] > rank[first]:
                first, second = second, first
        if second in reported:
            continue
        reported.add(second)
        item = None if kind == "shared_scene" else catalog.items.ids[second]  # no reason to leave it out
        found = f"{how} {catalog.items.ids[first]} in {catalog.split[first]}" + _labels(catalog, first, second)
        problems.add(Problem(kind, str(catalog.path(second)), found, expected, remedy, item=item))


def _pairs(catalog: Catalog, seen: Seen, rank: list[int]) -> Iterator[tuple[int, int, str, str]]:
    """Pairs of items with the same bytes, then those that look alike, then those that show a part of the same."""
    looks = {item: inspect for item, inspect in enumerate(seen) if isinstance(inspect, Inspection)}
    by_digest: dict[bytes, int] = {}
    for item, inspect in sorted(looks.items(), key=lambda pair: -rank[pair[0]]):  # of many the test's is kept
        first = by_digest.setdefault(inspect.digest, item)
        if first != item:
            yield first, item, "duplicate_media", "the same bytes as"
    if not looks or catalog.medium.noun == "sweep":  # one sweep looks like the next
        return
    number, thumbnails = list(looks), np.stack([inspect.thumbnail for inspect in looks.values()])
    for cells in sorted({1, catalog.cells}):
        kind, how = ("near_duplicate", "the looks") if cells == 1 else ("shared_scene", "a part of the scene")
        alikes = find_alikes(thumbnails, cells)
        for first, second, similarity in zip(alikes.first, alikes.second, alikes.similarity, strict=True):
            yield number[first], number[second], kind, f"{how} ({similarity:.3f}) of"


def _labels(catalog: Catalog, first: int, second: int) -> str:
    """That two alike have different labels."""
    truth = catalog.truth
    if truth is None or not isinstance(truth.shapes, Labels) or not truth.counts[first] or not truth.counts[second]:
        return ""
    names = [truth.classes[truth.shapes.label[truth.offsets[item]]] for item in (first, second)]
    return "" if names[0] == names[1] else f", labelled {names[0]} there and {names[1]} here"
