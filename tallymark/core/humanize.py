"""Numbers, durations and counts as people write them."""

from __future__ import annotations

import math


def count(value: float) -> str:
    """A whole number with commas: 12,345."""
    return f"{round(value):,}"


def plural(value: int, singular: str, plural: str = "") -> str:
    """A count with its noun: 1 box, 2 boxes, 1,200 images. By default the plural ends with -s."""
    return f"{count(value)} {noun(value, singular, plural)}"


def noun(value: int, singular: str, plural: str = "") -> str:
    """The noun that follows a count: box or boxes."""
    return singular if value == 1 else plural or f"{singular}s"


def number(value: float, digits: int = 3) -> str:
    """A number to a few significant digits: 1,024, 39.4, 0.052; '-' if it is not finite."""
    if not math.isfinite(value):
        return "-"
    if value == round(value) or abs(value) >= 10**digits:
        return f"{round(value):,}"
    text = f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def abbreviate(value: float) -> str:
    """A number for the tick of an axis: 2k, 1.5M, 0.1."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"


def percentage(part: float, whole: float) -> str:
    """A share in per cent; '-' where the whole is 0."""
    if not whole:
        return "-"
    percent = 100 * part / whole
    return f"{percent:.1f}%" if 0 < percent < 10 else f"{percent:.0f}%"


def clock(seconds: float) -> str:
    """A time or a duration: 7.5 s, 15:00, 1:30:00."""
    if seconds < 60:
        return f"{number(round(seconds, 2))} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
