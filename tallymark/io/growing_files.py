"""Files that only grow, together: rows are appended to several, and a ledger records how far each of them counts.

Rows are on the disk before the line of the ledger that counts them. After a kill, whatever lies beyond the last line
of the ledger is cut off: no row is there twice, and none that the ledger knows is missing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tallymark.core.outputs import writing_to
from tallymark.core.problems import BadInput, Problem
from tallymark.io.regular import open_regular

Json = dict[str, Any]
ENDS = "ends"
"""The key of the sizes of all files in a line of the ledger."""


class Rows(NamedTuple):
    """Rows to append to a file. header: the line that an empty file begins with."""

    header: bytes
    data: bytes


class GrowingFiles:
    """The files of one folder and their ledger, a file of JSON lines.

    ends: bytes of each file that count, by its name. A `BadInput` if a file is shorter: somebody changed it.
    """

    def __init__(self, folder: Path, ledger: str, names: Sequence[str]) -> None:
        self.folder = folder
        self.ledger = folder / ledger
        self.ends = dict.fromkeys(names, 0)
        self._size = 0

    def recover(self) -> Iterator[Json]:
        """The lines of the ledger; after the last one, what does not count is cut off from every file."""
        if not self.ledger.exists():
            return
        with open_regular(self.ledger) as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):  # a kill in the middle of it
                    break
                value = self._parse(line, number)
                self.ends |= value.get(ENDS, {})
                self._size += len(line)
                yield value
        _cut(self.ledger, self._size)
        for name, end in self.ends.items():
            _cut(self.folder / name, end)

    def append(self, steps: Sequence[tuple[Mapping[str, Rows], Json]]) -> None:
        """Append rows to the files, and after all of them a line for each step to the ledger, on the disk.

        steps: rows by the name of their file, and the line that counts them, which is completed by the sizes.
        """
        rows = dict.fromkeys(self.ends, b"")
        lines = []
        ends = dict(self.ends)
        for added, line in steps:
            for name, (header, body) in added.items():
                data = body if ends[name] else header + body
                rows[name] += data
                ends[name] += len(data)
            lines.append(json.dumps(line | {ENDS: ends}, allow_nan=False) + "\n")
        for name, data in rows.items():
            if data:
                _append(self.folder / name, data, self.ends[name])
        text = "".join(lines).encode()
        _append(self.ledger, text, self._size)
        self.ends = ends
        self._size += len(text)

    def _parse(self, line: bytes, number: int) -> Json:
        try:
            value = json.loads(line)
            if not all(name in self.ends and type(end) is int for name, end in value.get(ENDS, {}).items()):
                raise ValueError("sizes of other files")
        except (ValueError, AttributeError, RecursionError):
            remedy = "restore it from a copy, or name another folder"
            found = "a line that is damaged"
            problem = Problem("bad_ledger", str(self.ledger), found, "a line as it was written", remedy, line=number)
            raise BadInput(problem) from None
        return value


def _append(path: Path, data: bytes, end: int) -> None:
    """Append to a file that has so many bytes, and wait until they are on the disk."""
    with writing_to(path), path.open("ab", buffering=0) as file:  # a buffer would be written again after a failure
        if file.tell() != end:
            raise _changed(path, file.tell(), end)
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]
        os.fsync(file.fileno())
    if not end:
        _sync_folder(path.parent)


def _cut(path: Path, end: int) -> None:
    """Remove what lies beyond the bytes that count."""
    size = path.stat().st_size if path.exists() else 0
    if size < end:
        raise _changed(path, size, end)
    if size > end:
        with writing_to(path), path.open("ab") as file:
            file.truncate(end)
            os.fsync(file.fileno())


def _changed(path: Path, size: int, end: int) -> BadInput:
    found = f"{size} bytes" if size or path.exists() else "no file"
    remedy = "restore it, or name another folder; to edit a table, copy it first"
    return BadInput(Problem("changed_output", str(path), found, f"the {end} bytes that were written", remedy))


def _sync_folder(folder: Path) -> None:
    """Bring the name of a new file to the disk, where the file system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:  # some network file systems cannot
        pass
    finally:
        os.close(handle)
