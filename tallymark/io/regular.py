"""Only regular files are opened: a pipe, a socket or a device would be waited for, or read, without end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class NotRegular(OSError):
    """Something at the place of a file that is none; `remedy` says what to do."""

    remedy = "put a regular file in its place; save what a program prints to a file first"

    def __init__(self, found: str, path: str | Path) -> None:
        super().__init__(errno.EINVAL, found, str(path))


def open_regular(path: str | Path) -> BinaryIO:
    """Open a file for reading; an `OSError` unless it is a regular one, or a link to one."""
    require_regular(path)
    return open(path, "rb")  # noqa: PTH123  # as everywhere below: a `Path` takes longer to make than to open


def read_regular(path: str | Path) -> bytes:
    """The content of a regular file."""
    with open_regular(path) as file:
        return file.read()


def found_at(path: str | Path) -> str:
    """What is at a path, in words, where a folder or a model was expected."""
    try:
        status = require_regular(path)
    except FileNotFoundError:
        return "nothing of that name"
    except OSError as error:
        return (error.strerror or type(error).__name__).lower()
    return "a folder" if stat.S_ISDIR(status.st_mode) else "a file"


def require_regular(path: str | Path) -> os.stat_result:
    """The status of a file; an `OSError` with the reason if there is none that can be opened without waiting."""
    try:
        status = os.stat(path)  # noqa: PTH116
    except FileNotFoundError as error:
        if Path(path).is_symlink():
            raise NotRegular("a link to a file that does not exist", path) from None
        raise error from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotRegular("a link that leads to itself", path) from None
        raise
    if (kind := KINDS.get(stat.S_IFMT(status.st_mode))) is not None:
        raise NotRegular(kind, path)
    return status


def files_below(folder: str | Path) -> list[Path]:
    """All files below a folder, sorted; an `OSError` where one cannot be listed, which `Path.rglob` may pass over."""

    def stop(error: OSError) -> None:
        raise error

    return sorted(Path(place, name) for place, _, names in os.walk(folder, onerror=stop) for name in names)
