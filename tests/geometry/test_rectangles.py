"""Rectangles of masks and masks of rectangles: pixel by pixel, and round trips."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallymark.geometry import Masks, RotatedBoxes
from tallymark.geometry.rectangles import fill_rectangles, fit_rectangles, lengthwise

SHAPE = (40, 50)


def rectangle(*numbers: float) -> RotatedBoxes:
    return RotatedBoxes.of(np.array(numbers))


def fill(rectangles: RotatedBoxes, shape: tuple[int, int] = SHAPE) -> Masks:
    """Each in a bitmap of its own."""
    return fill_rectangles(rectangles, np.arange(len(rectangles)), np.ones(len(rectangles)), shape, least=0)[0]


def random_rectangles(count: int, rng: np.random.Generator, low: float, high: float, middle: float) -> RotatedBoxes:
    """As slim as ships are, around the middle of a bitmap."""
    length = rng.uniform(low, high, count)
    width = np.maximum(length * rng.uniform(0.15, 0.6, count), 3)
    x, y = rng.uniform(middle - 5, middle + 5, (2, count))
    return RotatedBoxes(x, y, length, width, rng.uniform(-4, 4, count))


def inside(rectangles: RotatedBoxes, at: int, shape: tuple[int, int]) -> np.ndarray:
    """Pixels by the half-plane tests, one by one."""
    x, y, length, width, angle = (column[at] for column in rectangles.columns)
    dy, dx = np.indices(shape) + 0.5 - np.array([y, x])[:, None, None]
    along, across = dx * np.cos(angle) + dy * np.sin(angle), dy * np.cos(angle) - dx * np.sin(angle)
    found: np.ndarray = (np.abs(along) < length / 2) & (np.abs(across) < width / 2)
    return found


def overlap(a: Masks, b: Masks) -> np.ndarray:
    each = np.arange(len(a))
    shared, union = a.overlap(b, each, each)
    return shared / union


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_contested_pixels_go_to_the_highest_score(seed: int) -> None:
    """Against painting pixel by pixel; rectangles reach over the border, some are tiny or lie outside."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, 12))
    x, y = rng.uniform(-8, 58, count), rng.uniform(-8, 48, count)
    rectangles = RotatedBoxes(x, y, rng.uniform(0, 40, count), rng.uniform(0, 20, count), rng.uniform(-4, 4, count))
    item, score = rng.integers(0, 2, count), rng.integers(0, 4, count) / 4
    least = int(rng.integers(1, 30))
    masks, kept = fill_rectangles(rectangles, item, score, SHAPE, least)
    painted = np.full((2, *SHAPE), -1)
    for at in sorted(range(count), key=lambda at: (score[at], -at)):  # the winner is painted last
        painted[item[at]][inside(rectangles, at, SHAPE)] = at
    left = [(painted == at).any(axis=0) for at in range(count)]
    assert kept.tolist() == [at for at in range(count) if left[at].sum() >= least]
    assert masks.shape == SHAPE
    assert (masks.length > 0).all()
    for mask, at in enumerate(kept.tolist()):
        assert np.array_equal(masks.bitmap(mask), left[at])
        assert masks.area[mask] == left[at].sum()


@pytest.mark.parametrize("turns", range(-3, 5))
def test_quarter_turns_fill_exactly(turns: int) -> None:
    """Columns 3 to 9 and rows 5 to 7, whichever way it is written."""
    sides = (3, 7) if turns % 2 else (7, 3)
    bitmap = np.zeros(SHAPE, bool)
    bitmap[5:8, 3:10] = True
    assert np.array_equal(fill(rectangle(6.5, 6.5, *sides, turns * np.pi / 2)).bitmap(0), bitmap)


@pytest.mark.parametrize("turns", range(-3, 5))
def test_centres_on_an_edge_belong_to_one_neighbour(turns: int) -> None:
    """Squares side by side, their edges on pixel centres, share nothing and leave nothing out."""
    x, y = np.meshgrid([4.5, 10.5, 16.5], [4.5, 10.5])
    squares = RotatedBoxes(x.ravel(), y.ravel(), *np.full((2, 6), 6.0), np.full(6, turns * np.pi / 2))
    bitmaps = np.array([fill(squares).bitmap(at) for at in range(6)])
    assert bitmaps.sum(axis=(1, 2)).tolist() == [36] * 6
    assert bitmaps.sum(axis=0).max() == 1


def test_numbers_that_are_none_fill_nothing() -> None:
    wild = RotatedBoxes.of(
        np.array([(5, 5, np.inf, 3, 0), (np.nan, 5, 4, 3, 0), (5, 5, -4, 3, 0), (1e300, 5, 4, 3, 1)])
    )
    assert fill(wild).area.tolist() == [0, 0, 0, 0]
    masks, kept = fill_rectangles(wild, np.zeros(4, np.int64), np.ones(4), SHAPE)
    assert (len(masks), kept.tolist()) == (0, [])


def test_a_rectangle_larger_than_the_image_fills_it() -> None:
    assert fill(rectangle(20, 20, 1e6, 1e5, 0.3)).area.tolist() == [40 * 50]


def test_the_earlier_of_equals_wins_and_a_covered_one_is_dropped() -> None:
    same = RotatedBoxes.of(np.array([(10, 10, 6, 4, 0), (10, 10, 6, 4, 0), (13, 10, 6, 4, 0)]))
    masks, kept = fill_rectangles(same, np.zeros(3, np.int64), np.ones(3), SHAPE)
    assert kept.tolist() == [0, 2]
    assert masks.area.tolist() == [24, 12]


def test_rectangles_of_other_items_do_not_compete() -> None:
    same = RotatedBoxes.of(np.array([(10, 10, 6, 4, 0), (10, 10, 6, 4, 0)]))
    assert fill_rectangles(same, np.array([0, 1]), np.ones(2), SHAPE)[0].area.tolist() == [24, 24]


def test_a_mask_may_be_split_in_two() -> None:
    cross = RotatedBoxes.of(np.array([(20, 20, 21, 4, 0), (20, 20, 4, 21, 0)]))
    masks, _ = fill_rectangles(cross, np.zeros(2, np.int64), np.array([0.5, 0.9]), SHAPE)
    assert masks.parts().tolist() == [2, 1]


@pytest.mark.parametrize(("low", "high", "least"), [(12, 40, 0.9), (40, 110, 0.97)])
def test_filled_rectangles_are_found_again(low: float, high: float, least: float) -> None:
    rng = np.random.default_rng(7)
    masks = fill(random_rectangles(300, rng, low, high, 64), (128, 128))
    found = fit_rectangles(masks)
    assert overlap(fill(found, (128, 128)), masks).min() > least
    assert (found.length >= found.width).all()
    assert ((found.angle > -np.pi / 2) & (found.angle <= np.pi / 2)).all()


def test_the_true_rectangle_is_found_within_a_pixel() -> None:
    true = lengthwise(random_rectangles(200, np.random.default_rng(3), 40, 90, 64))
    found = fit_rectangles(fill(true, (128, 128)))
    assert np.hypot(found.x - true.x, found.y - true.y).max() < 0.5
    assert np.abs(found.length - true.length).max() < 1.5
    assert np.abs(found.width - true.width).max() < 1.5
    turned = (found.angle - true.angle + np.pi / 2) % np.pi - np.pi / 2
    assert np.abs(turned).max() < np.radians(3)


def test_fit_of_whole_pixels_is_exact() -> None:
    bitmaps = np.zeros((4, *SHAPE), bool)
    bitmaps[0, 5:8, 3:10] = True
    bitmaps[1, 2:30, 7:9] = True
    bitmaps[2, 4, 6] = True
    bitmaps[3, :, 10:13] = True  # whole columns: one run over three of them
    found = fit_rectangles(Masks.of(list(bitmaps), SHAPE))
    expected = [(6.5, 6.5, 7, 3, 0), (8, 16, 28, 2, np.pi / 2), (6.5, 4.5, 1, 1, 0), (11.5, 20, 40, 3, np.pi / 2)]
    assert np.column_stack(found.columns) == pytest.approx(np.array(expected), abs=1e-9)


def test_a_notch_does_not_turn_the_rectangle() -> None:
    """The corner is missing: moments lean away from it, the rectangle around all does not."""
    bitmap = np.zeros(SHAPE, bool)
    bitmap[10:20, 5:45] = True
    bitmap[10:17, 33:45] = False
    found = fit_rectangles(Masks.of([bitmap], SHAPE))
    assert np.column_stack(found.columns)[0] == pytest.approx([25, 15, 40, 10, 0], abs=1e-6)


def test_empty_masks_have_no_size() -> None:
    bitmap = np.zeros(SHAPE, bool)
    bitmap[3:5, 3:9] = True
    found = fit_rectangles(Masks.of([np.zeros(SHAPE, bool), bitmap, np.zeros(SHAPE, bool)], SHAPE))
    assert found.length.tolist() == pytest.approx([0, 6, 0])
    assert found.width.tolist() == pytest.approx([0, 2, 0])
    assert not len(fit_rectangles(Masks.of([], SHAPE)))


edges = st.sampled_from([np.pi / 2, np.nextafter(np.pi / 2, 2), -np.pi / 2, -np.pi, 1e-17, -1e-17])


@given(st.floats(0.1, 9), st.floats(0.1, 9), st.floats(-20, 20) | edges)
def test_lengthwise_is_the_same_rectangle(length: float, width: float, angle: float) -> None:
    given = rectangle(3, 4, length, width, angle)
    found = lengthwise(given)
    assert found.length[0] >= found.width[0]
    assert -np.pi / 2 < found.angle[0] <= np.pi / 2
    shared, union = given.overlap(found, np.array([0]), np.array([0]))
    assert shared[0] == pytest.approx(union[0])
