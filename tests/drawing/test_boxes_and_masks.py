"""Boxes and masks are drawn at their position, in their colour, and nowhere else."""

from __future__ import annotations

import numpy as np

from tallymark.drawing.boxes_and_masks import draw_boxes, draw_masks, mask_contours, resize_to_fit
from tallymark.drawing.colors import ANNOTATION
from tallymark.geometry import Boxes, Masks
from tests.drawing.pixels import has_color


def test_boxes_are_outlined_at_their_position_and_scale() -> None:
    image = np.full((200, 300, 3), 90, np.uint8)
    drawn = has_color(draw_boxes(image, Boxes.of(np.array([[10, 20, 50, 30]])), scale=2.0), ANNOTATION)
    rows, columns = np.flatnonzero(drawn.any(axis=1)), np.flatnonzero(drawn.any(axis=0))
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (40, 99, 20, 119)
    assert drawn[40, 20:120].all()
    assert not drawn[44:96, 24:116].any()
    assert (image == 90).all()


def test_a_box_that_ends_with_the_image_has_four_sides() -> None:
    image = np.full((60, 80, 3), 90, np.uint8)
    drawn = has_color(draw_boxes(image, Boxes.of(np.array([[30, 20, 50, 40]]))), ANNOTATION)
    assert drawn[20:, 79].all()
    assert drawn[59, 30:].all()


def test_enlarged_masks_extend_to_the_edges_of_their_pixels() -> None:
    mask = np.zeros((20, 20), bool)
    mask[5, 5:8] = True
    empty = Masks.of([np.zeros((20, 20), bool)], (20, 20))
    drawn = draw_masks(np.zeros((200, 200, 3), np.uint8), Masks.of([mask], (20, 20)), 10)
    rows, columns = np.nonzero(has_color(drawn, ANNOTATION))
    np.testing.assert_allclose([rows.min(), rows.max(), columns.min(), columns.max()], [50, 59, 50, 79], atol=2)
    assert not draw_masks(np.zeros((200, 200, 3), np.uint8), empty).any()


def test_masks_are_filled_and_outlined() -> None:
    mask = np.zeros((50, 50), bool)
    mask[10:30, 20:40] = True
    image = np.zeros((100, 100, 3), np.uint8)
    drawn = draw_masks(image, Masks.of([mask], (50, 50)), 2)
    assert drawn[40, 60, 0] > 40
    assert not drawn[:16].any()
    assert not drawn[:, :36].any()
    assert has_color(drawn, ANNOTATION)[20:60, 40:80].any()


def test_masks_on_a_larger_canvas_are_drawn_at_their_pixels() -> None:
    mask = np.zeros((90, 120), bool)
    mask[10:30, 20:40] = True
    drawn = draw_masks(np.zeros((50, 60, 3), np.uint8), Masks.of([mask], (90, 120)))
    rows, columns = np.nonzero(has_color(drawn, ANNOTATION))
    np.testing.assert_allclose([rows.min(), rows.max(), columns.min(), columns.max()], [10, 29, 20, 39], atol=1)


def test_contours_of_a_large_mask_are_traced_in_little_memory() -> None:
    side = 3000
    masks = Masks(np.array([0, (side - 1) * side]), np.array([1, side]), np.array([0, 2]), (side, side))
    outline = np.concatenate(mask_contours(masks, 0))
    np.testing.assert_allclose([outline.min(axis=0), outline.max(axis=0)], [[0.5, 0.5], [side - 0.5] * 2])


def test_images_are_resized_to_fit() -> None:
    small, scale = resize_to_fit(np.zeros((600, 1200, 3), np.uint8))
    assert (small.shape, scale) == ((240, 480, 3), 0.4)
    large, scale = resize_to_fit(np.zeros((64, 64, 3), np.uint8))
    assert (large.shape, scale) == ((240, 240, 3), 3.75)
    tall, scale = resize_to_fit(np.zeros((2880, 200, 3), np.uint8))
    assert (tall.shape, scale) == ((1440, 100, 3), 0.5)
