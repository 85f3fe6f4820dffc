"""Masks as COCO writes them: polygons, and run lengths as numbers or as text. All become runs down the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tallymark.core.problems import clip
from tallymark.formats.entries import Refused
from tallymark.geometry import Masks

Runs = tuple[np.ndarray, np.ndarray]
"""Starts and lengths, ascending; pixel 0 is the upper left one, pixel 1 the one below it."""
FIRST = 48
"""The character of zero in compressed run lengths."""


def runs_of(segmentation: object, shape: tuple[int, int]) -> Runs:
    """The runs of an annotation's `segmentation` in a picture of (height, width)."""
    if isinstance(segmentation, dict):
        size, counts = segmentation.get("size"), segmentation.get("counts")
        if size != list(shape):
            expected = f"[{shape[0]}, {shape[1]}], height and width of the pictures"
            raise Refused("wrong_size", f"size {clip(str(size))}", expected, "read with shape=HEIGHTxWIDTH")
        return runs_of_counts(decode_counts(counts) if isinstance(counts, str) else counts, shape)
    if isinstance(segmentation, list) and segmentation:
        polygons = segmentation if isinstance(segmentation[0], list) else [segmentation]
        return union([fill(_corners(polygon), shape) for polygon in polygons])
    expected = "a list of polygons, or run lengths with size and counts"
    raise Refused("no_mask", clip(str(segmentation)), expected, "give the annotation a segmentation")


def decode_counts(text: str) -> list[int]:
    """Run lengths from text: five bits a character, a sixth says that more follow, the last one's top bit is a sign.

    From the fourth on, each is written as the difference to the one two before it.
    """
    counts: list[int] = []
    value = shift = 0
    for character in text:
        code = ord(character) - FIRST
        if not 0 <= code < 64:
            raise Refused("bad_runs", f"{clip(character)} in counts", "characters from 0 to o", "write the mask again")
        value |= (code & 31) << shift
        shift += 5
        if code & 32:
            continue
        if code & 16:
            value -= 1 << shift
        counts.append(value + (counts[-2] if len(counts) > 2 else 0))
        value = shift = 0
    if shift:
        raise Refused("bad_runs", "counts that end within a number", "whole numbers", "write the mask again")
    return counts


def encode_counts(counts: Sequence[int]) -> str:
    """Run lengths as text: the inverse of `decode_counts`."""
    text = []
    for at, count in enumerate(counts):
        value = count - (counts[at - 2] if at > 2 else 0)
        while not -16 <= value < 16:
            text.append(chr(FIRST + (value & 31 | 32)))
            value >>= 5
        text.append(chr(FIRST + (value & 31)))
    return "".join(text)


def runs_of_counts(counts: object, shape: tuple[int, int]) -> Runs:
    """Runs from the lengths of background and mask in turn, the background first."""
    height, width = shape
    remedy = "write the mask again"
    if not isinstance(counts, list) or not all(isinstance(count, int) and count >= 0 for count in counts):
        raise Refused("bad_runs", clip(str(counts)), "whole numbers from 0 on", remedy)
    if sum(counts) != height * width:
        expected = f"{height * width} pixels ({height} x {width})"
        raise Refused("bad_runs", f"counts of {sum(counts)} pixels", expected, remedy)
    ends = np.cumsum(np.array(counts, np.int64))
    length = np.array(counts[1::2], np.int64)
    start = ends[1::2] - length
    return start[length > 0], length[length > 0]


def counts_of(masks: Masks, mask: int) -> list[int]:
    """The lengths of background and mask in turn, which `runs_of_counts` reads back."""
    runs = slice(masks.offsets[mask], masks.offsets[mask + 1])
    start, length = masks.start[runs], masks.length[runs]
    end = np.concatenate([[0], start + length])
    rest = masks.shape[0] * masks.shape[1] - int(end[-1])
    counts: list[int] = np.stack([start - end[:-1], length], axis=1).ravel().tolist()
    return [*counts, rest] if rest else counts


def fill(corners: np.ndarray, shape: tuple[int, int]) -> Runs:
    """The pixels whose centres lie in a polygon of (n, 2) corners x, y.

    Along the middle of each column the polygon's edges are crossed at an even number of heights; sorted, they pair
    into stretches inside.
    """
    height, width = shape
    x0, y0 = corners.T - 0.5  # now pixel k has its centre at k
    x1, y1 = np.roll(x0, -1), np.roll(y0, -1)
    first = np.clip(np.ceil(np.minimum(x0, x1)), 0, width).astype(np.int64)
    stop = np.clip(np.ceil(np.maximum(x0, x1)), 0, width).astype(np.int64)
    count = stop - first
    edge = np.repeat(np.arange(len(count)), count)
    column = np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count) + first[edge]
    along = (column - x0[edge]) / (x1 - x0)[edge]
    y = y0[edge] + along * (y1 - y0)[edge]
    order = np.lexsort((y, column))
    column, row = column[order][::2], np.clip(np.ceil(y[order]), 0, height).astype(np.int64)
    upper, lower = row[::2], row[1::2]
    inside = lower > upper
    return (column * height + upper)[inside], (lower - upper)[inside]


def union(parts: Sequence[Runs]) -> Runs:
    """The pixels of any of the parts, each once."""
    start = np.concatenate([start for start, _ in parts])
    end = start + np.concatenate([length for _, length in parts])
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order]) if len(order) else end
    new = np.append(True, start[1:] > end[:-1])[: len(start)]
    last = np.append(new[1:], True)[: len(start)]
    return start[new], end[last] - start[new]


def masks_of(runs: Sequence[Runs], shape: tuple[int, int]) -> Masks:
    """Masks of runs."""
    none = [np.empty(0, np.int64)]
    starts, lengths = [start for start, _ in runs], [length for _, length in runs]
    offsets = np.cumsum([0, *(len(start) for start in starts)])
    return Masks(np.concatenate(none + starts), np.concatenate(none + lengths), offsets, shape)


def _corners(polygon: Any) -> np.ndarray:
    """The corners of a flat list x, y, x, y, ..."""
    expected, remedy = "x, y of at least three corners", "mend or remove the polygon"
    try:
        values = np.array(polygon, float)
    except (TypeError, ValueError, OverflowError):
        raise Refused("bad_polygon", clip(str(polygon)), expected, remedy) from None
    if values.ndim != 1 or len(values) % 2 or len(values) < 6 or not np.isfinite(values).all():
        raise Refused("bad_polygon", clip(str(polygon)), expected, remedy)
    return values.reshape(-1, 2)
