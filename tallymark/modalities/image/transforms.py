"""Shapes that follow a picture when it is turned, grown and cut.

A matrix is (2, 3) and takes continuous coordinates of the picture to those of the window. Every move gives the
shapes that are still to be seen and their index among those before. Seen is what has `SEEN` of its area in the window.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tallymark.geometry import Boxes, Masks, RotatedBoxes
from tallymark.geometry.pairs import Extent
from tallymark.geometry.rotated_boxes import intersection_area
from tallymark.modalities.sample import Shapes

SEEN = 0.4
"""The share of an object that must stay visible for it to count."""


class Region(NamedTuple):
    """A rectangle of a window in whole pixels."""

    left: int
    top: int
    width: int
    height: int


def shift(x: float, y: float) -> np.ndarray:
    """The matrix that only moves."""
    return np.array([[1.0, 0.0, x], [0.0, 1.0, y]])


def move(shapes: Shapes, matrix: np.ndarray, height: int, width: int) -> tuple[Shapes, np.ndarray]:
    """The shapes in a window of this size, and the index of each among those given.

    Boxes become the upright boxes around their moved corners and are cut at the window's edge, as masks are. Rotated
    boxes stay whole and need their centre in the window; the matrix must keep right angles. Labels stay as they are.
    """
    if isinstance(shapes, Boxes):
        return _move_boxes(shapes, matrix, height, width)
    if isinstance(shapes, RotatedBoxes):
        return _move_rotated(shapes, matrix, height, width)
    if isinstance(shapes, Masks):
        return _move_masks(shapes, matrix, height, width)
    return shapes, np.arange(len(shapes))


def cover(shapes: Shapes, part: Region) -> tuple[Shapes, np.ndarray]:
    """What is left of the shapes when something lies over a part of their window, and the index of each.

    A box loses a side that is covered from corner to corner, a mask the covered pixels.
    """
    if isinstance(shapes, Boxes):
        return _cover_boxes(shapes, part)
    if isinstance(shapes, RotatedBoxes):
        kept = np.flatnonzero(_in_part(shapes, part) <= (1 - SEEN) * shapes.area)
        return shapes.take(kept), kept
    if isinstance(shapes, Masks):
        return _cover_masks(shapes, part)
    return shapes, np.arange(len(shapes))


def moved_extents(extents: list[Extent], matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Middle and half sides, (2, n) each, of the upright boxes around moved boxes with these extents."""
    across, down = extents
    middle = matrix[:, :2] @ np.stack([across.centre, down.centre]) + matrix[:, 2:]
    return middle, np.abs(matrix[:, :2]) @ np.stack([across.half, down.half])


def _move_boxes(boxes: Boxes, matrix: np.ndarray, height: int, width: int) -> tuple[Boxes, np.ndarray]:
    middle, half = moved_extents(boxes.extents, matrix)
    moved = Boxes(*(middle - half), *(2 * half))
    clipped = moved.clip_to(width, height)
    kept = np.flatnonzero((clipped.area > 0) & (clipped.area >= SEEN * moved.area))
    return clipped.take(kept), kept


def _cover_boxes(boxes: Boxes, part: Region) -> tuple[Boxes, np.ndarray]:
    left, top, right, bottom = boxes.x, boxes.y, boxes.x + boxes.width, boxes.y + boxes.height
    part_right, part_bottom = part.left + part.width, part.top + part.height
    across = np.minimum(right, part_right) - np.maximum(left, part.left)
    down = np.minimum(bottom, part_bottom) - np.maximum(top, part.top)
    hidden = np.maximum(across, 0) * np.maximum(down, 0)
    all_down = (part.top <= top) & (part_bottom >= bottom) & (across > 0)
    all_across = (part.left <= left) & (part_right >= right) & (down > 0)
    new_left = np.where(all_down & (part.left <= left), part_right, left)
    new_right = np.where(all_down & (part_right >= right), part.left, right)
    new_top = np.where(all_across & (part.top <= top), part_bottom, top)
    new_bottom = np.where(all_across & (part_bottom >= bottom), part.top, bottom)
    kept = np.flatnonzero((boxes.area > 0) & (hidden <= (1 - SEEN) * boxes.area))
    return Boxes(new_left, new_top, new_right - new_left, new_bottom - new_top).take(kept), kept


def _move_rotated(boxes: RotatedBoxes, matrix: np.ndarray, height: int, width: int) -> tuple[RotatedBoxes, np.ndarray]:
    linear = matrix[:, :2]
    scale = float(np.sqrt(abs(np.linalg.det(linear))))
    if not np.allclose(linear @ linear.T, scale**2 * np.eye(2), rtol=0, atol=1e-6 * scale**2):
        raise ValueError("rotated boxes need a matrix that keeps right angles")
    x, y = linear @ np.stack([boxes.x, boxes.y]) + matrix[:, 2:]
    # The heading goes through the matrix as a direction does, so a mirror turns its angle round.
    along, across = linear @ np.stack([np.cos(boxes.angle), np.sin(boxes.angle)])
    moved = RotatedBoxes(x, y, boxes.length * scale, boxes.width * scale, np.arctan2(across, along))
    centred = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    seen = _in_part(moved, Region(0, 0, width, height)) >= SEEN * moved.area
    kept = np.flatnonzero(centred & seen & (moved.area > 0))
    return moved.take(kept), kept


def _in_part(boxes: RotatedBoxes, part: Region) -> np.ndarray:
    """The area of each rotated box inside a part of the window."""
    row = (part.left + part.width / 2, part.top + part.height / 2, part.width, part.height, 0.0)
    return intersection_area(RotatedBoxes.of(np.tile(row, (len(boxes), 1))), boxes)


def _move_masks(masks: Masks, matrix: np.ndarray, height: int, width: int) -> tuple[Masks, np.ndarray]:
    """Each pixel of the window near a mask asks for the pixel of the picture that its middle came from."""
    frame = masks.frame
    middle, half = moved_extents(masks.extents, matrix)
    edge = np.array([[width], [height]])
    left, top = np.clip(np.floor(middle - half), 0, edge).astype(np.int64)
    right, bottom = np.clip(np.ceil(middle + half), 0, edge).astype(np.int64)
    mask, step = _each((right - left) * (bottom - top))
    down = (bottom - top)[mask]
    x, y = left[mask] + step // down, top[mask] + step % down
    back = np.linalg.inv(matrix[:, :2])
    source = back @ np.stack([x + 0.5 - matrix[0, 2], y + 0.5 - matrix[1, 2]])
    column, row = np.floor(source).astype(np.int64)
    near = (column >= frame.first[mask]) & (column <= frame.last[mask])
    near &= (row >= frame.upper[mask]) & (row < frame.lower[mask])
    mask, column, row = mask[near], column[near], row[near]
    hit = _painted(masks, mask, column, row)
    mask, address = mask[hit], (x[near] * height + y[near])[hit]
    pixels = np.bincount(mask, minlength=len(masks))
    whole = masks.area / abs(np.linalg.det(back))
    kept = np.flatnonzero((pixels > 0) & (pixels >= SEEN * whole))
    return _from_pixels(mask, address, len(masks), (height, width)).take(kept), kept


def _cover_masks(masks: Masks, part: Region) -> tuple[Masks, np.ndarray]:
    mask, address = _pixels(masks)
    column, row = np.divmod(address, masks.shape[0])
    hidden = (column >= part.left) & (column < part.left + part.width)
    hidden &= (row >= part.top) & (row < part.top + part.height)
    left = _from_pixels(mask[~hidden], address[~hidden], len(masks), masks.shape)
    kept = np.flatnonzero((left.area > 0) & (left.area >= SEEN * masks.area))
    return left.take(kept), kept


def _each(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each i the pairs (i, 0), (i, 1), … up to counts[i], as two columns."""
    ends = np.cumsum(counts)
    row = np.repeat(np.arange(len(counts)), counts)
    return row, np.arange(len(row)) - np.repeat(ends - counts, counts)


def _pixels(masks: Masks) -> tuple[np.ndarray, np.ndarray]:
    """Every pixel of every mask: the mask, and its place down the columns."""
    run, step = _each(masks.length)
    of_run = np.repeat(np.arange(len(masks)), np.diff(masks.offsets))
    return of_run[run], masks.start[run] + step


def _painted(masks: Masks, mask: np.ndarray, column: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Whether these pixels, all within the frames of their masks, belong to them.

    The frames lie one after the other in one line of pixels, so that all masks are asked at once.
    """
    frame = masks.frame
    height = frame.lower - frame.upper
    size = height * (frame.last + 1 - frame.first)
    origin = np.cumsum(size) - size - frame.first * height - frame.upper
    painted = np.zeros(int(size.sum()), bool)
    own, address = _pixels(masks)
    own_column, own_row = np.divmod(address, masks.shape[0])
    painted[origin[own] + own_column * height[own] + own_row] = True
    return painted[origin[mask] + column * height[mask] + row]


def _from_pixels(mask: np.ndarray, address: np.ndarray, count: int, shape: tuple[int, int]) -> Masks:
    """Masks from pixels as `_pixels` gives them: mask by mask, down the columns."""
    begins = np.ones(len(mask), bool)
    begins[1:] = (np.diff(mask) != 0) | (np.diff(address) != 1)
    first = np.flatnonzero(begins)
    runs = np.bincount(mask[first], minlength=count)
    return Masks(address[first], np.diff(np.append(first, len(mask))), np.append(0, np.cumsum(runs)), shape)
