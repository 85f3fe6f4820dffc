"""The lists of a COCO file, each object with its line. What precedes a syntax error can still be read."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from tallymark.core.problems import Problem, Problems, clip
from tallymark.formats.parsing import read_text
from tallymark.io.archives import open_file

BEGINNING = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:info|licenses|images|annotations|categories|type)"')
"""How a COCO file begins, whichever list comes first."""
LISTS = ("images", "annotations", "categories")
WHITESPACE = re.compile(r"[ \t\r\n]*")
DECODER = json.JSONDecoder()

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
    try:
        with open_file(path) as file:
            return BEGINNING.match(file.read(1 << 10)) is not None
    except OSError:
        return False


def read_lists(path: Path, problems: Problems) -> dict[str, JsonList] | None:
    """The lists of a COCO file by name. A syntax error is a problem; the objects before it are returned."""
    text = read_text(path, problems)
    if text is None:
        return None
    lists: dict[str, JsonList] = {}
    try:
        others = _parse_object(text, lists)
        if "images" in lists:
            _report_others(others, text, path, problems)
    except json.JSONDecodeError as error:
        remedy = "download or write the file again: it may be truncated"
        problems.add(Problem("bad_json", str(path), error.msg.lower(), "JSON", remedy, line=error.lineno))
    except RecursionError:
        problems.add(Problem("bad_json", str(path), "lists nested too deep", "a COCO file", "check the file"))
    return lists


def _report_others(others: dict[str, int], text: str, path: Path, problems: Problems) -> None:
    """Report keys whose values should be lists and are not, given the position of each value."""
    for key, position in others.items():
        found = f"{key}: {clip(text[position : position + 60])}"
        remedy = "write it as a list, or remove it"
        line = text.count("\n", 0, position) + 1
        problems.add(Problem("bad_json", str(path), found, f"a list of {key}", remedy, line=line))


def _parse_object(text: str, lists: dict[str, JsonList]) -> dict[str, int]:
    """Fill `lists` from the outer object; returns the positions of values other than lists or null."""
    others: dict[str, int] = {}
    position = _expect(text, 0, "{")
    more = True
    while more and text[position : position + 1] != "}":
        key, position = DECODER.raw_decode(text, position)
        position = _expect(text, _skip(text, position), ":")
        if key in LISTS and text[position : position + 1] == "[":
            position = _parse_list(text, position, lists.setdefault(key, JsonList()))
        else:
            start = position
            value, position = DECODER.raw_decode(text, position)
            if key in LISTS and value is not None:
                others[key] = start
        position = _skip(text, position)
        more = text[position : position + 1] == ","
        position = _skip(text, position + more)
    _expect(text, position, "}")
    return others


def _parse_list(text: str, position: int, rows: JsonList) -> int:
    """Append the values of a list to `rows`; returns the position after the list."""
    line = 1
    counted = 0
    position = _expect(text, position, "[")
    more = True
    while more and text[position : position + 1] != "]":
        line += text.count("\n", counted, position)
        counted = position
        value, position = DECODER.raw_decode(text, position)
        rows.values.append(value)
        rows.line.append(line)
        position = _skip(text, position)
        more = text[position : position + 1] == ","
        position = _skip(text, position + more)
    return _expect(text, position, "]")


def _skip(text: str, position: int) -> int:
    """The position after whitespace."""
    blanks = WHITESPACE.match(text, position)
    return position if blanks is None else blanks.end()


def _expect(text: str, position: int, mark: str) -> int:
    """The position after a punctuation mark and the whitespace around it."""
    position = _skip(text, position)
    if text[position : position + 1] != mark:
        raise json.JSONDecodeError(f"no '{mark}'", text, position)
    return _skip(text, position + 1)
