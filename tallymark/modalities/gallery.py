"""Selection of the items that a gallery shows: typical items of every group, extremes of every scale, unlabelled ones.

These functions are for every medium; each renderer adds the extremes of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallymark.core.humanize import count, number, plural
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.modalities.survey import Survey


@dataclass(frozen=True)
class GalleryItem:
    """An item to draw, and why.

    focus: the object that it is about, where there is one. window: start and end in seconds, of a recording.
    """

    item: int
    reason: str = ""
    focus: int | None = None
    window: tuple[float, float] | None = None


def select_items(
    catalog: Catalog, survey: Survey, extremes: Iterable[GalleryItem], most: int, seed: int, strata: np.ndarray
) -> dict[str, list[GalleryItem]]:
    """Half of the gallery for typical items, a third for extremes, the rest for unlabelled and unreadable ones.

    strata: (n,) what typical items are typical of: their group or their class.
    """
    unreadable = unreadable_items(survey, max(1, most // 6))
    extreme = _one_per_item(extremes, most // 3)
    unlabelled = unlabelled_items(catalog, survey, max(1, most // 6) if catalog.labelled.any() else most // 2, seed)
    room = max(0, most - len(extreme) - len(unlabelled) - len(unreadable))
    taken = {chosen.item for chosen in extreme if chosen.focus is None}
    typical = typical_items(catalog, survey, strata, room + len(taken), seed)
    return {
        "Typical": [chosen for chosen in typical if chosen.item not in taken][:room],
        "Extremes": extreme,
        "Unlabelled": [chosen for chosen in unlabelled if chosen.item not in taken],
        "Unreadable": unreadable,
    }


def drawable(catalog: Catalog, survey: Survey) -> np.ndarray:
    """Whether each item has a file that is not known to be unreadable."""
    drawable = catalog.files.is_not_null().to_numpy().copy()
    drawable[list(survey.unreadable)] = False
    return drawable


def annotations_of(catalog: Catalog, item: int) -> Annotations[Any] | None:
    """The truth of one item; None where it is not labelled."""
    truth = catalog.truth
    if truth is None or not catalog.labelled[item]:
        return None
    return select_item(truth, item)


def select_item(annotations: Annotations[Any], item: int) -> Annotations[Any]:
    """The annotations of one item."""
    row = np.arange(len(annotations))
    return annotations.filter((row >= annotations.offsets[item]) & (row < annotations.offsets[item + 1]))


def object_counts(catalog: Catalog) -> np.ndarray:
    """The number of objects in each item; 0 where there is no truth."""
    return np.zeros(len(catalog), np.int64) if catalog.truth is None else catalog.truth.counts


def typical_items(catalog: Catalog, survey: Survey, strata: np.ndarray, most: int, seed: int) -> list[GalleryItem]:
    """Items with about the median number of objects of their stratum: one of each stratum in turn, the largest first.

    Where some items of a stratum are empty, the median is that of the others, or most images would show nothing.
    """
    usable = np.flatnonzero(drawable(catalog, survey) & catalog.labelled)
    if not len(usable):
        return []
    usable = np.random.default_rng(seed).permutation(usable)
    stratum = strata[usable]
    objects = object_counts(catalog)[usable]
    names, sizes = np.unique(stratum, return_counts=True)
    queues = []
    for name in names[np.argsort(-sizes, kind="stable")][:most].tolist():
        own = stratum == name
        filled = objects[own][objects[own] > 0]
        distance = np.abs(objects[own] - np.median(filled)) if len(filled) else objects[own]
        queues.append(usable[own][np.argsort(distance, kind="stable")][:most].tolist())
    in_turn = [queue[at] for at in range(most) for queue in queues if at < len(queue)]
    return [GalleryItem(item) for item in in_turn[:most]]


def unlabelled_items(catalog: Catalog, survey: Survey, most: int, seed: int) -> list[GalleryItem]:
    """A random sample of the items without truth."""
    usable = np.flatnonzero(drawable(catalog, survey) & ~catalog.labelled)
    return [GalleryItem(item) for item in np.random.default_rng(seed).permutation(usable)[:most].tolist()]


def unreadable_items(survey: Survey, most: int) -> list[GalleryItem]:
    """The first files that cannot be read."""
    return [GalleryItem(item, bad.found) for item, bad in list(survey.unreadable.items())[:most]]


def extremes_by_count(catalog: Catalog, usable: np.ndarray) -> Iterator[GalleryItem]:
    """The item with most objects, and one without any; nothing for class labels, which cannot be counted."""
    truth = catalog.truth
    objects = object_counts(catalog)
    if truth is None or not truth.shapes.localized or not usable.any() or not objects[usable].any():
        return
    _, nouns = truth.shapes.noun
    most = argmax_where(objects, usable)
    median = number(float(np.median(objects[usable])))
    yield GalleryItem(most, f"most {nouns}: {count(objects[most])} (median {median})")
    empty = np.flatnonzero(usable & (objects == 0))
    if len(empty):
        others = f", as {plural(len(empty) - 1, 'other')}" if len(empty) > 1 else ""
        yield GalleryItem(int(empty[len(empty) // 2]), f"no {nouns}{others}")


def rarest_class(catalog: Catalog, usable: np.ndarray) -> Iterator[GalleryItem]:
    """An item of the rarest class, unless all classes are equally frequent."""
    truth = catalog.truth
    if truth is None or len(truth.classes) < 2:
        return
    drawn = usable[truth.item]
    if not drawn.any():
        return
    totals = np.bincount(truth.labels[drawn], minlength=len(truth.classes))
    rarest = int(np.argmin(np.where(totals > 0, totals, totals.max() + 1)))
    if totals[rarest] < totals.max():
        row = int(np.flatnonzero(drawn & (truth.labels == rarest))[0])
        yield GalleryItem(int(truth.item[row]), f"rarest class: {truth.classes[rarest]} ({count(totals[rarest])})")


def extremes_of(values: np.ndarray, usable: np.ndarray, highest: str, lowest: str) -> Iterator[GalleryItem]:
    """The items with the highest and the lowest value, unless all are equal; `{}` in a reason is the value."""
    known = usable & np.isfinite(values)
    if known.any() and np.ptp(values[known]) > 0:
        for reason, sign in ((highest, 1), (lowest, -1)):
            item = argmax_where(sign * values, known)
            yield GalleryItem(item, reason.format(number(float(values[item]))))


def argmax_where(values: np.ndarray, allowed: np.ndarray) -> int:
    """The index of the largest of the allowed values."""
    return int(np.argmax(np.where(allowed, values, -np.inf)))


def _one_per_item(extremes: Iterable[GalleryItem], most: int) -> list[GalleryItem]:
    """Each item once, with all of its reasons."""
    chosen: dict[int, GalleryItem] = {}
    for extreme in extremes:
        known = chosen.get(extreme.item)
        if known is None:
            if len(chosen) < most:
                chosen[extreme.item] = extreme
        elif extreme.focus is None and known.focus is None:
            chosen[extreme.item] = GalleryItem(extreme.item, f"{known.reason}; {extreme.reason}")
    return list(chosen.values())
