"""Colours of drawings, as RGB bytes."""

from __future__ import annotations

Color = tuple[int, int, int]

PALETTE: tuple[Color, ...] = (
    (255, 168, 0), (86, 180, 233), (0, 158, 115), (240, 228, 66), (213, 94, 0),
    (204, 121, 167), (255, 255, 255), (90, 130, 255), (150, 150, 150),
)  # fmt: skip
"""Distinguishable with any kind of colour vision (after Okabe and Ito), and bright on a dark background."""
ANNOTATION = PALETTE[0]
HIGHLIGHT = PALETTE[1]
TRUTH = (255, 64, 200)
"""Of annotations that predictions are drawn on; no class has it."""
FOREGROUND = (230, 233, 237)
MUTED = (152, 163, 175)
BACKGROUND = (18, 22, 27)
SHADOW = (16, 18, 20)
"""Drawn below lines, so that they stay visible on any background."""


def class_color(label: int) -> Color:
    """The colour of a class."""
    return PALETTE[label % len(PALETTE)]
