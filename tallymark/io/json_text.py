"""JSON of any origin: what cannot be parsed, or not for sure, is a `BadJson` with its line; never another exception."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

from tallymark.core.problems import Problem, Problems, clip
from tallymark.io.texts import UNKNOWN, beginning, read_text

ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)", re.S)
SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
NESTED = "lists or objects nested too deep"
REMEDY = "download or write the file again: it may be truncated"


class BadJson(ValueError):
    """A text that is not JSON: what was found, and the line where that is known."""

    def __init__(self, found: str, line: int | None = None) -> None:
        super().__init__(found)
        self.found = found
        self.line = line


class RepeatedKey(BadJson):
    """An object with a key that occurs twice: one of the two values would be lost."""


def parse_json(text: str, repeated: list[str] | None = None) -> object:
    """The value of a JSON text, else a `BadJson`. NaN and Infinity are accepted: whoever reads numbers checks them.

    repeated: is filled with keys that occur twice in an object, the last of which counts; by default that is an error.
    """
    lone = lone_surrogates(text)
    if lone:
        raise BadJson(half_character(text, lone[0]), line_at(text, lone[0]))
    value, end = decode_value(text, skip_blanks(text, 0), repeated)
    if (end := skip_blanks(text, end)) < len(text):
        raise BadJson("extra data", line_at(text, end))
    return value


def read_json(path: Path, problems: Problems, *, expected: str = "JSON", remedy: str = REMEDY) -> object | None:
    """The value in a JSON file; None, with a problem, if there is none. A file with `null` has none either."""
    text = read_json_text(path, problems, expected=expected)
    if text is None:
        return None
    try:
        value = parse_json(text)
    except BadJson as bad:
        problems.add(Problem("bad_json", str(path), bad.found, expected, remedy, line=bad.line))
        return None
    if value is None:
        problems.add(Problem("bad_json", str(path), "null", expected, remedy))
    return value


def begins_as_json(path: Path) -> bool:
    """Whether a file begins like a JSON document: with a list or an object."""
    return (beginning(path) or "").lstrip().startswith(("{", "["))


def read_json_text(path: Path, problems: Problems, *, expected: str = "JSON") -> str | None:
    """The text of a JSON file; None, with a problem, if it has none. Invalid bytes and half characters are problems."""
    text = read_text(path, problems, expected=expected, strict=True)
    return None if text is None else without_lone_surrogates(text, path, problems)


def decode_value(
    text: str, position: int, repeated: list[str] | None = None, *, line: int | None = None
) -> tuple[object, int]:
    """The value that begins at a position, and the position after it; else a `BadJson`.

    repeated: as for `parse_json`; by default a key that occurs twice is a `RepeatedKey`.
    line: of the position, from whoever reads many values: counting from the beginning for each takes quadratic time.
    """
    try:
        return (_DECODER if repeated is None else _lenient_decoder(repeated)).raw_decode(text, position)
    except json.JSONDecodeError as error:
        raise BadJson("an empty file" if not text.strip() else error.msg.lower(), error.lineno) from None
    except BadJson as bad:
        raise type(bad)(bad.found, line_at(text, position) if line is None else line) from None
    except RecursionError:
        raise BadJson(NESTED, line_at(text, position)) from None
    except ValueError:  # Python refuses to convert longer ones, which takes quadratic time
        digits = sys.get_int_max_str_digits()
        number = re.compile(rf"\d{{{digits + 1}}}").search(text, position)
        at = position if number is None else number.start()
        raise BadJson(f"an integer of more than {digits:,} digits", line_at(text, at)) from None


def lone_surrogates(text: str) -> list[int]:
    """Where a JSON text has an escaped half of a character, as \\ud800, that no text file can hold."""
    if SURROGATE_ESCAPE.search(text) is None:
        return []
    lone: list[int] = []
    high = None  # the high surrogate right before, which a low one completes
    for escape in ESCAPE.finditer(text):
        code = int(escape[1], 16) if escape[1] else 0
        if high is not None and (not 0xDC00 <= code < 0xE000 or high.end() != escape.start()):
            lone.append(high.start())
            high = None
        if 0xD800 <= code < 0xDC00:
            high = escape
        elif 0xDC00 <= code < 0xE000 and high is None:
            lone.append(escape.start())
        else:
            high = None
    return lone if high is None else [*lone, high.start()]


def without_lone_surrogates(text: str, path: Path, problems: Problems) -> str:
    """The text with U+FFFD in place of each half of a character, all of which are problems."""
    lone = lone_surrogates(text)
    expected, remedy = "whole characters", "write the file again, in UTF-8"
    problems.add_each(
        "encoding",
        str(path),
        lone,
        lambda at: Problem("encoding", str(path), half_character(text, at), expected, remedy, line=line_at(text, at)),
    )
    pieces = [text[start + 6 : end] for start, end in zip([-6, *lone], [*lone, len(text)], strict=True)]
    return UNKNOWN.join(pieces) if lone else text


def half_character(text: str, position: int) -> str:
    return f"half a character, {text[position : position + 6]}"


def line_at(text: str, position: int) -> int:
    """The line of a position, from 1 on."""
    return text.count("\n", 0, position) + 1


def show(value: object) -> str:
    """Any value of a JSON file, shortened for a message."""
    try:
        return clip(str(value))
    except (RecursionError, ValueError):
        return "a value nested too deep, or too long a number"


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    keys = dict(pairs)
    if len(keys) < len(pairs):
        raise RepeatedKey(f"the key {clip(_repeated(pairs)[0])} twice in an object")
    return keys


def _lenient_decoder(repeated: list[str]) -> json.JSONDecoder:
    def note_repeated(pairs: list[tuple[str, object]]) -> dict[str, object]:
        keys = dict(pairs)
        if len(keys) < len(pairs):
            repeated.extend(_repeated(pairs))
        return keys

    return json.JSONDecoder(object_pairs_hook=note_repeated)


def _repeated(pairs: list[tuple[str, object]]) -> list[str]:
    return [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]


def skip_blanks(text: str, position: int) -> int:
    return BLANKS.match(text, position).end()  # type: ignore[union-attr]  # it matches the empty string too


BLANKS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys)
