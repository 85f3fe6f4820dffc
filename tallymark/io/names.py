"""Names of files: which can be the id of an item, and names of output files that are made of ids."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from tallymark.core.problems import Problem, printable
from tallymark.io.suffixes import MEDIA_SUFFIXES

UNUSABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Characters that an id in a table cannot have: controls, ends of lines, and bytes that are not UTF-8."""
NOT_UTF8 = re.compile("[\ud800-\udfff]")
LONGEST = 255
"""Bytes of the longest name of a file on most disks."""
LONGEST_PATH = 1000
"""Bytes of the longest path below an output folder."""


def usable_files(files: Sequence[str], root: str | Path) -> tuple[list[str], list[Problem]]:
    """The files whose paths below the root can be ids, and a problem for each of the others."""
    below = len(str(root))
    doubtful = [file for file in files if not file.isprintable() or " ." in file or "/ " in file or file[-1:] == " "]
    odd = {file for file in doubtful if UNUSABLE.search(file, below) or _ends_blank(file)}
    if not odd:
        return list(files), []
    data = (file for file in sorted(odd) if Path(file).suffix)  # macOS names files without one "Icon" and a line end
    return [file for file in files if file not in odd], [bad_name(file) for file in data]


def bad_name(path: str | Path) -> Problem:
    """A file whose name cannot be the id of an item."""
    text = str(path)
    if NOT_UTF8.search(text):
        found = "a name that is not UTF-8"
    elif UNUSABLE.search(text):
        found = "a control character or a line end in its name"
    else:
        found = "a blank at an end of its name"
    return Problem("bad_name", printable(text), found, "a name that a table can hold", "rename it: it is left out")


def _ends_blank(file: str) -> bool:
    """Whether a name begins or ends with a blank, with or without its suffix: tables are read without such blanks."""
    path = Path(file[file.rfind(os.sep) + 1 :])
    return path.name != path.name.strip(" ") or path.stem[-1:] == " "


def output_paths(folder: Path, ids: Iterable[str], ending: str, *, reserved: int = 0) -> list[Path]:
    """The paths to write files about items to, one for each id, always below `folder`.

    A file is named like its item without the suffix of a media file, or with it where two items share a stem. What is
    too long is cut, and a fingerprint of the id tells names apart that would be the same. reserved: bytes of a name
    that are left for what is added later.
    """
    ids = list(ids)
    room = LONGEST - len(ending.encode()) - reserved
    whole = [_parts(one) for one in ids]
    stems = [(*folders, _without_suffix(name)) for *folders, name in whole]
    shared = Counter(stems)
    named = [name if shared[stem] > 1 else stem for name, stem in zip(whole, stems, strict=True)]
    again = Counter(named)
    paths = []
    for one, (*folders, name) in zip(ids, named, strict=True):
        own = _with_fingerprint(name, one, room) if again[(*folders, name)] > 1 else _cut(name, one, room)
        paths.append(folder.joinpath(*folders, own + ending))
    return paths


def safe_name(text: str, room: int = LONGEST) -> str:
    """A text as the name of one file of at most so many bytes; what had to be cut ends with a fingerprint."""
    return _cut(_safe(text.replace("/", "_")), text, room)


def _parts(one: str) -> tuple[str, ...]:
    """The folders and the name that an id stands for; none of them leads out of a folder."""
    parts = [part for part in one.replace("\\", "/").split("/") if part.strip(". ") and not part.endswith(":")]
    folders = [_cut(_safe(part), part, LONGEST) for part in parts[:-1]]
    if len("/".join(folders).encode()) > LONGEST_PATH:
        folders = [_with_fingerprint("", "/".join(folders), LONGEST)]
    return (*folders, _safe(parts[-1]) if parts else "_")


def _without_suffix(name: str) -> str:
    path = PurePosixPath(name)
    return path.stem if path.suffix.lower() in MEDIA_SUFFIXES else name


def _safe(part: str) -> str:
    return UNUSABLE.sub("_", part) if part.strip(". ") else "_"


def _cut(name: str, text: str, room: int) -> str:
    return name if len(name.encode()) <= room else _with_fingerprint(name, text, room)


def _with_fingerprint(name: str, text: str, room: int) -> str:
    mark = "~" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return name.encode()[: room - len(mark)].decode("utf-8", "ignore") + mark
