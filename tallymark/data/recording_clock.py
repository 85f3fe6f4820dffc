"""When recordings were made, and by which recorder, as the names of their files state it."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import NamedTuple
from zoneinfo import ZoneInfo

from tallymark.core.problems import BadInput, Problem

DATE = re.compile(r"(?<!\d)(?:19|20)\d\d-?[01]\d-?[0-3]\d(?!\d)")
"""A date in the name of a file or folder: 2009-03-28 or 20090328."""
SOUNDTRAP = re.compile(r"(?<=\d\.)\d\d[01]\d[0-3]\d[0-2]\d[0-5]\d[0-5]\d(?!\d)")
"""Twelve digits behind a serial number, as SoundTraps write them: 5100.200401120000 is of 2020, and not of 2004."""
DATE_AND_TIME = re.compile(
    r"(?<!\d)(?:19|20)\d\d([-_.]?)[01]\d\1[0-3]\d[-_.T $]*[0-2]\d[-_.:]?[0-5]\d(?:[-_.:]?[0-5]\d)?(?!\d)"
)
"""Date and time, as 20090328_000000 (AudioMoth, Song Meter, …) or 2000-05-19_00-15-00; not 200401_120000."""
SHORT_YEAR = re.compile(r"(?<!\d)\d\d[01]\d[0-3]\d(?:[-_T]|(?<=\.\d{6}))[0-2]\d[0-5]\d[0-5]\d(?!\d)")
"""With two digits of the year: 230401-120000, or A.210401120000."""
UNIX_TIME = re.compile(r"^[0-9A-F]{8}$")
"""Seconds since 1970 in UTC as eight hexadecimal digits: the first AudioMoths."""
UNIX_YEARS = range(2015, 2036)
"""Years in which such a name is a time, and not just a number."""
EPOCH = datetime.datetime(1970, 1, 1)
DAY = 86_400
"""Seconds."""
DIRECTIVES = {
    "Y": r"\d{4}", "y": r"\d{2}", "m": r"\d{2}", "d": r"\d{2}", "H": r"\d{2}", "M": r"\d{2}", "S": r"\d{2}",
    "j": r"\d{3}", "b": "[A-Za-z]{3}", "p": "[AaPp][Mm]", "I": r"\d{2}", "f": r"\d{1,6}", "%": "%",
}  # fmt: skip
"""What the parts of a pattern match, as `datetime.strptime` reads them."""
OFFSET = re.compile(r"^(?:UTC)?([+-])(\d\d?)(?::?(\d\d))?$")


class RecordingName(NamedTuple):
    """Which recorder made a recording, and when it started.

    start: seconds since 1970 by the clock that is shown; None if the name has no date.
    has_time: whether the name has the time of day too. utc: seconds since 1970 in UTC, if the time zone is known.
    """

    recorder: str
    start: float | None
    has_time: bool
    utc: float | None = None


@dataclass(frozen=True)
class RecordingClock:
    """How to read times in the names of recordings, and in which time zone to show them.

    pattern: as for `strptime`, e.g. `%Y%m%d_%H%M%S`, found anywhere in the name; if blank, the known ones are tried.
    zone: of the recorders' clocks, e.g. `UTC`, `+02:00` or `America/Halifax`; with another one behind a comma, times
        are shown in that. Times that are in UTC by their form (a Z behind them, or a UNIX time) are converted.
    """

    pattern: str = ""
    zone: str = ""

    def validate(self) -> None:
        """Raise `BadInput` for a pattern without a date, or for an unknown time zone."""
        unknown = [name for name in re.findall("%(.)", self.pattern) if name not in DIRECTIVES]
        dated = {"d", "m"} <= set(re.findall("%(.)", self.pattern)) or "%j" in self.pattern
        if self.pattern and (unknown or not dated or not re.search("%[Yy]", self.pattern)):
            expected, remedy = "a date of %Y, %m and %d, and %H, %M and %S", "write e.g. %Y%m%d_%H%M%S"
            raise BadInput(Problem("bad_option", "time_pattern", f"'{self.pattern}'", expected, remedy))
        self._zones  # noqa: B018  # raises

    def parse(self, name: str) -> RecordingName:
        """Recorder and start by the name of a file, with the folders in front; without a date, the recorder is `name`.

        The recorder is what precedes the date. If nothing does, it is the folder of the file, or the one above that
        if the folder is named after a date.
        """
        path = PurePosixPath(name.replace("\\", "/"))
        folders = [folder for folder in path.parts[:-1] if not DATE.search(folder)]
        for start, recorder, has_time, utc in self._readings(path.stem):
            recorder = recorder or "".join(folders[-1:])
            if not (has_time and self._zones):
                return RecordingName(recorder, (start - EPOCH).total_seconds(), has_time)
            at = start.replace(tzinfo=datetime.UTC if utc else self._zones[0])
            shown = at.astimezone(self._zones[-1]).replace(tzinfo=None)
            return RecordingName(recorder, (shown - EPOCH).total_seconds(), has_time, at.timestamp())
        return RecordingName(name, None, False)

    def day(self, name: str) -> str | None:
        """The group of a recording: its folder if that is named after a date, else its own date; None without any."""
        folder = PurePosixPath(name.replace("\\", "/")).parent.name
        if DATE.search(folder) and not self.pattern and not self.zone:
            return folder
        start = self.parse(name).start
        return None if start is None else f"{EPOCH + datetime.timedelta(seconds=start):%Y-%m-%d}"

    def shown(self, utc: float) -> float:
        """What the shown clock says at a time in UTC; both in seconds since 1970."""
        at = (EPOCH + datetime.timedelta(seconds=utc)).replace(tzinfo=datetime.UTC)
        return (at.astimezone(self._zones[-1]).replace(tzinfo=None) - EPOCH).total_seconds()

    def changes(self, name: RecordingName, seconds: float) -> list[tuple[float, float]]:
        """When the shown clock is put forward or back in a recording of this length, in seconds from its start.

        Each with what the clock says then, in seconds since 1970.
        """
        if name.utc is None:
            return []
        changes = []
        begin, end = math.floor(name.utc), math.ceil(name.utc + seconds)
        while begin < end:
            low, high = begin, min(begin + DAY, end)
            begin = high
            if self._shift(low) == self._shift(high):
                continue
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if self._shift(middle) == self._shift(low) else (low, middle)
            if high < name.utc + seconds:
                changes.append((high - name.utc, self.shown(high)))
        return changes

    def _shift(self, utc: int) -> float:
        return self.shown(utc) - utc

    def _readings(self, stem: str) -> Iterator[tuple[datetime.datetime, str, bool, bool]]:
        """Start, recorder, whether there is a time of day, and whether it is in UTC by its form."""
        if self.pattern:
            yield from self._by_pattern(stem)
            return
        for pattern, form, has_time in (
            (SOUNDTRAP, "%y%m%d%H%M%S", True),
            (DATE_AND_TIME, "%Y%m%d%H%M%S", True),
            (SHORT_YEAR, "%y%m%d%H%M%S", True),
            (DATE, "%Y%m%d", False),
        ):
            for match in pattern.finditer(stem):
                digits = "".join(re.findall(r"\d", match[0]))
                digits = digits.ljust(14, "0") if pattern is DATE_AND_TIME else digits
                try:
                    start = datetime.datetime.strptime(digits, form)
                except ValueError:  # a 31st of February, 25 o'clock
                    continue
                utc = has_time and stem[match.end() :].upper().startswith("Z")
                yield start, stem[: match.start()].strip(" _-."), has_time, utc
        if UNIX_TIME.match(stem):
            start = EPOCH + datetime.timedelta(seconds=int(stem, 16))
            if start.year in UNIX_YEARS:
                yield start, "", True, True

    def _by_pattern(self, stem: str) -> Iterator[tuple[datetime.datetime, str, bool, bool]]:
        parts = re.split("(%.)", self.pattern)
        text = "".join(DIRECTIVES.get(part[1], "") if part.startswith("%") else re.escape(part) for part in parts)
        for match in re.finditer(text, stem):
            try:
                start = datetime.datetime.strptime(match[0], self.pattern)
            except ValueError:
                continue
            has_time = "%H" in self.pattern or "%I" in self.pattern
            yield start, stem[: match.start()].strip(" _-."), has_time, False

    @cached_property
    def _zones(self) -> list[datetime.tzinfo]:
        """The zone of the recorders and the one to show; empty if none is given."""
        names = [name.strip() for name in self.zone.split(",") if name.strip()]
        return [_zone(name) for name in (names * 2)[:2]] if len(names) < 3 else [_zone(self.zone)]


def _zone(name: str) -> datetime.tzinfo:
    if name.upper() in ("UTC", "Z", "GMT"):
        return datetime.UTC
    if offset := OFFSET.match(name):
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        if minutes < 24 * 60:
            return datetime.timezone(datetime.timedelta(minutes=minutes if offset[1] == "+" else -minutes))
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        remedy = "give e.g. UTC, +02:00 or America/Halifax; two with a comma: recorded, shown"
        raise BadInput(Problem("bad_option", "time_zone", f"'{name}'", "a time zone", remedy)) from None
