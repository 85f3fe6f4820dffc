"""Text files of any origin: UTF-8, or UTF-16 and UTF-32 as Windows programs write them, with a byte order mark."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from tallymark.core.problems import UNREADABLE, Problem, Problems
from tallymark.io.archives import BadArchive, file_status, open_file, packed_table, read_bytes
from tallymark.io.regular import NotRegular
from tallymark.io.retries import retry

HEADER_BYTES = 1 << 14
"""How much of a file is read to see what it begins with."""
LARGEST_TEXT = 1 << 32
"""Bytes of the largest text file that is read."""
LINE_END = re.compile(r"\r\n?|\n")
UNKNOWN = "\ufffd"
"""What stands in place of characters that cannot be read."""
UTF8 = "utf-8-sig"
ENCODINGS = {
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
    b"": UTF8,
}
"""Encodings by the byte order mark at the beginning of a file, the longest first."""


def decode(data: bytes, *, whole: bool = True) -> str | None:
    """The text of a file, with U+FFFD for bytes that are not UTF-8; None if it is no text: it has NUL characters.

    whole: whether the data end where the file does, and not within a character.
    """
    encoding = next(encoding for mark, encoding in ENCODINGS.items() if data.startswith(mark))
    errors = "replace" if encoding == UTF8 else "strict"
    try:
        # the whole at once where possible: it is faster
        text = data.decode(encoding, errors) if whole else codecs.getincrementaldecoder(encoding)(errors).decode(data)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def read_text(
    path: Path, problems: Problems, *, expected: str = "a text file", item: str | None = None, strict: bool = False
) -> str | None:
    """The text of a file; None, with a problem, if it cannot be read or is no text.

    expected: what the file should be. item: whose annotations it has, if it is about one item only.
    strict: whether bytes that are not UTF-8 are a problem; in either case they become U+FFFD.
    """

    def refuse(kind: str, found: str, remedy: str, line: int | None = None) -> None:
        problems.add(Problem(kind, str(path), found, expected, remedy, line=line, item=item))

    try:
        place = packed_table(path) or path
        if (size := file_status(place)[0]) > LARGEST_TEXT:
            refuse("too_large", f"{size:,} bytes", f"split it: texts are read up to {LARGEST_TEXT:,} bytes")
            return None
        data = retry(lambda: read_bytes(place))
    except OSError as error:
        remedy = error.remedy if isinstance(error, BadArchive | NotRegular) else "check the file"
        refuse(UNREADABLE, (error.strerror or type(error).__name__).lower(), remedy)
        return None
    text = decode(data)
    if text is None:
        refuse("encoding", "binary data", "save the file as UTF-8 text, or remove it")
    elif strict and UNKNOWN in text and (at := _first_invalid(data)) is not None:
        line = data.count(b"\n", 0, at) + 1
        refuse("encoding", f"byte 0x{data[at]:02x}, which is not UTF-8", "save the file as UTF-8 text", line)
    return text


def _first_invalid(data: bytes) -> int | None:
    """The position of the first byte that is not UTF-8."""
    try:
        data.decode(UTF8)
    except UnicodeDecodeError as error:
        return error.start
    return None


def read_lines(
    path: Path, problems: Problems, *, expected: str = "a text file", item: str | None = None
) -> list[tuple[int, str]] | None:
    """The non-blank lines of a text file as (line number, text); None, with a problem, if it cannot be read."""
    text = read_text(path, problems, expected=expected, item=item)
    if text is None:
        return None
    return [(line, row) for line, row in enumerate(LINE_END.split(text), start=1) if row.strip()]


def beginning(path: Path) -> str | None:
    """What a text file begins with; None if it cannot be opened, or is no text."""

    def read() -> bytes:
        with open_file(path) as file:
            return file.read(HEADER_BYTES)

    try:
        return decode(retry(read), whole=False)
    except OSError:
        return None


def first_line(path: Path) -> str:
    """The first line of any file, without its line end; empty if the file cannot be opened, or is no text."""
    return LINE_END.split(beginning(path) or "", maxsplit=1)[0]
