"""Whether a recording is complete: what its header or its last page promises, compared with the size of the file.

Libraries read a truncated file to its end without a warning. WAV, RF64, Sony Wave64, AIFF and most MP3 files state
their sizes; the last page of an Ogg file says that it is the last.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from tallymark.io.archives import file_status, open_file
from tallymark.io.media import BadMedia

STREAMED_SIZES = {0, *range(0xFFFFFF00, 1 << 32), *range(0x7FFFF000, 0x7FFFF100)}
"""Sizes in headers of streamed files, whose length was unknown: all ones, or what SoX takes, 2 GiB less a page; of the
samples, less the header."""
LARGEST_SIZE = 1 << 60
"""Larger ones, in 64 bits, stand for an unknown length too."""
SIZE_TOLERANCE = 8
"""Bytes by which a header may exceed the file: some writers count the first eight, or a padding byte."""
MAX_CHUNKS = 1000
"""Chunks of a WAV file that are looked at before the samples."""
WAVE64 = bytes.fromhex("72696666 2e91 cf11 a5d6 28db04c10000")
MPEG_FRAMES = (b"\xff\xfb", b"\xff\xfa", b"\xff\xf3", b"\xff\xf2", b"\xff\xe3", b"\xff\xe2")
OGG_PAGE, OGG_HEADER, OGG_LARGEST_PAGE = b"OggS", 27, 65_307
OGG_LAST = 4
"""The flag of the last page of a stream."""


def check_complete(path: Path) -> None:
    """Refuse a truncated recording with a `BadMedia`; formats that say nothing about their size pass."""
    size = file_status(path)[0]
    with open_file(path) as file:
        start = file.read(40)
        if start.startswith(OGG_PAGE):
            _check_last_page(file, size)
        elif start.startswith((b"RIFF", b"RF64")):
            _check_chunks(file, start, size)
        elif start.startswith(b"FORM"):
            _compare(int.from_bytes(start[4:8], "big"), 8, size)
        elif start.startswith(WAVE64):
            _compare(int.from_bytes(start[16:24], "little"), 0, size)
        elif start.startswith((b"ID3", *MPEG_FRAMES)):
            _check_first_frame(file, start, size)


def _compare(stated: int, before: int, size: int) -> None:
    """Refuse a file that is shorter than `stated` bytes after the first `before` ones."""
    if stated in STREAMED_SIZES or stated >= LARGEST_SIZE:
        return
    if before + stated > size + SIZE_TOLERANCE:
        raise BadMedia("truncated_media", f"{size} of {before + stated} bytes according to its header")


def _check_chunks(file: BinaryIO, start: bytes, size: int) -> None:
    """The sizes of a WAV file and of the chunk with its samples; in RF64 both are in the chunk `ds64`."""
    whole, samples = int.from_bytes(start[4:8], "little"), None
    if start[:4] == b"RF64" and start[12:16] == b"ds64":
        whole, samples = (int.from_bytes(start[at : at + 8], "little") for at in (20, 28))
    _compare(whole, 8, size)
    at = 12
    for _ in range(MAX_CHUNKS):
        file.seek(at)
        head = file.read(8)
        if len(head) < 8:
            return
        length = int.from_bytes(head[4:], "little")
        if head[:4] == b"data":
            _check_samples(length if samples is None else samples, at + 8, size)
            return
        at += 8 + length + length % 2


def _check_samples(length: int, before: int, size: int) -> None:
    if length == 0 and size > before + SIZE_TOLERANCE:  # as by a recorder that lost its power
        found = f"a header without the length of the {size - before} bytes that follow"
        raise BadMedia("corrupt_media", found, "write it again: ffmpeg -i OLD NEW")
    _compare(length, before, size)


def _check_first_frame(file: BinaryIO, start: bytes, size: int) -> None:
    """The size that the first frame of an MP3 file states, if it is a Xing or Info frame."""
    tags = 0
    if start.startswith(b"ID3"):  # four times seven bits, unless the file ends before
        tags = 10 + sum((byte & 127) << shift for byte, shift in zip(start[6:10], (21, 14, 7, 0), strict=False))
    file.seek(tags)
    frame = file.read(256)
    at = next((at for at in map(frame.find, (b"Xing", b"Info")) if at >= 0), None)
    flags = 0 if at is None else int.from_bytes(frame[at + 4 : at + 8], "big")
    if at is not None and flags & 2:
        stated = at + (12 if flags & 1 else 8)
        _compare(int.from_bytes(frame[stated : stated + 4], "big"), tags, size)


def _check_last_page(file: BinaryIO, size: int) -> None:
    file.seek(max(0, size - 2 * OGG_LARGEST_PAGE), os.SEEK_SET)
    end = file.read(2 * OGG_LARGEST_PAGE)
    page = end[end.rfind(OGG_PAGE) :] if OGG_PAGE in end else b""
    segments = page[OGG_HEADER:][: page[OGG_HEADER - 1]] if len(page) >= OGG_HEADER else b""
    whole = bool(segments) and len(page) >= OGG_HEADER + len(segments) + sum(segments)
    if not whole or not page[5] & OGG_LAST:
        raise BadMedia("truncated_media", "no end of the stream", "get the file again, or exclude the item")
