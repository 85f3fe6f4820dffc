"""Masks as runs of pixels (run-length encoding), counted down the columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from tallymark.geometry.affine import MIN_VISIBLE, Region, transform_extents
from tallymark.geometry.clusters import Clusters
from tallymark.geometry.coincidence import Coincidences, numbers_in, overlapping_shapes
from tallymark.geometry.pairs import Extent, Pairs, overlapping, ragged


@dataclass(frozen=True, eq=False)
class Masks:
    """n masks over images of one shape (height, width); mask i has the runs `offsets[i]:offsets[i + 1]`.

    A run is `length` pixels from `start` on; pixel 0 is the upper left one, pixel 1 the one below it.
    The runs of a mask ascend and share no pixel.
    """

    noun: ClassVar[tuple[str, str]] = ("mask", "masks")
    localized: ClassVar[bool] = True
    overlaps: ClassVar[bool] = True
    rotatable: ClassVar[bool] = True

    start: np.ndarray
    length: np.ndarray
    offsets: np.ndarray
    shape: tuple[int, int]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def of(cls, bitmaps: list[np.ndarray], shape: tuple[int, int]) -> Masks:
        """From boolean arrays of (height, width)."""
        starts = []
        lengths = []
        counts = [0]
        for bitmap in bitmaps:
            flat = np.concatenate([[False], bitmap.T.ravel(), [False]])
            edges = np.flatnonzero(flat[1:] != flat[:-1])
            starts.append(edges[::2])
            lengths.append(edges[1::2] - edges[::2])
            counts.append(len(edges) // 2)
        none = [np.empty(0, np.int64)]
        return cls(np.concatenate(none + starts), np.concatenate(none + lengths), np.cumsum(counts), shape)

    def bitmap(self, mask: int) -> np.ndarray:
        """One mask as a boolean array (height, width)."""
        flat = np.zeros(self.shape[0] * self.shape[1], bool)
        runs = slice(self.offsets[mask], self.offsets[mask + 1])
        for start, length in zip(self.start[runs].tolist(), self.length[runs].tolist(), strict=True):
            flat[start : start + length] = True
        return flat.reshape(self.shape[1], self.shape[0]).T

    def crop(self, mask: int) -> tuple[np.ndarray, int, int]:
        """The part of a mask's bitmap within its bounding box, and the column and row of its upper left pixel.

        Only the columns of the mask are decoded: an image may be huge.
        """
        bounds, height = self.bounds, self.shape[0]
        left, columns = int(bounds.first[mask]), int(bounds.last[mask] + 1 - bounds.first[mask])
        top, bottom = int(bounds.upper[mask]), int(bounds.lower[mask])
        runs = slice(self.offsets[mask], self.offsets[mask + 1])
        start = self.start[runs] - left * height
        alone = Masks(start, self.length[runs], np.array([0, len(start)]), (height, columns))
        return alone.bitmap(0)[top:bottom], left, top

    def take(self, index: np.ndarray) -> Masks:
        counts = np.diff(self.offsets)[index]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        runs = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][index] - offsets[:-1], counts)
        return Masks(self.start[runs], self.length[runs], offsets, self.shape)

    def concat(self, other: Masks) -> Masks:
        """These masks followed by the others; of two shapes of images, over images that hold both."""
        shape = max(self.shape[0], other.shape[0]), max(self.shape[1], other.shape[1])
        one, two = self.on_canvas(shape), other.on_canvas(shape)
        offsets = np.concatenate([one.offsets, two.offsets[1:] + one.offsets[-1]])
        start, length = np.concatenate([one.start, two.start]), np.concatenate([one.length, two.length])
        return Masks(start, length, offsets, shape)

    def as_json(self) -> list[str]:
        """Each mask as the pairs of start and length, counted from 1, of its runs."""
        runs = np.column_stack([self.start + 1, self.length])
        return [
            " ".join(map(str, runs[first:last].ravel().tolist()))
            for first, last in zip(self.offsets[:-1], self.offsets[1:], strict=True)
        ]

    def scale(self, by: float | np.ndarray) -> Masks:
        """The masks in images enlarged by one factor, by nearest-neighbour resampling."""
        if np.ndim(by):
            raise ValueError("masks over images of one shape have one scale")
        height, width = (round(side * float(by)) for side in self.shape)
        matrix = np.column_stack([np.eye(2) * by, np.zeros(2)])
        return Masks.from_pixels(*self._resample(matrix, height, width), len(self), (height, width))

    def on_canvas(self, shape: tuple[int, int]) -> Masks:
        """The same masks over images enlarged to this shape to the right and below."""
        if shape == self.shape:
            return self
        column, top, bottom, offsets = self.by_column()
        start, length = column * shape[0] + top, bottom - top
        begins = np.append(True, start[1:] != (start + length)[:-1])[: len(start)]
        begins[offsets[:-1][offsets[:-1] < len(start)]] = True
        joined = np.flatnonzero(begins)
        length = np.add.reduceat(length, joined) if len(joined) else length
        return Masks(start[joined], length, np.searchsorted(joined, offsets), shape)

    def by_column(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The runs split where they continue in the next column: column, top and row below each, and their offsets."""
        height, end = self.shape[0], self.start + self.length
        first = self.start // height
        count = (end - 1) // height + 1 - first
        run, step = _enumerate_each(count)
        column = first[run] + step
        top = np.maximum(self.start[run] - column * height, 0)
        bottom = np.minimum(end[run] - column * height, height)
        return column, top, bottom, np.append(0, np.cumsum(count))[self.offsets]

    def clip(self, size: np.ndarray) -> tuple[Masks, np.ndarray]:
        """All masks, unchanged: their pixels are those of an image."""
        return self, np.arange(len(self))

    def fuse(self, clusters: Clusters) -> Masks:
        """The pixels that more than half of each cluster has, by weight; at exactly half, its leader decides."""
        mask, address = self.pixels()
        size = self.shape[0] * self.shape[1]
        share = clusters.share.astype(float)
        share[clusters.leader] += 1e-9
        place, at = np.unique(clusters.cluster[mask] * size + address, return_inverse=True)
        kept = place[np.bincount(at, share[mask], minlength=len(place)) > 0.5]
        return Masks.from_pixels(kept // size, kept % size, len(clusters.leader), self.shape)

    def disjoint(self, group: np.ndarray, score: np.ndarray) -> tuple[Masks, np.ndarray]:
        """The masks without the pixels that one of higher score has, and the indices of those that are left.

        group: the image of each. Of equal scores, the earlier one counts.
        """
        rank = np.empty(len(self), np.int64)
        rank[np.argsort(-score, kind="stable")] = np.arange(len(self))
        mask, address = self.pixels()
        order = np.lexsort([rank[mask], address, group[mask]])
        first = np.ones(len(order), bool)
        first[1:] = (np.diff(address[order]) != 0) | (np.diff(group[mask[order]]) != 0)
        own = np.sort(order[first])
        masks = Masks.from_pixels(mask[own], address[own], len(self), self.shape)
        kept = np.flatnonzero(masks.area > 0)
        return masks.take(kept), kept

    def transform(self, matrix: np.ndarray, height: int, width: int) -> tuple[Masks, np.ndarray]:
        """The masks in a crop of this size, by nearest-neighbour resampling."""
        mask, address = self._resample(matrix, height, width)
        pixels = np.bincount(mask, minlength=len(self))
        whole = self.area / abs(np.linalg.det(np.linalg.inv(matrix[:, :2])))
        kept = np.flatnonzero((pixels > 0) & (pixels >= MIN_VISIBLE * whole))
        return Masks.from_pixels(mask, address, len(self), (height, width)).take(kept), kept

    def erase(self, region: Region) -> tuple[Masks, np.ndarray]:
        """The masks without the pixels of a region."""
        mask, address = self.pixels()
        column, row = np.divmod(address, self.shape[0])
        hidden = (column >= region.left) & (column < region.left + region.width)
        hidden &= (row >= region.top) & (row < region.top + region.height)
        visible = Masks.from_pixels(mask[~hidden], address[~hidden], len(self), self.shape)
        kept = np.flatnonzero((visible.area > 0) & (visible.area >= MIN_VISIBLE * self.area))
        return visible.take(kept), kept

    def pixels(self) -> tuple[np.ndarray, np.ndarray]:
        """Every pixel of every mask, mask by mask: the index of the mask, and the pixel's number down the columns."""
        run, step = _enumerate_each(self.length)
        mask_of_run = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        return mask_of_run[run], self.start[run] + step

    @classmethod
    def from_pixels(cls, mask: np.ndarray, address: np.ndarray, count: int, shape: tuple[int, int]) -> Masks:
        """`count` masks from pixels as `pixels` returns them."""
        begins = np.ones(len(mask), bool)
        begins[1:] = (np.diff(mask) != 0) | (np.diff(address) != 1)
        first = np.flatnonzero(begins)
        runs = np.bincount(mask[first], minlength=count)
        return cls(address[first], np.diff(np.append(first, len(mask))), np.append(0, np.cumsum(runs)), shape)

    def _resample(self, matrix: np.ndarray, height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
        """The pixels of the transformed masks: those of the crop whose centre maps back into a pixel of the mask."""
        bounds = self.bounds
        centre, half = transform_extents(self.extents, matrix)
        edge = np.array([[width], [height]])
        left, top = np.clip(np.floor(centre - half), 0, edge).astype(np.int64)
        right, bottom = np.clip(np.ceil(centre + half), 0, edge).astype(np.int64)
        mask, step = _enumerate_each((right - left) * (bottom - top))
        down = (bottom - top)[mask]
        x, y = left[mask] + step // down, top[mask] + step % down
        inverse = np.linalg.inv(matrix[:, :2])
        source = inverse @ np.stack([x + 0.5 - matrix[0, 2], y + 0.5 - matrix[1, 2]])
        column, row = np.floor(source).astype(np.int64)
        near = (column >= bounds.first[mask]) & (column <= bounds.last[mask])
        near &= (row >= bounds.upper[mask]) & (row < bounds.lower[mask])
        mask, column, row = mask[near], column[near], row[near]
        inside = self._contains(mask, column, row)
        return mask[inside], (x[near] * height + y[near])[inside]

    def _contains(self, mask: np.ndarray, column: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Whether these pixels, all within the bounds of their masks, belong to them.

        The bounding boxes of all masks lie one after the other in one array, so that one lookup answers for all.
        """
        bounds = self.bounds
        height = bounds.lower - bounds.upper
        size = height * (bounds.last + 1 - bounds.first)
        origin = np.cumsum(size) - size - bounds.first * height - bounds.upper
        filled = np.zeros(int(size.sum()), bool)
        own, address = self.pixels()
        own_column, own_row = np.divmod(address, self.shape[0])
        filled[origin[own] + own_column * height[own] + own_row] = True
        return filled[origin[mask] + column * height[mask] + row]

    @cached_property
    def area(self) -> np.ndarray:
        total = np.concatenate([[0], np.cumsum(self.length)])
        return total[self.offsets[1:]] - total[self.offsets[:-1]]

    @cached_property
    def bounds(self) -> _Bounds:
        """The rows and columns that each mask spans, computed once for all comparisons."""
        height = self.shape[0]
        column = self.start // height
        top = self.start - column * height
        within = top + self.length <= height  # runs that end in the column that they begin in
        follows = np.append(True, column[1:] == column[:-1] + 1)[: len(column)]
        filled = self.offsets[1:] > self.offsets[:-1]
        begin, end = self.offsets[:-1][filled], self.offsets[1:][filled]
        follows[begin] = True
        first, last = np.zeros((2, len(self)), np.int64)
        upper, lower = np.zeros((2, len(self)), np.int64)
        plain = np.zeros(len(self), bool)
        if len(begin):
            first[filled], last[filled] = column[begin], (self.start[end - 1] + self.length[end - 1] - 1) // height
            upper[filled] = np.minimum.reduceat(np.where(within, top, 0), begin)
            lower[filled] = np.maximum.reduceat(np.where(within, top + self.length, height), begin)
            plain[filled] = np.logical_and.reduceat(within & follows, begin)
        return _Bounds(first, last, upper, lower, plain)

    @property
    def extents(self) -> list[Extent]:
        """Those of the rows and columns that each mask spans."""
        bounds = self.bounds
        return [
            Extent((bounds.first + bounds.last + 1) / 2, (bounds.last + 1 - bounds.first) / 2),
            Extent((bounds.upper + bounds.lower) / 2, (bounds.lower - bounds.upper) / 2),
        ]

    def overlap(self, other: Masks, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Intersection and union in pixels of the pairs (self[i], other[j])."""
        shared = np.zeros(len(i), np.int64)
        plain = self.bounds.plain[i] & other.bounds.plain[j]
        shared[plain] = self._shared_by_column(other, i[plain], j[plain])
        shared[~plain] = self._shared_by_search(other, i[~plain], j[~plain])
        return shared, self.area[i] + other.area[j] - shared

    def _shared_by_column(self, other: Masks, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Intersection of masks with one run per column: the runs to compare are known without a search."""
        a, b = self.bounds, other.bounds
        from_column = np.maximum(a.first[i], b.first[j])
        columns = np.maximum(np.minimum(a.last[i], b.last[j]) + 1 - from_column, 0)
        run_a = self.offsets[i] + from_column - a.first[i]
        to_b = other.offsets[j] + from_column - b.first[j] - run_a
        shared = np.zeros(len(i), np.int64)
        end_a, end_b = self.start + self.length, other.start + other.length
        for pair, ka in ragged(run_a, run_a + columns):
            kb = ka + to_b[pair]
            pixels = np.minimum(end_a[ka], end_b[kb]) - np.maximum(self.start[ka], other.start[kb])
            shared += np.bincount(pair, np.maximum(pixels, 0), minlength=len(i)).astype(np.int64)
        return shared

    def _shared_by_search(self, other: Masks, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Intersection of any masks, by one sorted search over all pairs.

        Each pair has its own range of one axis. The number of pixels of other[j] before a position on it is a sum over
        whole runs and a part of one; the intersection with a run of self[i] is the difference of two such numbers.
        """
        a, b = self.take(i), other.take(j)
        size = self.shape[0] * self.shape[1]
        at_a = np.repeat(np.arange(len(a)) * size, np.diff(a.offsets)) + a.start
        at_b = np.repeat(np.arange(len(b)) * size, np.diff(b.offsets)) + b.start
        before = np.concatenate([[0], np.cumsum(b.length)])

        def pixels_before(position: np.ndarray) -> np.ndarray:
            run = np.searchsorted(at_b, position, "right") - 1
            inside = np.clip(position - np.append(at_b, 0)[run], 0, np.append(b.length, 0)[run])
            pixels: np.ndarray = np.where(run < 0, 0, before[run] + inside)
            return pixels

        covered = np.concatenate([[0], np.cumsum(pixels_before(at_a + a.length) - pixels_before(at_a))])
        return covered[a.offsets[1:]] - covered[a.offsets[:-1]]

    def parts(self) -> np.ndarray:
        """The number of connected components of each mask, with 8-connectivity."""
        parts = (self.area > 0).astype(np.int64)
        end, height = self.start + self.length, self.shape[0]
        touches = (self.start[1:] - height <= end[:-1]) & (end[1:] - height >= self.start[:-1])
        gaps = np.concatenate([[0], np.cumsum(~touches)])  # before each run, counted from the first
        filled = np.flatnonzero(parts)
        unbroken = gaps[self.offsets[1:][filled] - 1] == gaps[self.offsets[:-1][filled]]
        for mask in filled[~(self.bounds.plain[filled] & unbroken)].tolist():
            parts[mask] = self._count_parts(mask)
        return parts

    def _count_parts(self, mask: int) -> int:
        from scipy.ndimage import label

        return int(label(self.crop(mask)[0], np.ones((3, 3)))[1])

    def pairs(self, other: Masks, group: np.ndarray, other_group: np.ndarray, least: float = 0.0) -> Pairs:
        """Pairs of the same group (image) with IoU >= `least` and above 0."""
        return overlapping(self, other, group, other_group, least, symmetric=False)

    def collisions(self, group: np.ndarray) -> Pairs:
        """Pairs of masks of one group (image) that share a pixel, the earlier first."""
        return overlapping(self, self, group, group, symmetric=False, among_themselves=True)

    def from_json(self, value: object) -> Masks:
        """A mask of RLE text, "start length …" with pixel 1 first, or the rectangle of the list x, y, width, height."""
        return self._from_text(value) if isinstance(value, str) else self._rectangle(value)

    def _from_text(self, text: str) -> Masks:
        words = text.split()
        expected = "RLE text: pairs of start and length"
        if (
            not words
            or len(words) % 2
            or not all(word.isascii() and word.isdigit() and len(word) < 16 for word in words)
        ):
            raise ValueError(expected)
        start, length = np.array([int(word) for word in words], np.int64).reshape(-1, 2).T
        stop = start + length
        height, width = self.shape
        if start[0] < 1 or (length < 1).any() or (start[1:] < stop[:-1]).any() or stop[-1] - 1 > height * width:
            raise ValueError(f"{expected}, ascending, of pixels of {height} x {width}")
        return Masks(start - 1, length, np.array([0, len(start)]), self.shape)

    def _rectangle(self, value: object) -> Masks:
        x, y, across, down = numbers_in(value, "x y width height", (2, 3))
        height, width = self.shape
        left, right = (round(min(max(edge, 0.0), width)) for edge in (x, x + across))
        top, bottom = (round(min(max(edge, 0.0), height)) for edge in (y, y + down))
        if left == right or top == bottom:
            raise ValueError(f"a rectangle in an image of {height} x {width}")
        start = np.arange(left, right) * height + top
        merged = bottom - top == height  # whole columns are one run
        start = start[:1] if merged else start
        length = np.full(len(start), (right - left) * height if merged else bottom - top)
        return Masks(start, length, np.array([0, len(start)]), self.shape)

    def coincide(self, other: Masks, group: np.ndarray, other_group: np.ndarray) -> Coincidences:
        """Pairs of the same group with an IoU above one half."""
        return overlapping_shapes(self, other, group, other_group)

    def beside(self, added: Masks, group: np.ndarray, added_group: np.ndarray) -> tuple[Masks, np.ndarray]:
        """The added masks without pixels that others of their image have, and the indices of those that are left."""
        near = np.flatnonzero(np.isin(group, added_group))
        owner, address = self.take(near).pixels()
        added_owner, added_address = added.pixels()
        size = self.shape[0] * self.shape[1]
        key = added_group[added_owner] * size + added_address
        free = ~np.isin(key, group[near][owner] * size + address)
        first = np.zeros(len(key), bool)
        first[np.unique(key, return_index=True)[1]] = True  # of several added ones, the first keeps a pixel
        rest = Masks.from_pixels(added_owner[free & first], added_address[free & first], len(added), self.shape)
        kept = np.flatnonzero(rest.area > 0)
        return rest.take(kept), kept


@dataclass(frozen=True, eq=False)
class _Bounds:
    """Columns `first` to `last` and rows `upper` to below `lower` of each mask.

    `plain` masks have exactly one run in each column from the first to the last, as convex ones do.
    """

    first: np.ndarray
    last: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    plain: np.ndarray


def _enumerate_each(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each i the pairs (i, 0), (i, 1), … up to counts[i], as two columns."""
    ends = np.cumsum(counts)
    row = np.repeat(np.arange(len(counts)), counts)
    return row, np.arange(len(row)) - np.repeat(ends - counts, counts)
