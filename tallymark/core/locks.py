"""Locks: a folder that one process writes to at a time."""

from __future__ import annotations

import json
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from tallymark.core.problems import BadInput, Problem

NAME = ".lock"


class FolderLock:
    """Keeps other processes out of a folder until it is released, or this process ends in any way.

    A `BadInput` if another process has it. Where a file system knows no locks, nobody is kept out.
    interrupted: whether the last one to hold it was killed.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        self._file: BinaryIO = os.fdopen(descriptor, "r+b")
        if not _lock(self._file):
            holder = _holder(self._file)
            self._file.close()
            found, remedy = f"in use{holder}", "wait until that has ended, or name another folder"
            raise BadInput(Problem("in_use", str(folder), found, "a folder that no other command uses", remedy))
        self.interrupted = bool(self._file.read(1))
        self._write({"process": os.getpid(), "machine": socket.gethostname()})

    def release(self) -> None:
        """Let others in."""
        if self._file.closed:
            return
        with suppress(OSError):
            self._write(None)
        self._file.close()

    def _write(self, holder: dict[str, object] | None) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._file.write(json.dumps(holder).encode() if holder else b"")
        self._file.flush()


def _lock(file: BinaryIO) -> bool:
    """Whether a file could be locked; True where there are no locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a share without locks
        return True
    return True


def _holder(file: BinaryIO) -> str:
    try:
        known = json.loads(file.read(1000))
        return f" by process {int(known['process'])} on {known['machine']!s}"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
