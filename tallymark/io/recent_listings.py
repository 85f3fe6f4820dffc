"""Listings of folders that are kept for a while: one command asks for the same listing several times."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
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
    """A listing, and the folders and archives in it with their times of change. A new file changes its folder's.

    whole: whether all folders in it could be listed.
    """

    places: list[str] = field(default_factory=list)
    folder: Folder | None = None
    whole: bool = True
    stamps: list[int] = field(default_factory=list)


_recent: OrderedDict[Path, Listing] = OrderedDict()
_held: ContextVar[dict[Path, Folder] | None] = ContextVar("held", default=None)


@contextmanager
def hold() -> Iterator[None]:
    """List each folder once in a block, even if only in part: what is read and what is said of it agree."""
    token = _held.set({} if (held := _held.get()) is None else held)
    try:
        yield
    finally:
        _held.reset(token)


def get(path: Path) -> Folder | None:
    """The listing of a folder in which nothing was added, removed or renamed since it was listed."""
    if (held := _held.get()) and (listed := held.get(path.absolute())) is not None:
        return listed
    listing = _recent.get(path.absolute())
    return None if listing is None or _stamps(listing.places) != listing.stamps else listing.folder


@contextmanager
def remember(path: Path) -> Iterator[Listing]:
    """A listing to be filled; it is kept unless something in it has changed a moment ago."""
    start, listing = time.time(), Listing()
    yield listing
    if listing.folder is None:
        return
    if (held := _held.get()) is not None:
        held[path.absolute()] = listing.folder
    listing.stamps = _stamps(listing.places)
    if listing.whole and listing.stamps and max(listing.stamps) < (start - SETTLED) * 1e9:
        _recent[path.absolute()] = listing
        while len(_recent) > KEPT:
            _recent.popitem(last=False)


def _stamps(places: list[str]) -> list[int]:
    try:
        return [Path(place).stat().st_mtime_ns for place in places]
    except OSError:
        return []
