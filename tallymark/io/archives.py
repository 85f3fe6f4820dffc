"""Zip archives, read in place: a path may lead through one, as in `data/train.zip/train/a.jpg`.

Use these functions instead of the methods of `Path` for every file of a data set. What is wrong with an archive or a
member is a `BadArchive`, an `OSError` whose `strerror` says it. An archive is opened once in a process and read by
position, so threads and forked processes share it. Nothing is ever unpacked to a place that an archive names.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
import weakref
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

from tallymark.core.resources import allow_open_files
from tallymark.io.regular import open_regular, read_regular, require_regular
from tallymark.io.windows import Spool, Window, read_at

SUFFIX = ".zip"
INSIDE = SUFFIX + os.sep
TABLES = (".csv", ".json", ".txt", ".tsv")
MANY_ARCHIVES = 100
"""Archives that stay open before the limit of open files is raised, which is 256 on some systems."""
MOST_MEMBERS = 5_000_000
LARGEST_MEMBER = 1 << 33
"""Bytes of the largest member that is read."""
HIGHEST_RATIO, RATIO_FROM = 250, 1 << 26
"""Largest expansion of members above so many bytes. Photographs and sound shrink to a tenth at best."""
IN_MEMORY = 1 << 22
"""Bytes up to which a compressed member is opened in memory; larger ones are expanded to a temporary file."""
BLOCK = 1 << 17
"""Packed bytes that are read at once; they expand to a thousand times as many at most."""
STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
METHODS = {9: "Deflate64", 12: "bzip2", 14: "LZMA", 93: "Zstandard", 95: "XZ", 98: "PPMd", 99: "AES encryption"}
ENCRYPTED, UTF8 = 0x1, 0x800
LOCAL_HEADER, LOCAL_MARK = 30, b"PK\x03\x04"


class BadArchive(OSError):
    """An archive, or a member of one, that cannot be read; `remedy` says what to do."""

    def __init__(self, found: str, file: str | Path, remedy: str = "get the archive again, or unpack it") -> None:
        super().__init__(errno.EIO, found, str(file))
        self.remedy = remedy


class Member(NamedTuple):
    """A file in an archive: where its header begins, its sizes in the archive and expanded, in bytes."""

    header: int
    packed: int
    size: int
    method: int
    encrypted: bool
    crc: int


@dataclass(frozen=True, eq=False)
class Archive:
    """An open archive. members: its files by their paths. refused: members that no path leads to, and why."""

    path: Path
    descriptor: int
    members: dict[str, Member]
    refused: list[tuple[str, str]]
    stamp: int


def is_archive(path: str | Path) -> bool:
    """Whether a path is that of an archive, by its name."""
    return str(path).lower().endswith(SUFFIX) and Path(path).is_file()


def is_file(path: str | Path) -> bool:
    """Whether there is a file at this path, on disk or in an archive."""
    inside = _split(path)
    if inside is None:
        return Path(path).is_file()
    try:
        return inside[1] in open_archive(inside[0]).members
    except OSError:
        return False


def is_folder(path: str | Path) -> bool:
    """Whether there is a folder at this path, on disk or in an archive; an archive is one, unless it packs a table."""
    inside = _split(path)
    if inside is None:
        return Path(path).is_dir() or (is_archive(path) and packed_table(path) is None)
    try:
        return any(name.startswith(f"{inside[1]}/") for name in open_archive(inside[0]).members)
    except OSError:
        return False


def is_inside(path: str | Path) -> bool:
    """Whether a path leads through an archive."""
    return _split(path) is not None


def packed_table(path: str | Path) -> Path | None:
    """The table in an archive that has nothing else in it, such as `train.csv.zip`."""
    try:
        names = [*open_archive(path).members] if is_archive(path) else []
    except OSError:
        return None
    return Path(path, names[0]) if len(names) == 1 and names[0].lower().endswith(TABLES) else None


def read_bytes(path: str | Path) -> bytes:
    """The content of a file."""
    inside = _split(path)
    if inside is None:
        return read_regular(path)
    archive, member = _member(*inside)
    return b"".join(_expand(archive, member, path))


def read_blocks(path: str | Path) -> Iterator[bytes]:
    """The content of a file block by block; at its end, a damaged member is a `BadArchive`."""
    inside = _split(path)
    if inside is not None:
        archive, member = _member(*inside)
        yield from _expand(archive, member, path)
        return
    with open_regular(path) as file:
        while block := file.read(1 << 20):
            yield block


def open_file(path: str | Path) -> BinaryIO:
    """A file to read and seek in. Of a member that is not compressed, only what is asked for is read."""
    inside = _split(path)
    if inside is None:
        return open_regular(path)
    archive, member = _member(*inside)
    if member.method == STORED:
        start = _content(archive, member, path)
        return BufferedReader(Window(archive.descriptor, start, member.size, keep=archive))
    if member.size <= IN_MEMORY:
        return BytesIO(b"".join(_expand(archive, member, path)))
    return SPOOL.open((archive.path, archive.stamp, inside[1]), member.size, lambda: _expand(archive, member, path))


def file_status(path: str | Path) -> tuple[int, int]:
    """Size in bytes, and time of change in nanoseconds, of a file; a member has the time of its archive."""
    inside = _split(path)
    if inside is None:
        status = require_regular(path)
        return status.st_size, status.st_mtime_ns
    archive, member = _member(*inside)
    return member.size, archive.stamp


def open_archive(path: str | Path) -> Archive:
    """The archive at this path, opened once in a process; a `BadArchive` if it is damaged or unsafe to read."""
    status = require_regular(path)
    stamp = status.st_size, status.st_mtime_ns
    with _opened.lock:
        known, archive = _opened.archives.get(str(path), (None, None))
        if archive is None or known != stamp:  # it is new, or was replaced
            if len(_opened.archives) == MANY_ARCHIVES:
                allow_open_files()
            archive = _read_directory(Path(path), status.st_mtime_ns)
            _opened.archives[str(path)] = stamp, archive
        return archive


class _Opened:
    """The archives that this process has opened."""

    def __init__(self) -> None:
        self.archives: dict[str, tuple[tuple[int, int], Archive]] = {}
        self._renew_lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew_lock)  # a thread of the parent may have held it

    def _renew_lock(self) -> None:
        self.lock = threading.Lock()


_opened = _Opened()
SPOOL = Spool()


def _split(path: str | Path) -> tuple[str, str] | None:
    """The archive that a path leads through, and the path in it; None for files on disk."""
    text = str(path)
    lower = text.lower()
    at = lower.find(INSIDE)
    while at >= 0:
        end = at + len(SUFFIX)
        if Path(text[:end]).is_file():  # a folder may be called so too
            return text[:end], text[end + 1 :].replace(os.sep, "/")
        at = lower.find(INSIDE, end)
    return None


def _member(archive: str, name: str) -> tuple[Archive, Member]:
    opened = open_archive(archive)
    if name not in opened.members:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), f"{archive}/{name}")
    return opened, opened.members[name]


def _read_directory(path: Path, stamp: int) -> Archive:
    """The members that an archive lists, if it is safe to read."""
    try:
        with zipfile.ZipFile(path) as file:
            entries = file.infolist()
    except zipfile.BadZipFile as error:
        cause = error.__context__  # zipfile takes a disk that cannot be read for a file that is no zip
        if isinstance(cause, OSError) and cause.errno not in (None, errno.EINVAL):
            raise cause from None
        raise BadArchive("no list of files at its end", path, "download it again: it is truncated or no zip") from None
    except (NotImplementedError, ValueError, IndexError) as error:
        raise BadArchive(f"a list of files that cannot be read ({error})", path) from None
    if len(entries) > MOST_MEMBERS:
        raise BadArchive(f"{len(entries)} files", path, f"unpack it: {MOST_MEMBERS} are read at most")
    _refuse_overlaps(entries, path)
    members: dict[str, Member] = {}
    refused = []
    for entry in entries:
        name, reason = _safe_name(entry)
        if reason:
            refused.append((name, reason))
        elif not entry.is_dir():
            if name in members:  # as when it is unpacked, the last one counts
                refused.append((name, "an earlier file of the same name"))
            encrypted = bool(entry.flag_bits & ENCRYPTED)
            members[name] = Member(
                entry.header_offset, entry.compress_size, entry.file_size, entry.compress_type, encrypted, entry.CRC
            )
    archive = Archive(path, os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0)), members, refused, stamp)
    weakref.finalize(archive, os.close, archive.descriptor)  # when the last open member is closed
    return archive


def _refuse_overlaps(entries: list[zipfile.ZipInfo], path: Path) -> None:
    """Members that share bytes: a small archive would expand to any size."""
    places = sorted((entry.header_offset, entry.compress_size) for entry in entries)
    for (start, size), (following, _) in pairwise(places):
        if start + LOCAL_HEADER + size > following:
            raise BadArchive("files that share bytes", path, "do not use it: it is damaged, or made to do harm")


def _safe_name(entry: zipfile.ZipInfo) -> tuple[str, str]:
    """The path of a member in its archive, and why it is refused, if it is."""
    name = entry.filename
    if not entry.flag_bits & UTF8 and not name.isascii():
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")  # macOS writes UTF-8 without saying so
    name = name.replace("\\", "/")
    parts = PurePosixPath(name).parts
    if name.startswith("/") or ".." in parts or (len(name) > 1 and name[1] == ":"):
        return name, "a path that leads out of the archive"
    if stat.S_ISLNK(entry.external_attr >> 16):
        return name, "a link"
    return "/".join(parts), ""


def _content(archive: Archive, member: Member, path: str | Path) -> int:
    """Where the content of a member begins; a `BadArchive` if it cannot be read."""
    if member.encrypted:
        raise BadArchive("encrypted in the archive", path, "unpack the archive with its password")
    if member.method not in (STORED, DEFLATED):
        method = METHODS.get(member.method, f"method {member.method}")
        raise BadArchive(f"compressed by {method}", path, "unpack the archive, or write it by Deflate")
    if member.size > LARGEST_MEMBER or (member.size > RATIO_FROM and member.size > HIGHEST_RATIO * member.packed):
        found = f"{member.size} bytes, packed into {member.packed}"
        raise BadArchive(found, path, "unpack the archive if you trust it")
    header = read_at(archive.descriptor, member.header, LOCAL_HEADER)
    if not header.startswith(LOCAL_MARK) or len(header) < LOCAL_HEADER:
        raise BadArchive("damaged in the archive", path)
    names = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    return member.header + LOCAL_HEADER + names


def _expand(archive: Archive, member: Member, path: str | Path) -> Iterator[bytes]:
    """The content of a member block by block; never more than the archive states."""
    at = _content(archive, member, path)
    end = at + member.packed
    expander = zlib.decompressobj(-zlib.MAX_WBITS) if member.method == DEFLATED else None
    crc = size = 0
    while at < end:
        packed = read_at(archive.descriptor, at, min(BLOCK, end - at))
        at += len(packed)
        if not packed:
            break
        try:
            block = packed if expander is None else expander.decompress(packed, member.size - size + 1)
        except zlib.error:
            raise BadArchive("damaged in the archive", path) from None
        crc, size = zlib.crc32(block, crc), size + len(block)
        if size > member.size:
            break
        yield block
    if size != member.size or crc != member.crc:
        raise BadArchive("damaged in the archive", path)
