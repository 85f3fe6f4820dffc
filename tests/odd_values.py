"""Odd values for every field of a JSON document: what other programs, faults and bad luck put there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

DEEP = 100_000
HOLE = "the value goes here"
ODD = {
    "null": "null",
    "true": "true",
    "zero": "0",
    "negative": "-1",
    "fraction": "0.5",
    "large": "9223372036854775808",
    "huge": "1e308",
    "infinite": "1e999",
    "NaN": "NaN",
    "Infinity": "-Infinity",
    "digits": "9" * 5000,
    "many digits": "9" * 4000,
    "word": '"x"',
    "number as text": '"1"',
    "empty text": '""',
    "blank": '" \\n"',
    "surrogate": '"a\\ud800b"',
    "NUL": '"a\\u0000b"',
    "escape": '"\\u001b[31m"',
    "long text": '"' + "x" * 5000 + '"',
    "path": '"../../../etc/passwd"',
    "list": "[]",
    "list of null": "[null]",
    "object": "{}",
    "other object": '{"a": {"b": [1, null, "x"]}}',
    "deep list": "[" * DEEP + "]" * DEEP,
    "deep object": '{"a":' * DEEP + "0" + "}" * DEEP,
    "rather deep": "[" * 900 + "]" * 900,
    "key twice": '{"a": 1, "a": 2}',
    "cut": '[1, "',
}
"""JSON texts by their names."""
DAMAGE = {
    "empty": b"",
    "blank": b" \n",
    "null": b"null",
    "number": b"5",
    "text": b'"x"',
    "list": b"[]",
    "object": b"{}",
    "NUL": b"{\0}",
    "BOM": b"\xef\xbb\xbf{}",
    "UTF-16": "{}".encode("utf-16"),
    "latin": b'{"\xe9": 1}',
    "binary": bytes(range(256)) * 8,
    "two": b"{}{}",
    "deep": b"[" * DEEP,
    "word": b"hello",
}
"""Files that are no such document at all."""


def variants(document: Any, odd: dict[str, str] = ODD, below: tuple[str | int, ...] = ()) -> Iterator[tuple[str, str]]:
    """The document with an odd value in place of each of its values, without each key, and with each key twice.

    below: the place from which on values are replaced. Values that take long to parse are put into few places.
    """
    for path in paths(_at(document, below), below):
        quick = {name: text for name, text in odd.items() if not name.startswith("deep") or path[-1:] in ((), (0,))}
        where = "/".join(map(str, path))
        for name, value in quick.items():
            yield f"{where}={name}", _text(_with(document, path, HOLE)).replace(json.dumps(HOLE), value)
        if path and isinstance(path[-1], str):
            yield f"{where} missing", _text(_with(document, path, None, drop=True))
            key = json.dumps(path[-1])
            doubled = _with(document, path, HOLE)
            yield f"{where} twice", _text(doubled).replace(json.dumps(HOLE), f"{_text(_at(document, path))}, {key}: 0")


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The places of all values in a document; of a list, those in its first one only."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*path, key))
    elif isinstance(value, list) and value:
        yield from paths(value[0], (*path, 0))


def _at(document: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def _with(document: Any, path: tuple[str | int, ...], value: Any, *, drop: bool = False) -> Any:
    if not path:
        return value
    changed = deepcopy(document)
    inner = _at(changed, path[:-1])
    if drop:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return changed


def _text(document: Any) -> str:
    return json.dumps(document)
