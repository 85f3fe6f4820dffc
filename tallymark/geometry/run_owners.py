"""Which mask has a pixel first, where masks overlap: one pass over all runs, however crowded the image is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

import numpy as np

from tallymark.geometry.masks import Masks
from tallymark.geometry.pairs import Pairs

CHUNK = 1 << 18
"""Runs that are looked at together, unless one image has more."""
FEW = 64
"""Masks of one image up to which comparing pairs of them is faster."""
NONE = np.empty(0, np.int64)
Run = tuple[int, int, int]
"""First pixel, number of the mask, and the pixel after the last."""


def share_out(runs: Iterable[Run]) -> Iterator[tuple[int, int, Run]]:
    """Pieces (start, stop, run), ascending: every pixel goes to the covering run of the mask with the lowest number."""
    ordered = sorted(runs)
    covering: list[tuple[int, int, int]] = []  # a heap of the runs at the current pixel: (mask, start, stop)
    at = pixel = 0
    while at < len(ordered) or covering:
        if not covering:
            pixel = ordered[at][0]
        while at < len(ordered) and ordered[at][0] <= pixel:
            start, mask, stop = ordered[at]
            heappush(covering, (mask, start, stop))
            at += 1
        mask, start, stop = covering[0]
        if stop <= pixel:
            heappop(covering)
            continue
        end = min(stop, ordered[at][0]) if at < len(ordered) else stop
        yield pixel, end, (start, mask, stop)
        pixel = end


def first_collisions(masks: Masks, group: np.ndarray) -> Pairs:
    """For each mask that shares a pixel with an earlier one of its group (image): the first such mask, and the mask.

    The masks are ordered by group.
    """
    if np.bincount(group).max(initial=0) <= FEW:
        every = masks.collisions(group)
        later, at = np.unique(every.second, return_index=True)
        return Pairs(every.first[at], later, every.intersection[at], every.union[at])
    first, second = [NONE], [NONE]
    begin = 0
    while begin < len(masks):  # some groups at a time, so that memory does not grow with the file
        end = int(np.searchsorted(masks.offsets, masks.offsets[begin] + CHUNK, "right"))
        end = int(np.searchsorted(group, group[min(end, len(masks)) - 1], "right"))
        own = masks.take(np.arange(begin, end))
        earlier = _first_in_chunk(own, group[begin:end] - group[begin])
        later = np.flatnonzero(earlier < np.arange(len(own)))
        first.append(earlier[later] + begin)
        second.append(later + begin)
        begin = end
    i, j = np.concatenate(first), np.concatenate(second)
    return Pairs(i, j, *masks.overlap(masks, i, j))


def _first_in_chunk(masks: Masks, group: np.ndarray) -> np.ndarray:
    """The first mask of the group that shares a pixel with each mask, which may be that mask itself."""
    first = np.arange(len(masks))
    mask = np.repeat(first, np.diff(masks.offsets))
    start = group[mask] * (masks.shape[0] * masks.shape[1]) + masks.start  # each group has its own range of one axis
    stop = start + masks.length
    if (start[1:] < start[:-1]).any():
        order = np.argsort(start, kind="stable")
        start, stop, mask = start[order], stop[order], mask[order]
    joined = start[1:] < np.maximum.accumulate(stop)[:-1]  # with a run before it
    if not joined.any():
        return first
    overlapping = np.append(joined, False) | np.append(False, joined)
    start, stop, mask = start[overlapping], stop[overlapping], mask[overlapping]
    runs = zip(start.tolist(), mask.tolist(), stop.tolist(), strict=True)
    pieces = [(begin, run[1]) for begin, _, run in share_out(runs)]
    begins, owners = np.array(pieces, np.int64).T
    low, high = np.searchsorted(begins, start, "left"), np.searchsorted(begins, stop, "left")
    np.minimum.at(first, mask, _range_minimum(owners, low, high))
    return first


def _range_minimum(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The minimum of values[low:high] for each of many ranges, none of them empty."""
    found = np.empty(len(low), np.int64)
    level = np.frexp((high - low).astype(float))[1] - 1  # of two overlapping ranges of 2 ** level values
    for step in range(int(level.max(initial=-1)) + 1):
        own = level == step
        found[own] = np.minimum(values[low[own]], values[high[own] - 2**step])
        values = np.minimum(values[: -(2**step)], values[2**step :])
    return found
