"""Listings of folders that are kept for a while: one command asks for the same listing several times."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tallymark.io.folders import Folder

KEPT = 4
SETTLED = 2.0
"""Seconds without a change after which the time of change of a folder is trusted: clocks of file systems are coarse."""


@dataclass
class Listing:
    """A listing, and the folders and archives in it with their times of change. A new file changes its folder's."""

    places: list[str] = field(default_factory=list)
    folder: Folder | None = None
    stamps: list[int] = field(default_factory=list)


_recent: OrderedDict[Path, Listing] = OrderedDict()


def get(path: Path) -> Folder | None:
    """The listing of a folder in which nothing was added, removed or renamed since it was listed."""
    listing = _recent.get(path.absolute())
    return None if listing is None or _stamps(listing.places) != listing.stamps else listing.folder


@contextmanager
def remember(path: Path) -> Iterator[Listing]:
    """A listing to be filled; it is kept unless something in it has changed a moment ago."""
    start, listing = time.time(), Listing()
    yield listing
    listing.stamps = _stamps(listing.places)
    if listing.folder is not None and listing.stamps and max(listing.stamps) < (start - SETTLED) * 1e9:
        _recent[path.absolute()] = listing
        while len(_recent) > KEPT:
            _recent.popitem(last=False)


def _stamps(places: list[str]) -> list[int]:
    try:
        return [Path(place).stat().st_mtime_ns for place in places]
    except OSError:
        return []
