"""The lists of a COCO file, each object with its line. What precedes a syntax error can still be read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tallymark.core.problems import Problem, Problems, clip
from tallymark.io.json_text import (
    REMEDY,
    BadJson,
    RepeatedKey,
    decode_value,
    line_at,
    read_json_text,
    skip_blanks,
)
from tallymark.io.texts import beginning

BEGINNING = re.compile(r'\s*\{\s*"(?:info|licenses|images|annotations|categories|type)"')
"""How a COCO file begins, whichever list comes first."""
NAMED_LISTS = re.compile(r'\s*\{.*"(?:images|annotations|categories)"\s*:\s*\[', re.S)
"""What the beginning of a COCO file has in it if other keys come first."""
LISTS = ("images", "annotations", "categories")

Json = dict[str, object]
"""A JSON object."""


@dataclass
class JsonList:
    """The values of a list, and the line on which each begins."""

    values: list[object] = field(default_factory=list)
    line: list[int] = field(default_factory=list)


def may_be_coco(path: Path) -> bool:
    """Whether a file has the name or the beginning of a COCO file."""
    if path.name.startswith("instances"):
        return True
    text = beginning(path) or ""
    return BEGINNING.match(text) is not None or NAMED_LISTS.match(text) is not None


def read_lists(path: Path, problems: Problems) -> dict[str, JsonList] | None:
    """The lists of a COCO file by name. A syntax error is a problem; the objects before it are returned."""
    text = read_json_text(path, problems, expected="a COCO file")
    if text is None:
        return None
    lists: dict[str, JsonList] = {}

    def report(bad: BadJson) -> None:
        remedy = "keep one of the two" if isinstance(bad, RepeatedKey) else REMEDY
        problems.add(Problem("bad_json", str(path), bad.found, "JSON", remedy, line=bad.line))

    reader = _Reader(text, lists, report)
    try:
        reader.read()
    except BadJson as bad:
        report(bad)
    if "images" in lists:
        _report_others(reader.others, text, path, problems)
    return lists


def _report_others(others: dict[str, int], text: str, path: Path, problems: Problems) -> None:
    """Report keys whose values should be lists and are not, given the position of each value."""
    for key, position in others.items():
        found = f"{key}: {clip(text[position : position + 60])}"
        remedy = "write it as a list, or remove it"
        line = line_at(text, position)
        problems.add(Problem("bad_json", str(path), found, f"a list of {key}", remedy, line=line))


@dataclass
class _Reader:
    """Fills `lists` from the text of a file. others: the positions of values that should be lists and are not."""

    text: str
    lists: dict[str, JsonList]
    report: Callable[[BadJson], None]
    others: dict[str, int] = field(default_factory=dict)

    def read(self) -> None:
        """Read the outer object, and nothing after it."""
        text = self.text
        seen: set[object] = set()
        position = self._expect(0, "{")
        more = True
        while more and text[position : position + 1] != "}":
            start = position
            key, position = decode_value(text, position)
            if not isinstance(key, str):
                raise BadJson(f"{clip(text[start : start + 60])} as a key", line_at(text, start))
            if key in seen:
                self.report(RepeatedKey(f"the key {clip(key)} twice", line_at(text, start)))
            seen.add(key)
            position = self._expect(position, ":")
            if key in LISTS and text[position : position + 1] == "[":
                position = self._read_list(position, self.lists.setdefault(key, JsonList()))
            else:
                start = position
                value, position = self._value(position)
                if key in LISTS and value is not None:
                    self.others[key] = start
            position = skip_blanks(text, position)
            more = text[position : position + 1] == ","
            position = skip_blanks(text, position + more)
        position = self._expect(position, "}")
        if position < len(text):
            raise BadJson(f"{clip(text[position : position + 60])} after the end", line_at(text, position))

    def _read_list(self, position: int, rows: JsonList) -> int:
        """Append the values of a list to `rows`; returns the position after the list."""
        text = self.text
        line = 1
        counted = 0
        position = self._expect(position, "[")
        more = True
        while more and text[position : position + 1] != "]":
            line += text.count("\n", counted, position)
            counted = position
            value, position = self._value(position, line)
            if value is not _AMBIGUOUS:
                rows.values.append(value)
                rows.line.append(line)
            position = skip_blanks(text, position)
            more = text[position : position + 1] == ","
            position = skip_blanks(text, position + more)
        return self._expect(position, "]")

    def _value(self, position: int, line: int | None = None) -> tuple[object, int]:
        """The value at a position, and the position after it; an object with a key twice is reported and ambiguous."""
        try:
            return decode_value(self.text, position, line=line)
        except RepeatedKey as bad:
            self.report(bad)
            return _AMBIGUOUS, decode_value(self.text, position, [])[1]

    def _expect(self, position: int, mark: str) -> int:
        """The position after a punctuation mark and the whitespace around it."""
        position = skip_blanks(self.text, position)
        if self.text[position : position + 1] != mark:
            empty = not self.text.strip()
            raise BadJson("an empty file" if empty else f"no '{mark}'", line_at(self.text, position))
        return skip_blanks(self.text, position + 1)


_AMBIGUOUS = object()
