"""Outputs appear whole or not at all: each is written beside its place, brought to the disk, and renamed.

So a full disk, a lost connection or a kill never damages a file that was there before, and never leaves half a file
under the name of a whole one. What cannot be written is a `BadInput` with the file, the reason and what to do.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tallymark.core.problems import BadInput, Problem

REMEDIES = {
    errno.ENOSPC: "free some space, or name a folder on another disk",
    errno.EDQUOT: "free some space, or name a folder on another disk",
    errno.EFBIG: "name a folder on a disk that takes larger files",
    errno.EACCES: "change its permissions, or name another folder",
    errno.EPERM: "change its permissions, or name another folder",
    errno.EROFS: "name a folder on a disk that can be written to",
    errno.ENOENT: "make the folder first, or check the path",
    errno.ENOTDIR: "check the path: a part of it is a file",
    errno.EISDIR: "name a file",
    errno.ENAMETOOLONG: "choose a shorter name",
}
UNFINISHED = ".unfinished"
"""Suffix of files that are being written; a kill may leave some, which nothing reads."""


@contextmanager
def replacing(path: str | Path, *, sync: bool = True) -> Iterator[Path]:
    """A path to write to, beside `path`; without an error in the block, the new file takes its place at the end.

    sync: wait until it is on the disk; not needed where a set of many files is worth nothing without the last.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    with writing_to(path):
        if _is_special(target):
            yield target  # /dev/stdout, a pipe: nothing to keep, nothing to rename
            return
        unfinished = target.with_name(f".{target.name[:80]}.{os.getpid()}{UNFINISHED}")
        try:
            yield unfinished
            if sync:
                _bring_to_disk(unfinished)
            with suppress(OSError):  # a new file has the permissions of the one that it replaces
                unfinished.chmod(stat.S_IMODE(target.stat().st_mode))
            unfinished.replace(target)
        finally:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)


def write_bytes(path: str | Path, data: bytes, *, sync: bool = True) -> None:
    """Write a file whole or not at all."""
    with replacing(path, sync=sync) as unfinished:
        unfinished.write_bytes(data)


def write_text(path: str | Path, text: str, *, sync: bool = True) -> None:
    """Write a text as UTF-8 with LF line ends, whole or not at all."""
    write_bytes(path, text.encode("utf-8"), sync=sync)


def write_json(path: str | Path, value: object) -> None:
    """Write a value as indented JSON, whole or not at all."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def make_folder(path: str | Path) -> Path:
    """Make a folder, with those above it, unless it exists."""
    with writing_to(path, expected="a new folder"):
        Path(path).mkdir(parents=True, exist_ok=True)
    return Path(path)


@contextmanager
def writing_to(path: str | Path, *, expected: str = "a file that can be written") -> Iterator[None]:
    """Errors of the system while an output is written, as a `BadInput` that names it."""
    try:
        yield
    except BrokenPipeError:  # the reader of our output has stopped, which is not an error
        raise
    except OSError as error:
        raise BadInput(cannot_write(path, error, expected)) from error


def cannot_write(path: str | Path, error: OSError, expected: str = "a file that can be written") -> Problem:
    """What a failure of writing is to the user."""
    found = (error.strerror or str(error) or type(error).__name__).lower()
    remedy = REMEDIES.get(error.errno or 0, "check the disk and the connection to it, then run the same command again")
    return Problem("cannot_write", str(path), found, expected, remedy)


def _is_special(target: Path) -> bool:
    """Whether something other than a regular file is there. A folder is left to fail when it is to be replaced."""
    try:
        mode = target.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _bring_to_disk(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
