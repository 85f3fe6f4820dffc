"""Recorder and start time of a recording, as its file name states them."""

from __future__ import annotations

import datetime
import re
from pathlib import PurePosixPath
from typing import NamedTuple

from tallymark.data.recording_days import DATE

DATE_AND_TIME = re.compile(
    r"(?<!\d)((?:19|20)\d\d)[-_.]?([01]\d)[-_.]?([0-3]\d)[-_.T ]*([0-2]\d)[-_.:]?([0-5]\d)(?:[-_.:]?([0-5]\d))?(?!\d)"
)
"""Date and time in a name, as 20090328_000000 or 2000-05-19_00-15-00."""
EPOCH = datetime.datetime(1970, 1, 1)


class RecordingName(NamedTuple):
    """Which recorder made a recording, and when it started.

    start: seconds since 1970 by the recorder's clock; None if the name has no date.
    has_time: whether the name has the time of day too.
    """

    recorder: str
    start: float | None
    has_time: bool


def parse_recording_name(name: str) -> RecordingName:
    """Recorder and start of a recording by its name, with the folders in front; without a date, the recorder is `name`.

    The recorder is what precedes the date. If nothing does, it is the folder of the file, or the one above that if
    the folder is named after a date.
    """
    path = PurePosixPath(name.replace("\\", "/"))
    for pattern in (DATE_AND_TIME, DATE):
        match = pattern.search(path.stem)
        if match is None:
            continue
        try:
            digits = "".join(re.findall(r"\d", match[0])).ljust(14, "0")
            start = datetime.datetime.strptime(digits, "%Y%m%d%H%M%S")
        except ValueError:  # a 31st of February, 25 o'clock
            continue
        folders = [folder for folder in path.parts[:-1] if not DATE.search(folder)]
        recorder = path.stem[: match.start()].strip(" _-.") or "".join(folders[-1:])
        return RecordingName(recorder, (start - EPOCH).total_seconds(), pattern is DATE_AND_TIME)
    return RecordingName(name, None, False)
