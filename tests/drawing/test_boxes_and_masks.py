"""Drawings put colour where things are, and nowhere else."""

from __future__ import annotations

import numpy as np

from tallymark.drawing.bev import View, colour_of, corners_of, draw_above, seen_by_camera
from tallymark.drawing.boxes_and_masks import (
    TRUTH,
    blank,
    draw_boxes,
    draw_masks,
    draw_spectrogram,
    fit,
    levels,
    write_label,
)
from tallymark.geometry import Boxes, Cuboids, Events, Masks


def near(picture: np.ndarray, colour: tuple[int, int, int]) -> np.ndarray:
    """Where a picture has about this colour."""
    return (np.abs(picture.astype(int) - colour) < 60).all(axis=2)


def test_boxes_are_outlined_at_their_place_and_scale() -> None:
    picture = np.full((200, 300, 3), 90, np.uint8)
    found = near(draw_boxes(picture, Boxes.of(np.array([[10, 20, 50, 30]])), scale=2.0), TRUTH)
    rows, columns = np.flatnonzero(found.any(axis=1)), np.flatnonzero(found.any(axis=0))
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (40, 99, 20, 119)
    assert found[40, 20:120].all()
    assert not found[44:96, 24:116].any()
    assert (picture == 90).all()


def test_a_box_that_ends_with_the_picture_has_four_sides() -> None:
    found = near(draw_boxes(np.full((60, 80, 3), 90, np.uint8), Boxes.of(np.array([[30, 20, 50, 40]]))), TRUTH)
    assert found[20:, 79].all()
    assert found[59, 30:].all()


def test_enlarged_masks_reach_to_the_edges_of_their_pixels() -> None:
    drawn = np.zeros((20, 20), bool)
    drawn[5, 5:8] = True
    empty = Masks.of([np.zeros((20, 20), bool)], (20, 20))
    marked = draw_masks(np.zeros((200, 200, 3), np.uint8), Masks.of([drawn], (20, 20)), TRUTH)
    rows, columns = np.nonzero(near(marked, TRUTH))
    np.testing.assert_allclose([rows.min(), rows.max(), columns.min(), columns.max()], [50, 59, 50, 79], atol=2)
    assert not draw_masks(np.zeros((200, 200, 3), np.uint8), empty).any()


def test_masks_are_washed_and_outlined() -> None:
    drawn = np.zeros((50, 50), bool)
    drawn[10:30, 20:40] = True
    picture = np.zeros((100, 100, 3), np.uint8)
    marked = draw_masks(picture, Masks.of([drawn], (50, 50)), TRUTH)
    assert marked[40, 60, 0] > 40
    assert not marked[:16].any()
    assert not marked[:, :36].any()
    assert near(marked, TRUTH)[20:60, 40:80].any()


def test_pictures_are_fitted() -> None:
    small, scale = fit(np.zeros((600, 1200, 3), np.uint8))
    assert (small.shape, scale) == ((240, 480, 3), 0.4)
    large, scale = fit(np.zeros((64, 64, 3), np.uint8))
    assert (large.shape, scale) == ((240, 240, 3), 3.75)
    tall, scale = fit(np.zeros((2880, 200, 3), np.uint8))
    assert (tall.shape, scale) == ((1440, 100, 3), 0.5)


def test_a_label_is_written_below() -> None:
    picture = np.full((100, 200, 3), 255, np.uint8)
    labelled = write_label(picture, "crème brûlée")
    assert (labelled[:70] == 255).all()
    assert labelled[-24:].mean() < 120


def test_a_tone_lies_at_its_time_and_frequency() -> None:
    rate, seconds = 1000, 20
    time = np.arange(rate * seconds) / rate
    sound = 0.001 * np.random.default_rng(0).standard_normal(len(time))
    sound[8000:9000] += np.sin(2 * np.pi * 200 * time[8000:9000])
    level = levels(sound, rate)
    row, column = np.unravel_index(np.argmax(level), level.shape)
    assert abs(row / (level.shape[0] - 1) * rate / 2 - 200) < 6
    assert abs(column / level.shape[1] * seconds - 8.5) < 0.6
    with_call = draw_spectrogram(level, (0, 20), 500, Events(np.array([8.5]), np.array([1.0])))
    without = draw_spectrogram(level, (0, 20), 500, Events(np.empty(0)))
    changed = np.flatnonzero((with_call != without).any(axis=(0, 2)))
    across = with_call.shape[1] - 48
    assert abs(changed.min() - (40 + 8 / 20 * across)) <= 3
    assert abs(changed.max() - (40 + 9 / 20 * across)) <= 3


def test_the_columns_of_a_short_sound_are_as_long_as_it() -> None:
    click = np.zeros(1000)
    click[200] = 1
    level = levels(click, 1000)
    assert abs((np.argmax(level[40]) + 0.5) / level.shape[1] - 0.2) < 0.03


def test_silence_and_nothing_are_drawn_too() -> None:
    for samples in (np.zeros(5000), np.empty(0), np.full(5000, np.nan)):
        drawn = draw_spectrogram(levels(samples, 1000), (0, 5), 500, Events(np.array([1.0])))
        assert drawn.shape == (240, 480, 3)


def test_a_volume_ahead_is_drawn_above_the_middle_with_its_heading() -> None:
    car = Cuboids.of(np.array([[20, 10, 0, 2, 4, 1.5, 0]]))
    found = near(draw_above(np.empty((0, 4)), car, np.array([0]), View(0, 0, 40)), colour_of(0))
    rows, columns = np.nonzero(found)
    assert abs(rows.mean() - 120) < 4
    assert abs(columns.mean() - 180) < 4
    half = 4 / 2 * 6
    assert found[int(120 - half / 2), 180 - 1 : 180 + 2].any()
    assert not found[int(120 + half / 2), 180 - 1 : 180 + 2].any()


def test_a_camera_sees_what_is_before_it() -> None:
    boxes = Cuboids.of(np.array([[0, 0, 10, 2, 2, 2, 0], [0, 0, -10, 2, 2, 2, 0], [50, 0, 10, 2, 2, 2, 0]]))
    matrix = np.array([[100.0, 0, 50], [0, 100, 50], [0, 0, 1]])
    place, visible = seen_by_camera(corners_of(boxes), matrix, (100, 100))
    assert visible.tolist() == [True, False, False]
    np.testing.assert_allclose(place[0].mean(axis=0), [50, 50])


def test_a_blank_tile_says_something() -> None:
    said, empty = blank("cannot be read: an empty file"), blank("")
    assert said.shape == empty.shape
    assert (said != empty).any()
