"""Reading text files of annotations line by line, and the error of an object that cannot be used."""

from __future__ import annotations

import re
from pathlib import Path

from tallymark.core.problems import Problem, Problems
from tallymark.io.archives import open_file, packed_table, read_bytes

UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
"""Byte order marks of UTF-16 text."""
LINE_END = re.compile(r"\r\n?|\n")
HEADER_BYTES = 1 << 14
"""How much of a file is read to inspect its first line."""


class ParseError(Exception):
    """An object that cannot be used: the kind of problem, what was found, what was expected, and a remedy."""

    def __init__(self, kind: str, found: str, expected: str, remedy: str) -> None:
        super().__init__(found)
        self.kind = kind
        self.found = found
        self.expected = expected
        self.remedy = remedy

    def at(self, file: Path, line: int | None, item: str | None = None) -> Problem:
        """This error as a problem with its file, line and item."""
        return Problem(self.kind, str(file), self.found, self.expected, self.remedy, line=line, item=item)


def read_text(path: Path, problems: Problems) -> str | None:
    """The text of a UTF-8 file; invalid bytes become U+FFFD. None, with a problem, if the file is not such text."""
    try:
        data = read_bytes(packed_table(path) or path)
    except OSError as error:
        found = (error.strerror or type(error).__name__).lower()
        problems.add(Problem("unreadable", str(path), found, "a text file", "check the file"))
        return None
    if data.startswith(UTF16_BOMS) or b"\0" in data:
        found = "UTF-16 text" if data.startswith(UTF16_BOMS) else "a NUL byte"
        problems.add(Problem("encoding", str(path), found, "UTF-8 text", "save the file as UTF-8 text"))
        return None
    return data.decode("utf-8-sig", "replace")


def first_line(path: Path) -> str:
    """The first line of any file, without its line end; empty if the file cannot be opened."""
    try:
        with open_file(path) as file:
            return file.readline(HEADER_BYTES).decode("utf-8-sig", "replace").rstrip("\r\n")
    except OSError:
        return ""


def read_lines(path: Path, problems: Problems) -> list[tuple[int, str]] | None:
    """The non-blank lines of a text file as (line number, text); None, with a problem, if it cannot be read."""
    text = read_text(path, problems)
    if text is None:
        return None
    return [(line, row) for line, row in enumerate(LINE_END.split(text), start=1) if row.strip()]


def parse_float(text: str) -> float:
    """The number in a text; nan if it is not a number. Underscores, as in `1_000`, are not accepted."""
    try:
        return float(text) if "_" not in text else float("nan")
    except ValueError:
        return float("nan")
