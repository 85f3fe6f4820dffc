"""Masks as runs of pixels, counted down the columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tallymark.geometry.pairs import Extent, Pairs, overlapping, ragged


@dataclass(frozen=True, eq=False)
class Masks:
    """n masks over pictures of one shape; mask i has the runs `offsets[i]:offsets[i + 1]`.

    A run is `length` pixels from `start` on; pixel 0 is the upper left one, pixel 1 the one below it.
    The runs of a mask ascend and share no pixel.
    """

    start: np.ndarray
    length: np.ndarray
    offsets: np.ndarray
    shape: tuple[int, int]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def of(cls, pictures: list[np.ndarray], shape: tuple[int, int]) -> Masks:
        """From boolean pictures of (height, width)."""
        starts, lengths, counts = [], [], [0]
        for picture in pictures:
            flat = np.concatenate([[False], picture.T.ravel(), [False]])
            edges = np.flatnonzero(flat[1:] != flat[:-1])
            starts.append(edges[::2])
            lengths.append(edges[1::2] - edges[::2])
            counts.append(len(edges) // 2)
        none = [np.empty(0, np.int64)]
        return cls(np.concatenate(none + starts), np.concatenate(none + lengths), np.cumsum(counts), shape)

    def picture(self, mask: int) -> np.ndarray:
        """One mask as a boolean picture."""
        flat = np.zeros(self.shape[0] * self.shape[1], bool)
        runs = slice(self.offsets[mask], self.offsets[mask + 1])
        for start, length in zip(self.start[runs].tolist(), self.length[runs].tolist(), strict=True):
            flat[start : start + length] = True
        return flat.reshape(self.shape[1], self.shape[0]).T

    def take(self, index: np.ndarray) -> Masks:
        counts = np.diff(self.offsets)[index]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        runs = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][index] - offsets[:-1], counts)
        return Masks(self.start[runs], self.length[runs], offsets, self.shape)

    def concat(self, other: Masks) -> Masks:
        """These, then the others, over pictures of the same shape."""
        offsets = np.concatenate([self.offsets, other.offsets[1:] + self.offsets[-1]])
        start, length = np.concatenate([self.start, other.start]), np.concatenate([self.length, other.length])
        return Masks(start, length, offsets, self.shape)

    @cached_property
    def area(self) -> np.ndarray:
        total = np.concatenate([[0], np.cumsum(self.length)])
        return total[self.offsets[1:]] - total[self.offsets[:-1]]

    @cached_property
    def frame(self) -> _Frame:
        """Where each mask lies, found once for all comparisons."""
        height = self.shape[0]
        column = self.start // height
        top = self.start - column * height
        within = top + self.length <= height  # runs that end in the column they begin in
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
        return _Frame(first, last, upper, lower, plain)

    @property
    def extents(self) -> list[Extent]:
        """The columns and the rows that a mask touches."""
        frame = self.frame
        return [
            Extent((frame.first + frame.last + 1) / 2, (frame.last + 1 - frame.first) / 2),
            Extent((frame.upper + frame.lower) / 2, (frame.lower - frame.upper) / 2),
        ]

    def overlap(self, other: Masks, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pixels in both and in either, of the pairs (self[i], other[j])."""
        shared = np.zeros(len(i), np.int64)
        plain = self.frame.plain[i] & other.frame.plain[j]
        shared[plain] = self._shared_by_column(other, i[plain], j[plain])
        shared[~plain] = self._shared_by_search(other, i[~plain], j[~plain])
        return shared, self.area[i] + other.area[j] - shared

    def _shared_by_column(self, other: Masks, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """For masks of one run per column: the runs to compare are known without a search."""
        a, b = self.frame, other.frame
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
        """For any masks. Each pair gets its own stretch of one line; the pixels of other[j] before a place on it are
        a sum over whole runs and a part of one, found by one sorted search; a run of self[i] covers a difference.
        """
        a, b = self.take(i), other.take(j)
        size = self.shape[0] * self.shape[1]
        at_a = np.repeat(np.arange(len(a)) * size, np.diff(a.offsets)) + a.start
        at_b = np.repeat(np.arange(len(b)) * size, np.diff(b.offsets)) + b.start
        before = np.concatenate([[0], np.cumsum(b.length)])

        def pixels_before(place: np.ndarray) -> np.ndarray:
            run = np.searchsorted(at_b, place, "right") - 1
            inside = np.clip(place - np.append(at_b, 0)[run], 0, np.append(b.length, 0)[run])
            pixels: np.ndarray = np.where(run < 0, 0, before[run] + inside)
            return pixels

        covered = np.concatenate([[0], np.cumsum(pixels_before(at_a + a.length) - pixels_before(at_a))])
        return covered[a.offsets[1:]] - covered[a.offsets[:-1]]

    def parts(self) -> np.ndarray:
        """How many connected parts each mask has; pixels that touch at a corner are connected."""
        parts = (self.area > 0).astype(np.int64)
        end, height = self.start + self.length, self.shape[0]
        touches = (self.start[1:] - height <= end[:-1]) & (end[1:] - height >= self.start[:-1])
        gaps = np.concatenate([[0], np.cumsum(~touches)])  # before each run, counted from the first
        filled = np.flatnonzero(parts)
        unbroken = gaps[self.offsets[1:][filled] - 1] == gaps[self.offsets[:-1][filled]]
        for mask in filled[~(self.frame.plain[filled] & unbroken)].tolist():
            parts[mask] = self._count_parts(mask)
        return parts

    def _count_parts(self, mask: int) -> int:
        from scipy.ndimage import label

        columns = slice(int(self.frame.first[mask]), int(self.frame.last[mask]) + 1)
        return int(label(self.picture(mask)[:, columns], np.ones((3, 3)))[1])

    def pairs(self, other: Masks, group: np.ndarray, other_group: np.ndarray, least: float = 0.0) -> Pairs:
        """Pairs of the same group (picture) with IoU >= `least` and above 0."""
        return overlapping(self, other, group, other_group, least, symmetric=False)

    def collisions(self, group: np.ndarray) -> Pairs:
        """Pairs of masks of one picture, the earlier first, that share a pixel."""
        return overlapping(self, self, group, group, symmetric=False, among_themselves=True)


@dataclass(frozen=True, eq=False)
class _Frame:
    """Columns `first` to `last` and rows `upper` to below `lower` of each mask.

    `plain` masks have exactly one run in each column from the first to the last, as nearly all ships do.
    """

    first: np.ndarray
    last: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    plain: np.ndarray
