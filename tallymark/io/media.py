"""Media files: images, recordings and sweeps, and what their inspection returns."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np

from tallymark.io import archives
from tallymark.io.regular import NotRegular
from tallymark.io.retries import may_pass, retry

A = TypeVar("A")
B = TypeVar("B")
P = ParamSpec("P")
THUMBNAIL = 48
"""Side of an inspection's grey thumbnail in pixels: a 3 x 3 grid of cells of 16 px."""


READ_FAILED = "read_failed"
"""The kind of problem of a file that the system failed to read, or refused to: that says nothing about the file."""
RESUME = "resume: the same command with --resume"
RESUME_REMEDY = f"check the disk, the connection to it and the permissions, then {RESUME}"
"""What to do after a training stopped at such a file."""


class BadMedia(Exception):
    """A file that cannot be used: the kind of problem, what was found, what to do, and what was expected (by default a
    readable file).
    """

    def __init__(
        self, kind: str, found: str, remedy: str = "get the file again, or exclude the item", expected: str = ""
    ) -> None:
        super().__init__(found)
        self.kind = kind
        self.found = found
        self.remedy = remedy
        self.expected = expected

    def __reduce__(self) -> tuple[type[BadMedia], tuple[str, str, str, str]]:
        return type(self), (self.kind, self.found, self.remedy, self.expected)  # how it is carried to another process

    @property
    def transient(self) -> bool:
        """Whether it may be readable later as it is, since the system failed or refused to read it."""
        return self.kind == READ_FAILED


@dataclass(frozen=True, eq=False)
class Inspection:
    """The properties of a file that was opened and read to its end.

    extent: (width, height) in pixels, (seconds, samples per second), or (points, columns).
    thumbnail: 48 x 48 grey pixels of the image, the spectrogram, or the bird's-eye view.
    digest: fingerprint of the bytes.
    faults: warnings about a file that can be used, as (kind, found, expected, remedy).
    """

    extent: tuple[float, float]
    thumbnail: np.ndarray
    digest: bytes
    faults: tuple[tuple[str, str, str, str], ...] = ()


@dataclass(frozen=True)
class Medium:
    """A type of media file.

    modality: `image`, `audio` or `lidar`. noun: what one is called: image, recording or sweep.
    inspect: opens a file, reads all of it, and raises `BadMedia` if that fails.
    comparable: whether similar thumbnails mean near-duplicates.
    """

    modality: str
    noun: str
    suffixes: frozenset[str]
    inspect: Callable[[Path], Inspection]
    comparable: bool = True


def flush_on_damage(
    stage: Callable[Concatenate[Iterator[A], P], Iterator[B]],
) -> Callable[Concatenate[Iterator[A], P], Iterator[B]]:
    """Decorate a stage of a stream: if its source raises `BadMedia`, it yields what it has buffered, then raises it."""

    @wraps(stage)
    def run(source: Iterator[A], /, *given: P.args, **named: P.kwargs) -> Iterator[B]:
        faults: list[BadMedia] = []

        def undamaged() -> Iterator[A]:
            try:
                yield from source
            except BadMedia as bad:
                faults.append(bad)

        yield from stage(undamaged(), *given, **named)
        for bad in faults:
            raise bad

    return run


def read_bytes(path: Path) -> bytes:
    """The bytes of a media file; if the disk or the share fails, it is tried again for some seconds."""
    try:
        data = retry(lambda: archives.read_bytes(path))
    except OSError as error:
        raise unreadable(error) from None
    check_start(data)
    return data


def check_start(data: bytes) -> None:
    """Refuse a file that begins like none of a medium."""
    if not data:
        raise BadMedia("corrupt_media", "an empty file")
    if data.startswith(b"version https://git-lfs"):
        raise BadMedia("corrupt_media", "a Git LFS pointer", "fetch the file itself (git lfs pull)")


def unreadable(error: OSError) -> BadMedia:
    """A file that the system cannot read, or that is damaged in its archive."""
    found = (error.strerror or type(error).__name__).lower()
    if may_pass(error):
        return read_failed(found)
    if isinstance(error, archives.BadArchive | NotRegular):
        return BadMedia("unreadable_media", found, error.remedy)
    if error.errno in (errno.EACCES, errno.EPERM):
        return read_failed(found, "change its permissions")
    return BadMedia("unreadable_media", found)


def read_failed(found: str, mend: str = "check the disk or the connection to it") -> BadMedia:
    """A file that the system failed to read, or refused to."""
    return BadMedia(READ_FAILED, found, f"{mend}, then run the same command again")


def worker_died(reason: str) -> BadMedia:
    """A file over which worker processes died: its decoder crashed, or took all memory."""
    return BadMedia("worker_died", reason, "look at the file, or exclude the item")


def digest(blocks: Iterable[bytes]) -> bytes:
    """A short fingerprint of a file's bytes, given in blocks."""
    made = hashlib.blake2b(digest_size=16)
    for block in blocks:
        made.update(block)
    return made.digest()
