"""Ids of synthetic items, and the range of image sizes."""

from __future__ import annotations

from tallymark.core.problems import BadInput, Problem
from tallymark.synthetic.streams import stream

NAMES = 1 << 30
"""A stream number that no item has, so that ids and contents do not share random numbers."""
SIDES = (64, 2048)
"""Smallest and largest side of a synthetic image in pixels."""


def hex_names(seed: int, split: int, count: int, digits: int = 9) -> list[str]:
    """Distinct hexadecimal ids; those of split 0 and split 1 (train and test) are distinct, too.

    A longer list begins with the shorter one.
    """
    draws = stream(seed, NAMES, split).integers(0, 16**digits // 2, count + 64)
    return [f"{2 * number + split:0{digits}x}" for number in dict.fromkeys(draws.tolist())][:count]


def check_side(side: int) -> None:
    """Raise `BadInput` if an image would be too small or too large."""
    if not SIDES[0] <= side <= SIDES[1]:
        expected = f"a side from {SIDES[0]} to {SIDES[1]} pixels"
        raise BadInput(Problem("bad_option", "scenes", f"size={side}", expected, f"give e.g. {8 * SIDES[0]}"))
