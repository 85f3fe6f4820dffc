"""Names of made items, and sizes that a made picture can have."""

from __future__ import annotations

from tallymark.core.problems import BadInput, Problem
from tallymark.synthetic.streams import stream

NAMES = 1 << 30
"""A place in the data set that no item has, so that names and contents do not share random numbers."""
SIDES = (64, 2048)
"""Smallest and largest side of a made picture, in pixels."""


def hex_names(seed: int, part: int, count: int, digits: int = 9) -> list[str]:
    """Different names of hexadecimal digits; those of part 0 and part 1 (train and test) differ as well.

    A longer list begins with the shorter one.
    """
    draws = stream(seed, NAMES, part).integers(0, 16**digits // 2, count + 64)
    return [f"{2 * number + part:0{digits}x}" for number in dict.fromkeys(draws.tolist())][:count]


def check_side(side: int) -> None:
    """Refuse pictures too small to hold anything or too large to make."""
    if not SIDES[0] <= side <= SIDES[1]:
        expected = f"a side from {SIDES[0]} to {SIDES[1]} pixels"
        raise BadInput(Problem("bad_option", "scenes", f"size={side}", expected, f"give e.g. {8 * SIDES[0]}"))
