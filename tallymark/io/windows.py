"""Parts of files as files: windows that are read by position, and a bounded spool of temporary files."""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from io import BufferedReader, RawIOBase
from typing import Any

SPOOL_BYTES = 1 << 32
"""Bytes of all temporary files that are kept for later; the oldest are dropped."""
_seeking = threading.Lock()


def read_at(descriptor: int, start: int, count: int) -> bytes:
    """Up to `count` bytes from a position of an open file. The file's own position is neither used nor shared."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, count, start)
    with _seeking:  # Windows
        os.lseek(descriptor, start, os.SEEK_SET)
        return os.read(descriptor, count)


class Window(RawIOBase):
    """`size` bytes of an open file from `start` on, as a file of their own. `keep` holds what keeps the file open."""

    def __init__(self, descriptor: int, start: int, size: int, keep: object) -> None:
        self._descriptor, self._start, self._size, self._keep = descriptor, start, size, keep
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, origin + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        count = max(0, min(len(view), self._size - self._at))
        data = read_at(self._descriptor, self._start + self._at, count) if count else b""
        view[: len(data)] = data
        self._at += len(data)
        return len(data)


class _Entry:
    """A temporary file without a name: it vanishes when nobody uses it any more, and after a crash."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.lock = threading.Lock()
        self.descriptor = -1

    def fill(self, blocks: Callable[[], Iterator[bytes]]) -> None:
        """Write the file, if nobody has written it yet."""
        with self.lock:
            if self.descriptor < 0:
                with tempfile.TemporaryFile(prefix="tallymark-") as file:
                    for block in blocks():
                        file.write(block)
                    file.flush()
                    self.descriptor = os.dup(file.fileno())
                weakref.finalize(self, os.close, self.descriptor)


class Spool:
    """Temporary files by key, the least recently used dropped first; each is written once, by the first who asks."""

    def __init__(self, most: int = SPOOL_BYTES) -> None:
        self._most = most
        self.forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)  # a lock may have been held by a thread of the parent

    def forget(self) -> None:
        """Drop all files."""
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()

    def open(self, key: Hashable, size: int, blocks: Callable[[], Iterator[bytes]]) -> BufferedReader:
        """The file of a key, of `size` bytes; if there is none, it is written from these blocks."""
        with self._lock:
            entry = self._entries.setdefault(key, _Entry(size))
            self._entries.move_to_end(key)
            while len(self._entries) > 1 and sum(each.size for each in self._entries.values()) > self._most:
                self._entries.popitem(last=False)
        entry.fill(blocks)
        return BufferedReader(Window(entry.descriptor, 0, size, keep=entry))
