"""Names of recordings that are distributed over days."""

from __future__ import annotations

import datetime
import math

DAYS = 7
"""Recordings are distributed over the days of a week, then over those of the next."""
DAY = 86400
"""Seconds."""


def day_name(number: int, seconds: float) -> str:
    """The file of a training recording, in the folder of its day; recordings of one day are consecutive."""
    slot = math.ceil(seconds)
    week, slot_number = divmod(number // DAYS, DAY // slot)
    day = datetime.date(2009, 3, 28) + datetime.timedelta(days=number % DAYS + DAYS * week)
    clock = datetime.timedelta(seconds=slot_number * slot)
    day_text, time_text = f"{day:%Y%m%d}", f"{datetime.datetime.min + clock:%H%M%S}"
    return f"NOPP6_EST_{day_text}/NOPP6_EST_{day_text}_{time_text}.wav"
