"""Which items are worth a look: typical ones of every group, odd ones of every kind, and some without truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tallymark.data.catalog import Catalog
from tallymark.geometry import Boxes, Cuboids, Labels, Masks
from tallymark.reporting.counts import nouns, objects
from tallymark.reporting.humanize import count, number, plural
from tallymark.reporting.measures import around_vehicle
from tallymark.reporting.survey import Survey


@dataclass(frozen=True)
class Pick:
    """An item to draw and why; `focus` is the object that it is about, `window` the seconds of a recording."""

    item: int
    why: str = ""
    focus: int | None = None
    window: tuple[float, float] | None = None


def drawable(catalog: Catalog, seen: Survey) -> np.ndarray:
    """Whether an item has a file that, as far as is known, can be read."""
    there = catalog.files.is_not_null().to_numpy().copy()
    there[list(seen.faults)] = False
    return there


def typical(catalog: Catalog, seen: Survey, most: int, seed: int) -> list[Pick]:
    """Items with about as many objects as the median of their group: one of each group first, the largest first.

    Where some items of a group are empty, the median is that of the others, or most pictures would show nothing.
    """
    usable = np.flatnonzero(drawable(catalog, seen) & catalog.labelled)
    if not len(usable):
        return []
    usable = np.random.default_rng(seed).permutation(usable)
    stratum = _strata(catalog)[usable]
    amount = objects(catalog)[usable]
    names, sizes = np.unique(stratum, return_counts=True)
    queues = []
    for name in names[np.argsort(-sizes, kind="stable")][:most].tolist():
        own = stratum == name
        filled = amount[own][amount[own] > 0]
        far = np.abs(amount[own] - np.median(filled)) if len(filled) else amount[own]
        queues.append(usable[own][np.argsort(far, kind="stable")][:most].tolist())
    rounds = [queue[at] for at in range(most) for queue in queues if at < len(queue)]
    return [Pick(item) for item in rounds[:most]]


def without_truth(catalog: Catalog, seen: Survey, most: int, seed: int) -> list[Pick]:
    """Some items that are to be predicted."""
    usable = np.flatnonzero(drawable(catalog, seen) & ~catalog.labelled)
    return [Pick(item) for item in np.random.default_rng(seed).permutation(usable)[:most].tolist()]


def odd(catalog: Catalog, seen: Survey, most: int) -> list[Pick]:
    """Items at the ends of every scale; one that is at several ends says so once."""
    found: dict[int, Pick] = {}
    for pick in _extremes(catalog, seen):
        if pick.item not in found and len(found) < most:
            found[pick.item] = pick
        elif pick.item in found and pick.focus is None and found[pick.item].focus is None:
            found[pick.item] = Pick(pick.item, f"{found[pick.item].why}; {pick.why}")
    return list(found.values())


def unreadable(seen: Survey, most: int) -> list[Pick]:
    """Files that could not be read."""
    return [Pick(item, bad.found) for item, bad in list(seen.faults.items())[:most]]


def _strata(catalog: Catalog) -> np.ndarray:
    """What typical items are to be typical of: their group, or their class where there are only labels."""
    truth = catalog.truth
    if catalog.group.n_unique() > 1 or truth is None or not isinstance(truth.shapes, Labels) or not len(truth):
        return catalog.group.to_numpy()
    first = np.minimum(truth.offsets[:-1], len(truth) - 1)
    return np.where(truth.counts > 0, truth.labels[first], -1)


def _extremes(catalog: Catalog, seen: Survey) -> Iterator[Pick]:
    usable = drawable(catalog, seen)
    truth = catalog.truth
    if truth is not None and not isinstance(truth.shapes, Labels):
        yield from _by_number(catalog, usable & catalog.labelled)
    if truth is not None and len(truth):
        yield from _by_size(catalog, usable)
        yield from _by_class(catalog, usable)
    width, height = seen.extent.T
    if catalog.medium.noun == "image":
        yield from _ends(seen.bright, usable, "brightest: mean grey level {}", "darkest: mean grey level {}")
        yield from _ends(
            seen.contrast, usable, "most contrast: grey levels spread by {}", "least contrast: grey levels spread by {}"
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            yield from _ends(
                width / height, usable, "widest: {} times as wide as high", "narrowest: {} times as wide as high"
            )
    if catalog.medium.noun == "sweep":
        yield from _ends(width, usable, "most points: {}", "fewest points: {}")


def _by_number(catalog: Catalog, usable: np.ndarray) -> Iterator[Pick]:
    amount = objects(catalog)
    if not usable.any() or not amount[usable].any():
        return
    _, many = nouns(catalog)
    most = _best(amount, usable)
    yield Pick(most, f"most {many}: {count(amount[most])} (median {number(float(np.median(amount[usable])))})")
    empty = np.flatnonzero(usable & (amount == 0))
    if len(empty):
        others = f", as {plural(len(empty) - 1, 'other')}" if len(empty) > 1 else ""
        yield Pick(int(empty[len(empty) // 2]), f"no {many}{others}")


def _by_size(catalog: Catalog, usable: np.ndarray) -> Iterator[Pick]:
    """The largest, the smallest and the most stretched object."""
    truth = catalog.truth
    assert truth is not None
    shapes, there = truth.shapes, usable[truth.item]
    if not there.any():
        return
    one, _ = nouns(catalog)
    if isinstance(shapes, Boxes | Masks):
        across, down = (2 * extent.half for extent in shapes.extents)
        area = np.asarray(shapes.area, float)
        large, small = _best(area, there), _best(-area, there)
        for at, word in ((large, "largest"), (small, "smallest")):
            yield Pick(int(truth.item[at]), f"{word} {one}: {_size(across[at], down[at], area[at])}", focus=at)
        with np.errstate(divide="ignore", invalid="ignore"):
            long = np.nan_to_num(np.maximum(across / down, down / across), posinf=0)
        at = _best(long, there)
        yield Pick(int(truth.item[at]), f"most stretched {one}: {_size(across[at], down[at], area[at])}", focus=at)
    if isinstance(shapes, Cuboids):
        at = _best(shapes.volume, there)
        sides = " × ".join(number(float(side[at])) for side in (shapes.length, shapes.width, shapes.height))
        yield Pick(int(truth.item[at]), f"largest {one}: {sides} m")
        seen, kept = around_vehicle(catalog)
        far = np.full(len(truth), -1.0)
        far[kept] = np.hypot(seen.x, seen.y)
        at = _best(far, there)
        yield Pick(int(truth.item[at]), f"farthest {one}: {number(float(far[at]))} m away")


def _by_class(catalog: Catalog, usable: np.ndarray) -> Iterator[Pick]:
    """An item of the rarest class."""
    truth = catalog.truth
    assert truth is not None
    there = usable[truth.item]
    if len(truth.classes) < 2 or not there.any():
        return
    totals = np.bincount(truth.labels[there], minlength=len(truth.classes))
    rare = int(np.argmin(np.where(totals > 0, totals, totals.max() + 1)))
    if totals[rare] < totals.max():
        at = int(np.flatnonzero(there & (truth.labels == rare))[0])
        yield Pick(int(truth.item[at]), f"rarest class: {truth.classes[rare]} ({count(totals[rare])})")


def _ends(values: np.ndarray, usable: np.ndarray, high: str, low: str) -> Iterator[Pick]:
    """The items at both ends of a scale, unless all are alike."""
    known = usable & np.isfinite(values)
    if known.any() and np.ptp(values[known]) > 0:
        for words, sign in ((high, 1), (low, -1)):
            at = _best(sign * values, known)
            yield Pick(at, words.format(number(float(values[at]))))


def _best(values: np.ndarray, allowed: np.ndarray) -> int:
    return int(np.argmax(np.where(allowed, values, -np.inf)))


def _size(across: float, down: float, area: float) -> str:
    return f"{number(float(across))} × {number(float(down))} px, area {number(float(area))}"
