"""Segmentation masks of COCO: polygons, and run-length encoding (RLE) as numbers or compressed. All become runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tallymark.core.problems import clip
from tallymark.formats.parsing import ParseError
from tallymark.geometry import Masks
from tallymark.io.json_text import show

Runs = tuple[np.ndarray, np.ndarray]
"""Starts and lengths in ascending order; pixel 0 is the upper left one, pixel 1 the one below it (column-major)."""
ZERO = 48
"""The character code of zero in compressed RLE."""
LONGEST_COUNT = 60
"""Bits of a number in compressed RLE."""
MOST_PIXELS = 1e6
"""How far from the origin a corner may be."""
MOST_CROSSINGS = 1 << 25
"""How often the edges of a polygon may cross columns of pixels: a zigzag would take any amount of memory."""
REMEDY = "export the mask again"


def parse_segmentation(segmentation: object, shape: tuple[int, int]) -> Runs:
    """The runs of an annotation's `segmentation` in an image of (height, width)."""
    if isinstance(segmentation, dict):
        size = segmentation.get("size")
        counts = segmentation.get("counts")
        if size != list(shape):
            expected = f"[{shape[0]}, {shape[1]}], height and width of the images"
            raise ParseError("wrong_size", f"size {show(size)}", expected, "read with shape=HEIGHTxWIDTH")
        return parse_counts(decode_counts(counts) if isinstance(counts, str) else counts, shape)
    if isinstance(segmentation, list) and segmentation:
        polygons = segmentation if isinstance(segmentation[0], list) else [segmentation]
        return union([rasterize(_corners(polygon), shape) for polygon in polygons])
    expected = "a list of polygons, or an RLE with size and counts"
    raise ParseError("no_mask", show(segmentation), expected, "give the annotation a segmentation")


def decode_counts(text: str) -> list[int]:
    """The counts of a compressed RLE.

    Each character holds five bits of a number, lowest first, and a sixth that is set if more follow; the highest bit
    of the last character is the sign. From the fourth count on, the difference to the count two before is stored.
    """
    counts: list[int] = []
    value = shift = 0
    for character in text:
        code = ord(character) - ZERO
        if not 0 <= code < 64:
            raise ParseError("bad_rle", f"{clip(character)} in counts", "characters from 0 to o", REMEDY)
        value |= (code & 31) << shift
        shift += 5
        if shift > LONGEST_COUNT:
            raise ParseError("bad_rle", f"a number of over {LONGEST_COUNT} bits in counts", "numbers of pixels", REMEDY)
        if code & 32:
            continue
        if code & 16:
            value -= 1 << shift
        counts.append(value + (counts[-2] if len(counts) > 2 else 0))
        value = shift = 0
    if shift:
        raise ParseError("bad_rle", "counts that end within a number", "complete numbers", REMEDY)
    return counts


def encode_counts(counts: Sequence[int]) -> str:
    """Counts as compressed RLE: the inverse of `decode_counts`."""
    text = []
    for at, count in enumerate(counts):
        value = count - (counts[at - 2] if at > 2 else 0)
        while not -16 <= value < 16:
            text.append(chr(ZERO + (value & 31 | 32)))
            value >>= 5
        text.append(chr(ZERO + (value & 31)))
    return "".join(text)


def parse_counts(counts: object, shape: tuple[int, int]) -> Runs:
    """Runs from an uncompressed RLE: alternating lengths of background and mask, starting with background."""
    height, width = shape
    if not isinstance(counts, list) or not all(type(count) is int and count >= 0 for count in counts):
        raise ParseError("bad_rle", show(counts), "integers of at least 0", REMEDY)
    if sum(counts) != height * width:
        expected = f"{height * width} pixels ({height} x {width})"
        raise ParseError("bad_rle", f"counts of {show(sum(counts))} pixels", expected, REMEDY)
    ends = np.cumsum(np.array(counts, np.int64))
    length = np.array(counts[1::2], np.int64)
    start = ends[1::2] - length
    return start[length > 0], length[length > 0]


def counts_of(masks: Masks, mask: int) -> list[int]:
    """The uncompressed RLE of one mask: the inverse of `parse_counts`."""
    runs = slice(masks.offsets[mask], masks.offsets[mask + 1])
    start = masks.start[runs]
    length = masks.length[runs]
    end = np.concatenate([[0], start + length])
    rest = masks.shape[0] * masks.shape[1] - int(end[-1])
    counts: list[int] = np.stack([start - end[:-1], length], axis=1).ravel().tolist()
    return [*counts, rest] if rest else counts


def rasterize(corners: np.ndarray, shape: tuple[int, int]) -> Runs:
    """The pixels whose centres lie inside a polygon, given as (n, 2) corners x, y (even-odd rule).

    The centre line of each pixel column crosses the polygon's edges an even number of times; sorted by y, the
    crossings pair into runs inside the polygon.
    """
    height, width = shape
    x0, y0 = corners.T - 0.5  # now pixel k has its centre at k
    x1 = np.roll(x0, -1)
    y1 = np.roll(y0, -1)
    first = np.clip(np.ceil(np.minimum(x0, x1)), 0, width).astype(np.int64)
    stop = np.clip(np.ceil(np.maximum(x0, x1)), 0, width).astype(np.int64)
    count = stop - first
    if count.sum() > MOST_CROSSINGS:
        found, expected = f"a polygon of {len(corners):,} corners", "an outline"
        raise ParseError("bad_polygon", found, expected, "export the mask as RLE")
    edge = np.repeat(np.arange(len(count)), count)
    column = np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count) + first[edge]
    along = (column - x0[edge]) / (x1 - x0)[edge]
    y = y0[edge] + along * (y1 - y0)[edge]
    order = np.lexsort((y, column))
    column = column[order][::2]
    row = np.clip(np.ceil(y[order]), 0, height).astype(np.int64)
    upper = row[::2]
    lower = row[1::2]
    inside = lower > upper
    return (column * height + upper)[inside], (lower - upper)[inside]


def union(parts: Sequence[Runs]) -> Runs:
    """The pixels that are in any of the parts."""
    start = np.concatenate([start for start, _ in parts])
    end = start + np.concatenate([length for _, length in parts])
    order = np.argsort(start, kind="stable")
    start = start[order]
    end = np.maximum.accumulate(end[order]) if len(order) else end
    new = np.append(True, start[1:] > end[:-1])[: len(start)]
    last = np.append(new[1:], True)[: len(start)]
    return start[new], end[last] - start[new]


def masks_of(runs: Sequence[Runs], shape: tuple[int, int]) -> Masks:
    """Masks over images of (height, width), from the runs of each."""
    none = [np.empty(0, np.int64)]
    starts = [start for start, _ in runs]
    lengths = [length for _, length in runs]
    offsets = np.cumsum([0, *(len(start) for start in starts)])
    return Masks(np.concatenate(none + starts), np.concatenate(none + lengths), offsets, shape)


def _corners(polygon: object) -> np.ndarray:
    """The (n, 2) corners of a polygon that is a flat list x, y, x, y, …"""
    expected = "x, y of at least three corners"
    remedy = "correct or remove the polygon"
    numbers = polygon if isinstance(polygon, list) and set(map(type, polygon)) <= {int, float} else []
    try:
        values = np.array(numbers, float)
    except OverflowError:
        values = np.empty(0)
    if len(values) % 2 or len(values) < 6 or not (np.abs(values) < MOST_PIXELS).all():
        raise ParseError("bad_polygon", show(polygon), expected, remedy)
    return values.reshape(-1, 2)
