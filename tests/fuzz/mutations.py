"""Mutations of files: of their bytes, of the lines and cells of a text, of the values of a JSON document.

All are drawn from a `random.Random`, so that a seed stands for a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

TOKENS = (
    "1e308", "-1e308", "1e400", "1e-400", "nan", "inf", "-Infinity", "-0", "1000000000000000000", "9223372036854775807",
    "-9223372036854775808", "9223372036854775808", "99999999999999999999999999", "1" * 5000, "1_0", "0x1", "1,5", "٣",
    "", " ", "\t", ",", ";", '"', '""', "'", "\n", "\r", "\r\n", "\0", "\x1b[31m", "\x1d", "\x85", "\u00a0", "\u2028",
    "\u202e", "\ufeff", "\ufffd", "é", "１", "car", "humpback", "DontCare", "-1", "0", "1", "3.0", "589825", "true",
    "null", "None", "..", "../../x", "/etc/passwd", "a/b", "a\\b", "%s", "{}", "<b>", "&", "=1+1", "-rf", "x" * 3000,
)  # fmt: skip
"""Texts that readers trip over."""
ODD_BYTES = (
    b"\xff",
    b"\xfe\xff",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\x80",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\0",
    b"PK\x03\x04",
)
ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "cp037")
ODD_JSON = (
    "1" * 5000, "-" + "9" * 400, "1e999", "-1e999", "NaN", "Infinity", "-0", "0", "-1", "1", "2", "0.5", "3.0", "1e15",
    "null", "true", "false", '""', '" "', '"\\ud800"', '"\\u0000"', '"a"', '"1"', '"nan"', '"../../x"', "[]", "[[]]",
    "[null]", "{}", '{"a": 1}', "[" * 200 + "]" * 200, "[" * 100_000 + "]" * 100_000, '{"a":' * 5000 + "1" + "}" * 5000,
    f'"{"x" * 3000}"', "9223372036854775808", "[1, 2, 3, 4]", "[0, 0, 0, 0]", '["a"]',
)  # fmt: skip
"""Values as they are written in JSON; some that Python itself cannot write."""
ODD_MARK = "(an odd value)"

Mutation = Callable[[bytes, Random], bytes]


def cut(data: bytes, rng: Random) -> bytes:
    """The beginning of a file, as an interrupted copy leaves it."""
    return data[: rng.randrange(len(data) + 1)]


def flip_bits(data: bytes, rng: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def replace_bytes(data: bytes, rng: Random) -> bytes:
    """Bytes replaced by a nasty text: also deleted, or inserted into."""
    at = rng.randrange(len(data) + 1)
    token = rng.choice((rng.choice(TOKENS).encode(), rng.choice(ODD_BYTES), b"", rng.randbytes(rng.randrange(9))))
    return data[:at] + token + data[at + rng.choice((0, 1, 1, 4, 12)) :]


def repeat_bytes(data: bytes, rng: Random) -> bytes:
    start, end = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
    return data[:end] + data[start:end] * rng.choice((1, 1, 2)) + data[end:]


def zero_bytes(data: bytes, rng: Random) -> bytes:
    """A hole of zeros, as a crashed disk leaves it."""
    start, end = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
    return data[:start] + bytes(end - start) + data[end:]


def concatenate(data: bytes, rng: Random) -> bytes:
    """The file after itself, or after a part of itself."""
    return data + rng.choice((data, cut(data, rng), data[rng.randrange(len(data) + 1) :]))


BYTES: tuple[Mutation, ...] = (cut, flip_bits, replace_bytes, replace_bytes, repeat_bytes, zero_bytes, concatenate)


def in_another_encoding(data: bytes, rng: Random) -> bytes:
    return data.decode("utf-8", "replace").encode(rng.choice(ENCODINGS), "replace")


def with_other_line_ends(data: bytes, rng: Random) -> bytes:
    end = rng.choice((b"\r\n", b"\r", b"\n\n", b"\r\n\n", b" \n", b"\x0b", "\u2028".encode()))
    return data.replace(b"\n", end, rng.choice((1, -1, -1)))


def change_lines(data: bytes, rng: Random) -> bytes:
    """A line deleted, repeated, moved, split, joined with the next, blanked, or replaced by a text."""
    lines = data.split(b"\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(7)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(other, lines[at])
    elif kind == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == 3:
        middle = rng.randrange(len(lines[at]) + 1)
        lines[at : at + 1] = [lines[at][:middle], lines[at][middle:]]
    elif kind == 4:
        lines[at : at + 2] = [b"".join(lines[at : at + 2])]
    elif kind == 5:
        lines[at] = b""
    else:
        lines[at] = rng.choice(TOKENS).encode()
    return b"\n".join(lines)


def change_cells(separators: str) -> Mutation:
    """Cells of a line replaced by nasty texts, deleted, repeated or swapped; `separators` are between them."""
    between = re.compile(f"([{re.escape(separators)}]+)".encode())

    def change(data: bytes, rng: Random) -> bytes:
        lines = data.split(b"\n")
        row = rng.randrange(len(lines))
        parts = between.split(lines[row])
        at = rng.randrange(0, len(parts), 2)
        other = rng.randrange(0, len(parts), 2)
        kind = rng.randrange(6)
        if kind < 3:
            parts[at] = rng.choice(TOKENS).encode()
        elif kind == 3:
            del parts[at : at + 2]
        elif kind == 4:
            parts[at:at] = [parts[other], separators[:1].encode()]
        else:
            parts[at], parts[other] = parts[other], parts[at]
        lines[row] = b"".join(parts)
        return b"\n".join(lines)

    return change


def texts(separators: str) -> tuple[Mutation, ...]:
    """The mutations of a text whose cells have these separators."""
    cells = change_cells(separators)
    return (*BYTES, cells, cells, cells, cells, change_lines, change_lines, with_other_line_ends, in_another_encoding)


def change_values(data: bytes, rng: Random) -> bytes:
    """A value of a JSON document replaced by an odd one, deleted or repeated; a key renamed or repeated."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return data
    holder, key = rng.choice(_places(document) or [({"": document}, "")])
    kind = rng.randrange(10)
    if kind < 7:
        holder[key] = ODD_MARK
        odd = rng.choice(ODD_JSON)
        if isinstance(holder, dict) and kind == 0:  # the same key twice
            odd = f"{odd}, {json.dumps(key)}: {rng.choice(ODD_JSON)}"
        return _dump(document, rng).replace(json.dumps(ODD_MARK), odd).encode("utf-8", "surrogatepass")
    if kind == 7:
        del holder[key]
    elif isinstance(holder, dict):
        holder[rng.choice(TOKENS)] = holder.pop(key)
    else:
        holder.insert(rng.randrange(len(holder) + 1), holder[key])
    return _dump(document, rng).encode("utf-8", "surrogatepass")


def _places(document: Any, deepest: int = 8) -> list[tuple[Any, Any]]:
    """Every value of a document, as its list or dictionary and its key in it."""
    if deepest == 0 or not isinstance(document, dict | list):
        return []
    keys: Sequence[Any] = list(document) if isinstance(document, dict) else range(len(document))
    found = [(document, key) for key in keys]
    return found + [place for key in keys for place in _places(document[key], deepest - 1)]


def _dump(document: Any, rng: Random) -> str:
    return json.dumps(document, indent=rng.choice((None, 0, 1)), ensure_ascii=rng.random() < 0.5)


JSON: tuple[Mutation, ...] = (*(change_values,) * 8, *BYTES, change_lines, in_another_encoding)


def mutate(data: bytes, rng: Random, mutations: Sequence[Mutation] = BYTES) -> bytes:
    """The data after one mutation, or a few."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(mutations)(data, rng)
    return data
