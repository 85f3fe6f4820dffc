"""The submissions in a folder: every file is one, or is named with the reason why it is none."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tallymark.core.problems import Problem, Problems, printable
from tallymark.io.regular import found_at, open_regular

BLOCK = 1 << 20
OUTPUTS = "a file that this command reads or writes"


@dataclass(frozen=True)
class Found:
    """Submissions in the order of their names, and the other files below a folder.

    names: their paths below the folder, printable. same_as: the name of the first file with the same bytes, or empty.
    others: name and reason.
    """

    submissions: Sequence[Path]
    names: Sequence[str]
    same_as: Sequence[str]
    others: Sequence[tuple[str, str]]


def list_submissions(
    folder: Path, suffixes: Sequence[str], problems: Problems, reserved: Iterable[str | Path | None] = ()
) -> Found:
    """Every file below a folder whose name ends like a submission; links to folders are not followed.

    reserved: files that are never submissions, such as the truth.
    """
    if not folder.is_dir():
        problems.add(Problem("no_folder", str(folder), found_at(folder), "a folder of submissions", "check the path"))
        return Found([], [], [], [])
    own = {os.path.realpath(path) for path in reserved if path is not None}
    files: list[Path] = []
    others: list[tuple[str, str]] = []

    def note(path: str | Path, why: str) -> None:
        others.append((_name(Path(path), folder), why))

    def unlisted(error: OSError) -> None:
        note(error.filename, (error.strerror or type(error).__name__).lower())

    for place, folders, names in os.walk(folder, onerror=unlisted):
        folders.sort()
        for linked in (name for name in folders if Path(place, name).is_symlink()):
            note(Path(place, linked), "a link to a folder, which is not followed")
        for name in sorted(names):
            path = Path(place, name)
            why = _why_not(path, suffixes, own)
            if why:
                note(path, why)
            else:
                files.append(path)
    if not files:
        found = "none" + (f"; {len(others)} other files" if others else "")
        expected, remedy = f"files ending in {' or '.join(suffixes)}", "name the folder that holds the submissions"
        problems.add(Problem("empty_folder", str(folder), found, expected, remedy))
    listed = [_name(path, folder) for path in files]
    return Found(files, listed, _same(files, listed), others)


def _why_not(path: Path, suffixes: Sequence[str], own: set[str]) -> str:
    """Why a file is no submission; empty if it is one."""
    if os.path.realpath(path) in own:
        return OUTPUTS
    if path.name.startswith("."):
        return "a hidden file"
    suffix = path.suffix.lower()
    if suffix in (".zip", ".gz", ".7z", ".rar", ".tar", ".tgz", ".xz", ".bz2"):
        return "an archive: unpack it"
    return "" if suffix in suffixes else f"its name does not end in {' or '.join(suffixes)}"


def _name(path: Path, folder: Path) -> str:
    return printable(path.relative_to(folder).as_posix())


def _same(files: Sequence[Path], names: Sequence[str]) -> list[str]:
    """For each file the name of an earlier one with the same bytes; empty if there is none, or if it is unreadable."""
    first: dict[bytes, str] = {}
    same = []
    for path, name in zip(files, names, strict=True):
        digest = _digest(path)
        same.append(first.get(digest, "") if digest else "")
        first.setdefault(digest, name)
    return same


def _digest(path: Path) -> bytes:
    try:
        with open_regular(path) as file:
            digest = hashlib.sha256()
            while block := file.read(BLOCK):
                digest.update(block)
            return digest.digest()
    except OSError:
        return b""
