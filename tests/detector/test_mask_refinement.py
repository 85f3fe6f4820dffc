"""Mask refinement: coverage is exact, and inaccurate rectangles are fitted to it."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from tallymark.detector.mask_refinement import OBJECT_CELLS, draw_balance, draw_coverage, refine_rectangles
from tallymark.geometry import RotatedBoxes
from tallymark.geometry.rectangles import fill_rectangles

SHAPE = (64, 64)


def iou(predicted: RotatedBoxes, true: RotatedBoxes) -> np.ndarray:
    each = np.arange(len(true))
    shared, union = predicted.overlap(true, each, each)
    return shared / union


def make_ships(rng: np.random.Generator) -> RotatedBoxes:
    length = rng.uniform(6, 24)
    return RotatedBoxes.of(
        [[32 + rng.normal(), 32, length, max(length * rng.uniform(0.15, 0.4), 1.5), rng.uniform(0, 3)]]
    )


def perturbed(rng: np.random.Generator, true: RotatedBoxes) -> RotatedBoxes:
    """As a network predicts it: too long or too short, and shifted along the ship."""
    way, longer = rng.normal(0, 0.12) * true.length, rng.uniform(0.75, 1.25)
    x, y = true.x + way * np.cos(true.angle), true.y + way * np.sin(true.angle)
    return RotatedBoxes(x, y, true.length * longer, true.width * 1.2, true.angle + rng.normal(0, 0.06))


def test_coverage_of_axis_aligned_shapes_is_exact() -> None:
    coverage = draw_coverage(RotatedBoxes.of([[4.0, 3.25, 5.0, 1.5, 0.0]]), (8, 10))[0]
    assert coverage.sum() == pytest.approx(7.5)
    assert coverage[2].tolist() == pytest.approx([0, 0.25, 0.5, 0.5, 0.5, 0.5, 0.25, 0, 0, 0])
    assert coverage[3].tolist() == pytest.approx([0, 0.5, 1, 1, 1, 1, 0.5, 0, 0, 0])


def test_coverage_of_rotated_shapes_is_that_of_their_pixels() -> None:
    large = RotatedBoxes.of([[130.0, 120.0, 90.0, 30.0, 0.6]])
    masks, _ = fill_rectangles(large, np.zeros(1, int), np.ones(1), (256, 256))
    filled = np.zeros(256 * 256)
    for start, length in zip(masks.start, masks.length, strict=True):
        filled[start : start + length] = 1
    pooled = filled.reshape(256, 256).T.reshape(64, 4, 64, 4).mean((1, 3))
    coverage = draw_coverage(large.scale(0.25), SHAPE)[0]
    assert np.abs(coverage - pooled).max() < 0.3
    assert coverage.sum() == pytest.approx(pooled.sum(), rel=0.03)


def test_all_shapes_count_alike() -> None:
    small, large = (RotatedBoxes.of([row]) for row in ([10.0, 10, 6, 2, 0.3], [40.0, 40, 30, 12, 0.3]))
    alone = [float((draw_balance(shape, SHAPE) - 1).sum()) for shape in (small, large)]
    assert alone == pytest.approx([OBJECT_CELLS, OBJECT_CELLS], rel=1e-4)
    both = draw_balance(small.concat(large), SHAPE)[0]
    assert both[10, 10] > 3 * both[40, 40] > 3
    assert both[60, 5] == 1
    assert (draw_balance(RotatedBoxes.of([]), SHAPE) == 1).all()
    assert np.isfinite(draw_balance(RotatedBoxes.of([[-90.0, 5, 8, 3, 0]]), SHAPE)).all()


@pytest.mark.parametrize("blur", [0.0, 0.8])
def test_rectangles_are_refined(blur: float) -> None:
    rng = np.random.default_rng(1)
    before, after, fits = [], [], []
    for _ in range(60):
        true = make_ships(rng)
        predicted, coverage = perturbed(rng, true), draw_coverage(true, SHAPE)
        if blur:
            coverage = cv2.GaussianBlur(coverage[0], (0, 0), blur)[None]
        refined, fit = refine_rectangles(predicted, np.ones(len(predicted)), coverage)
        before.append(iou(predicted, true)[0])
        after.append(iou(refined, true)[0])
        fits.append(fit[0])
    assert np.median(before) < 0.7
    assert np.median(after) > 0.9
    assert np.quantile(after, 0.1) > 0.8
    assert min(fits) > 0.5


def test_neighbours_share_a_component() -> None:
    true = RotatedBoxes.of(
        [[30.0, 30.0, 20.0, 4.0, 0.3], [30.0 - 4 * np.sin(0.3), 30.0 + 4 * np.cos(0.3), 20.0, 4.0, 0.3]]
    )
    predicted = RotatedBoxes(true.x + np.array([1.5, -1.5]), true.y, true.length * 0.85, true.width, true.angle)
    refined, _ = refine_rectangles(predicted, np.ones(2), draw_coverage(true, SHAPE))
    assert (iou(refined, true) > iou(predicted, true)).all()
    assert (iou(refined, true) > 0.85).all()


def test_rectangles_outside_of_all_components_stay() -> None:
    predicted = RotatedBoxes.of([[20.0, 20.0, 12.0, 4.0, 0.5]])
    refined, fit = refine_rectangles(predicted, np.ones(1), np.full((1, *SHAPE), 0.05, np.float32))
    assert np.array_equal(np.stack(refined.columns), np.stack(predicted.columns))
    assert fit[0] == 0


def test_rectangles_at_the_border_and_beyond_stay_finite() -> None:
    predicted = RotatedBoxes.of([[0.5, 63.5, 12.0, 4.0, 0.5], [-30.0, 10.0, 3.0, 1.0, 0.0]])
    refined, fit = refine_rectangles(predicted, np.ones(2), np.ones((1, *SHAPE), np.float32))
    assert np.isfinite(np.stack(refined.columns)).all()
    assert np.isfinite(fit).all()
