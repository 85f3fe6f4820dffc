"""Arrivals: files that appear in a folder over time, and when each of them is complete.

The folder is polled. Notifications by the system (inotify) come sooner, but not for what another machine writes to a
network share, and not while nobody listens; a listing finds every file in the end.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tallymark.io.archive_listing import HIDDEN
from tallymark.io.folders import is_cycle


class Fingerprint(NamedTuple):
    """What identifies a version of a file: bytes, and time of change in nanoseconds."""

    size: int
    mtime_ns: int


def fingerprint(path: str | Path) -> Fingerprint | None:
    """The fingerprint of a regular file, or of what a link leads to; None if there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116  # fast
    except OSError:
        return None
    return Fingerprint(status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def list_arrivals(
    root: Path, suffixes: frozenset[str], errors: list[OSError], skipped: Path | None = None
) -> Iterator[tuple[str, Fingerprint]]:
    """Every regular file with one of these suffixes below a folder: its path from there, with slashes.

    Hidden files and folders are skipped, and so is the folder `skipped`. Downloads under way have other suffixes
    (a.jpg.part, .tmp, .crdownload). Links are followed, but not in circles. An `OSError` if `root` cannot be listed;
    those of folders in it are added to `errors`.
    """
    own = None if skipped is None else os.path.realpath(skipped)
    left = [(str(root), "")]
    while left:
        folder, prefix = left.pop()
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if not prefix:
                raise
            errors.append(error)
            continue
        for entry in found:
            if entry.name.startswith(HIDDEN):
                continue
            if _is_folder(entry):
                if os.path.realpath(entry.path) != own and not is_cycle(root, Path(entry.path)):
                    left.append((entry.path, f"{prefix}{entry.name}/"))
            elif os.path.splitext(entry.name)[1].lower() in suffixes and (known := _fingerprint(entry)):  # noqa: PTH122  # fast
                yield f"{prefix}{entry.name}", known


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _fingerprint(entry: os.DirEntry[str]) -> Fingerprint | None:
    """None for what is not a regular file, and for one that vanished since it was listed."""
    try:
        status = entry.stat()
    except OSError:
        return None
    return Fingerprint(status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


class Arrivals:
    """New files that are waited for until they have not changed for `settle` seconds.

    The time of change is compared with that of the listing before, never with a clock: the clocks of cameras and
    servers differ and jump.
    """

    def __init__(self, settle: float) -> None:
        self.settle = settle
        self._seen: dict[str, tuple[Fingerprint, float]] = {}

    def __len__(self) -> int:
        """How many files are waited for."""
        return len(self._seen)

    def observe(self, files: Iterable[tuple[str, Fingerprint]], now: float) -> list[tuple[str, Fingerprint]]:
        """The complete files among all that are new or changed, sorted; `now` in seconds of a clock that never jumps.

        What is not among them any more is forgotten.
        """
        before, self._seen = self._seen, {}
        complete = []
        for path, found in files:
            known, since = before.get(path, (None, now))
            since = since if found == known else now
            self._seen[path] = (found, since)
            if now - since >= self.settle:
                complete.append((path, found))
        return sorted(complete, key=lambda one: one[0].split("/"))

    def done(self, path: str) -> None:
        """A file is not waited for any more."""
        self._seen.pop(path, None)

    def again(self, path: str, now: float) -> None:
        """A file could not be read, or changed while it was: wait anew."""
        if path in self._seen:
            self._seen[path] = (self._seen[path][0], now)
