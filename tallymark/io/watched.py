"""A file for libraries that take a read that fails for the end of the file, or for zeros: the failure is kept."""

from __future__ import annotations

from collections.abc import Callable
from io import SEEK_SET
from typing import BinaryIO, TypeVar

T = TypeVar("T")


class WatchedFile:
    """A file to read and seek in, without exceptions, which a compiled library cannot pass on.

    name: of the file. failure: the first error of the system; what was read since then means nothing.
    """

    def __init__(self, file: BinaryIO, name: str = "") -> None:
        self._file = file
        self.name = name
        self.failure: OSError | None = None

    def readinto(self, buffer: memoryview) -> int:
        """Bytes that were read; 0 at the end, and after a failure."""
        return self._tried(lambda: self._file.readinto(buffer), 0)  # type: ignore[attr-defined]  # typeshed lacks it

    def read(self, size: int = -1) -> bytes:
        return self._tried(lambda: self._file.read(size), b"")

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        return self._tried(lambda: self._file.seek(offset, whence), -1)

    def tell(self) -> int:
        return self._tried(self._file.tell, -1)

    def _tried(self, work: Callable[[], T], failed: T) -> T:
        if self.failure is not None:
            return failed
        try:
            return work()
        except OSError as error:
            self.failure = error
            return failed
