"""Captions and placeholders."""

from __future__ import annotations

import numpy as np

from tallymark.drawing.text import draw_caption, draw_legend, placeholder


def test_a_caption_is_written_along_the_lower_edge() -> None:
    image = np.full((100, 200, 3), 255, np.uint8)
    captioned = draw_caption(image, "crème brûlée")
    assert (captioned[:70] == 255).all()
    assert captioned[-24:].mean() < 120


def test_a_placeholder_shows_its_message() -> None:
    size = (480, 360)
    message, empty = placeholder("cannot be read: an empty file", size), placeholder("", size)
    assert message.shape == empty.shape == (360, 480, 3)
    assert (message != empty).any()


def test_a_legend_has_a_line_for_each_name_in_its_colour() -> None:
    drawn = draw_legend(np.zeros((60, 80, 3), np.uint8), [("car", (255, 0, 0)), ("bus", (0, 255, 0))])
    red, green = (np.flatnonzero(drawn[..., channel].any(axis=1)) for channel in (0, 1))
    assert len(red)
    assert red.max() < green.min()
