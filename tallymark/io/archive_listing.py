"""The files in the archives of a folder, beside those that are unpacked there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tallymark.core.humanize import plural
from tallymark.core.problems import Problem
from tallymark.io.archives import SUFFIX, BadArchive, open_archive
from tallymark.io.regular import NotRegular

HIDDEN = (".", "__MACOSX", "lost+found", "$RECYCLE.BIN", "System Volume Information")
"""How names of files and folders begin that are not data."""
HIDDEN_MEMBER = re.compile(r"(^|/)(\.|__MACOSX)")
NAMED = 3


@dataclass
class ArchiveListing:
    """Files in archives. notes: what cannot be read. remarks: archives that are not needed, in words."""

    files: list[str] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def list_archives(archives: Iterable[str], unpacked: Sequence[str]) -> ArchiveListing:
    """The files in these archives, without those that are unpacked beside them, which are used instead."""
    listing = ArchiveListing()
    present = frozenset(unpacked)
    for archive in archives:
        try:
            opened = open_archive(archive)
        except OSError as error:
            listing.notes.append(_unreadable(archive, error))
            continue
        for reason in sorted({reason for _, reason in opened.refused}):
            names = [name for name, why in opened.refused if why == reason]
            found, remedy = f"{reason}: {_named(names)}", "none: such files are not read"
            listing.notes.append(Problem("unsafe_member", archive, found, "files inside the archive", remedy))
        visible = [name for name in opened.members if not HIDDEN_MEMBER.search(name)]
        _note_nested(archive, [name for name in visible if name.lower().endswith(SUFFIX)], listing)
        own = [name.replace("/", os.sep) for name in visible if not name.lower().endswith(SUFFIX)]
        kept = [name for name in own if not _is_unpacked(archive, name, present)] if present else own
        if len(kept) < len(own):
            count = plural(len(own) - len(kept), "file")
            listing.remarks.append(f"{archive}: {count} of it lie unpacked beside it, and are used instead")
        listing.files += [f"{archive}{os.sep}{name}" for name in kept]
    return listing


def as_unpacked(path: Path) -> Path:
    """Where a file in an archive lies after unpacking: `test.zip/test/a.jpg` and `test.zip/a.jpg` in `test/a.jpg`."""
    parts = path.parts
    for at, part in enumerate(parts[:-1]):
        stem = part[: -len(SUFFIX)]
        if part.lower().endswith(SUFFIX):
            return as_unpacked(Path(*parts[:at], *(() if parts[at + 1] == stem else (stem,)), *parts[at + 1 :]))
    return path


def merged(path: Path, root: Path) -> Path:
    """A path below a root without the archives that it leads through: parts of a folder may be in several of them."""
    return root.joinpath(*(part for part in path.relative_to(root).parts if not part.lower().endswith(SUFFIX)))


def _is_unpacked(archive: str, name: str, present: frozenset[str]) -> bool:
    """Whether a member lies beside its archive, in its own folder or in one that is named after the archive."""
    folder, own = os.path.dirname(archive), archive[: -len(SUFFIX)]  # noqa: PTH120  # fast
    below = name.partition(os.sep)[2] or name
    return any(f"{place}{os.sep}{rest}" in present for place, rest in ((folder, name), (own, name), (own, below)))


def _note_nested(archive: str, names: list[str], listing: ArchiveListing) -> None:
    if names:
        found, expected = f"archives in it: {_named(names)}", "files, not archives, in an archive"
        listing.notes.append(Problem("nested_archive", archive, found, expected, f"unzip {archive}"))


def _unreadable(archive: str, error: OSError) -> Problem:
    remedy = error.remedy if isinstance(error, BadArchive | NotRegular) else "check its permissions"
    found = error.strerror or type(error).__name__
    return Problem("bad_archive", archive, found, "a complete zip archive", remedy)


def _named(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
