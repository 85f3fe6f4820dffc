"""Numbers as people write them."""

from __future__ import annotations

import math


def count(value: float) -> str:
    """A whole number with commas: 12,345."""
    return f"{round(value):,}"


def number(value: float, digits: int = 3) -> str:
    """A number to a few significant digits: 1,024, 39.4, 0.052."""
    if not math.isfinite(value):
        return "-"
    if value == round(value) or abs(value) >= 10**digits:
        return f"{round(value):,}"
    written = f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"
    return written.rstrip("0").rstrip(".") if "." in written else written


def short(value: float) -> str:
    """A number for the tick of an axis: 2k, 1.5M, 0.1."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"


def share(part: float, whole: float) -> str:
    """A part in per cent; '-' of nothing."""
    if not whole:
        return "-"
    percent = 100 * part / whole
    return f"{percent:.1f}%" if 0 < percent < 10 else f"{percent:.0f}%"


def clock(seconds: float) -> str:
    """A moment or a duration: 7.5 s, 15:00, 1:30:00."""
    if seconds < 60:
        return f"{number(round(seconds, 2))} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def plural(value: int, one: str, many: str = "") -> str:
    """A count with its noun: 1 box, 2 boxes."""
    return f"{count(value)} {one if value == 1 else many or one + 's'}"
