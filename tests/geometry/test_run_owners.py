"""Masks that overlap: compared with every pair, and crowds of them on one image."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallymark.geometry import Masks, run_owners
from tallymark.geometry.run_owners import first_collisions
from tallymark.submission.dialect import Row
from tallymark.submission.rle import remove_overlaps

SHAPE = (5, 4)
bitmaps = st.lists(st.lists(st.booleans(), min_size=20, max_size=20), max_size=8)


@given(bitmaps, st.integers(0, 2**16))
def test_the_first_mask_that_shares_a_pixel(rows: list[list[bool]], seed: int) -> None:
    masks = Masks.of([np.array(row).reshape(SHAPE) for row in rows], SHAPE)
    group = np.sort(np.random.default_rng(seed).integers(0, 2, len(rows)))
    every = masks.collisions(group)
    expected = {
        second: min(zip(every.first[every.second == second], every.intersection[every.second == second], strict=True))
        for second in every.second.tolist()
    }
    for few in (0, run_owners.FEW):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(run_owners, "FEW", few)
            found = first_collisions(masks, group)
        shared = zip(found.second.tolist(), zip(found.first, found.intersection, strict=True), strict=True)
        assert dict(shared) == expected


@pytest.mark.parametrize("side", [20, 768])
def test_crowded_chips_take_seconds(side: int) -> None:
    """16,000 masks at one place: pairs of them would be 128 million."""
    count = 16_000
    runs = (
        [(column * 768 + 1, column * 768 + 1 + side) for column in range(side)] if side < 768 else [(1, 768 * 768 + 1)]
    )
    rows = [Row(line + 2, "a.jpg", {"score": "0.5"}) for line in range(count)]
    begun = time.process_time()
    kept = remove_overlaps(rows, [runs] * count, lambda *_: None)
    assert (kept[0], sum(map(len, kept))) == (runs, len(runs))
    starts, lengths = np.array([(start - 1, stop - start) for start, stop in runs]).T
    offsets = np.arange(count + 1) * len(runs)
    masks = Masks(np.tile(starts, count), np.tile(lengths, count), offsets, (768, 768))
    assert len(first_collisions(masks, np.zeros(count, np.int64))) == count - 1
    assert time.process_time() - begun < 10
