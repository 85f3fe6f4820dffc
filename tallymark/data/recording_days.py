"""The day of a recording, by the date in the name of its file or folder."""

from __future__ import annotations

import re
from pathlib import Path

from tallymark.data.catalog import NO_GROUP

DATE = re.compile(r"(?<!\d)(?:19|20)\d\d-?[01]\d-?[0-3]\d(?!\d)")
"""A date in the name of a file or folder: 2009-03-28 or 20090328."""


def day_of(name: str) -> str:
    """The group of a recording: its folder if the name of that has a date, else the date in its own name."""
    path = Path(name)
    if DATE.search(path.parent.name):
        return path.parent.name
    date = DATE.search(path.name)
    return date[0] if date else NO_GROUP
