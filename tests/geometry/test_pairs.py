"""Finding overlapping pairs must lose none: compared with every pair, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallymark.geometry import Boxes, Cuboids, Events, Masks, RotatedBoxes, Spatial
from tallymark.geometry import pairs as pairs_module
from tallymark.geometry.pairs import ragged


def every_pair(
    a: Spatial, b: Spatial, group_a: np.ndarray, group_b: np.ndarray, least: float
) -> dict[tuple[int, int], float]:
    i, j = np.nonzero(group_a[:, None] == group_b[None])
    with np.errstate(all="ignore"):
        intersection, union = a.overlap(b, i, j)
        kept = (intersection > 0) & (intersection >= least * union)
    return dict(zip(zip(i[kept].tolist(), j[kept].tolist(), strict=True), intersection[kept].tolist(), strict=True))


def assert_same_pairs(a: Spatial, b: Spatial, group_a: np.ndarray, group_b: np.ndarray, least: float) -> None:
    found = a.pairs(b, group_a, group_b, least)
    keys = list(zip(found.first.tolist(), found.second.tolist(), strict=True))
    assert len(set(keys)) == len(keys)
    assert dict(zip(keys, found.intersection.tolist(), strict=True)) == every_pair(a, b, group_a, group_b, least)


def random_shapes(kind: str, count: int, rng: np.random.Generator) -> Spatial:
    place = rng.uniform(0, 30, (count, 3)) + rng.choice([0, 2742.25])
    size = rng.uniform(0.5, 20, (count, 3))
    turn = rng.uniform(-7, 7, (count, 1))
    if kind == "boxes":
        return Boxes.of(np.concatenate([place[:, :2], size[:, :2]], 1).round(rng.integers(0, 3)))
    if kind == "rotated":
        return RotatedBoxes.of(np.concatenate([place[:, :2], size[:, :2], turn], 1))
    if kind == "cuboids":
        return Cuboids.of(np.concatenate([place, size, turn], 1))
    return random_masks(count, rng)


def random_masks(count: int, rng: np.random.Generator, shape: tuple[int, int] = (12, 9)) -> Masks:
    bitmaps = []
    for _ in range(count):
        bitmap = np.zeros(shape, bool)
        top, left = rng.integers(0, shape[0]), rng.integers(0, shape[1])
        bitmap[top : top + rng.integers(1, 9), left : left + rng.integers(1, 9)] = True
        if rng.random() < 0.4:  # holes and scattered pixels: masks that are not one run per column
            bitmap ^= rng.random(shape) < 0.2
        bitmaps.append(bitmap)
    return Masks.of(bitmaps, shape)


@pytest.mark.parametrize("kind", ["boxes", "rotated", "cuboids", "masks"])
@pytest.mark.parametrize("least", [0.0, 0.3, 0.5, 0.75])
def test_no_pair_is_lost(kind: str, least: float) -> None:
    for seed in range(25):
        rng = np.random.default_rng(seed)
        count = rng.integers(0, 40, 2)
        a, b = (random_shapes(kind, int(n), np.random.default_rng([seed, k])) for k, n in enumerate(count))
        group_a, group_b = (rng.integers(0, 3, int(n)) for n in count)
        assert_same_pairs(a, b, group_a, group_b, least)


def test_chunks_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    a, b = random_shapes("boxes", 60, rng), random_shapes("boxes", 60, rng)
    group = np.zeros(60, np.int64)
    whole = a.pairs(b, group, group)
    monkeypatch.setattr(pairs_module, "CHUNK", 7)
    assert np.array_equal(whole.first, a.pairs(b, group, group).first)
    assert_same_pairs(a, b, group, group, 0.0)


def wild_boxes(largest: float) -> st.SearchStrategy[Boxes]:
    sizes = st.sampled_from([0.0, 1e-300, 0.5, 1.0, 10.0, 1e9, 1e15, largest])
    places = st.sampled_from([0.0, 1.0, -1e15, 1e9, 1e15, -largest, largest])
    return st.lists(st.tuples(places, places, sizes, sizes), min_size=1, max_size=6).map(np.array).map(Boxes.of)


@given(wild_boxes(1e300), wild_boxes(1e300), st.sampled_from([0.0, 0.5]))
def test_wild_numbers_lose_nothing(a: Boxes, b: Boxes, least: float) -> None:
    assert_same_pairs(a, b, np.zeros(len(a), np.int64), np.zeros(len(b), np.int64), least)


@given(wild_boxes(1.7e308), wild_boxes(1.7e308), st.sampled_from([0.0, 0.5]))
def test_edges_beyond_all_numbers_do_not_fail(a: Boxes, b: Boxes, least: float) -> None:
    found = a.pairs(b, np.zeros(len(a), np.int64), np.zeros(len(b), np.int64), least)
    assert (found.intersection > 0).all()


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=20), st.integers(1, 9))
def test_ragged_lists_every_index(spans: list[tuple[int, int]], chunk: int) -> None:
    start = np.array([low for low, _ in spans], np.int64)
    stop = start + np.array([length for _, length in spans], np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs_module, "CHUNK", chunk)
        listed = [(r, k) for rows, index in ragged(start, stop) for r, k in zip(rows, index, strict=True)]
    assert listed == [(r, k) for r in range(len(spans)) for k in range(start[r], stop[r])]


times = st.lists(st.integers(-40, 4000).map(lambda milli: milli / 8), max_size=15).map(np.array)


@settings(max_examples=200)
@given(times, times, st.sampled_from([0.5, 1.5, 100.0]))
def test_events_within_a_buffer_are_complete_with_its_edges(a: np.ndarray, b: np.ndarray, buffer: float) -> None:
    rng = np.random.default_rng(len(a) * 31 + len(b))
    group_a, group_b = rng.integers(0, 3, len(a)), rng.integers(0, 3, len(b))
    order, first, last = Events(a).windows(Events(b), group_a, group_b, buffer)
    found = {(m, n) for m in range(len(a)) for n in order[first[m] : last[m]].tolist()}
    expected = {
        (m, n)
        for m in range(len(a))
        for n in range(len(b))
        if group_a[m] == group_b[n] and a[m] - buffer <= b[n] <= a[m] + buffer
    }
    assert found == expected
