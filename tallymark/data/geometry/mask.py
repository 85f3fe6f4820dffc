"""Masks as runs of pixels, counted down the columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallymark.data.geometry.pairs import Extent, Pairs, candidates, join


@dataclass(frozen=True)
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

    @property
    def area(self) -> np.ndarray:
        total = np.concatenate([[0], np.cumsum(self.length)])
        return total[self.offsets[1:]] - total[self.offsets[:-1]]

    @property
    def span(self) -> Extent:
        """From the first to the last pixel in reading order, i.e. the columns that a mask touches."""
        first = np.append(self.start, 0)[self.offsets[:-1]]
        last = np.append(0, self.start + self.length)[self.offsets[1:]]
        return Extent((first + last) / 2, np.maximum(last - first, 0) / 2)

    def overlap(self, other: Masks, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pixels in both and in either, of the pairs (self[i], other[j]).

        Each pair gets its own stretch of one line. The pixels of other[j] before a place on it are a sum over
        whole runs and a part of one, found by one sorted search; a run of self[i] covers the difference of two.
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
        intersection = covered[a.offsets[1:]] - covered[a.offsets[:-1]]
        return intersection, a.area + b.area - intersection

    def collisions(self, group: np.ndarray) -> Pairs:
        """Pairs of masks of one picture (the earlier first) that share a pixel."""
        return self._pairs(self, group, group, 0.0, earlier_first=True)

    def pairs(self, other: Masks, group: np.ndarray, other_group: np.ndarray, least: float = 0.0) -> Pairs:
        """Pairs of the same group (picture) with IoU >= `least` and above 0."""
        return self._pairs(other, group, other_group, least)

    def _pairs(
        self, other: Masks, group: np.ndarray, other_group: np.ndarray, least: float, earlier_first: bool = False
    ) -> Pairs:
        span, other_span, area, other_area = self.span, other.span, self.area, other.area
        reach = span.half + other_span.half.max(initial=0)
        found = []
        for i, j in candidates(span.centre, reach, group, other_span.centre, other_group):
            near = np.abs(span.centre[i] - other_span.centre[j]) < span.half[i] + other_span.half[j]
            near &= np.minimum(area[i], other_area[j]) >= least * np.maximum(area[i], other_area[j])
            if earlier_first:
                near &= i < j
            i, j = i[near], j[near]
            intersection, union = self.overlap(other, i, j)
            kept = (intersection > 0) & (intersection >= least * union)
            found.append((i[kept], j[kept], intersection[kept], union[kept]))
        return join(found)
