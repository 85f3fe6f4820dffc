"""What is in a model file, before it is run: its parts are listed without the package `onnx`, which prediction lacks.

A model file is data from elsewhere. One that asks for other files, holds weights that are no numbers, or may run for
ever is refused before ONNX Runtime sees it.

The format is protobuf: numbered fields, each a number or a length with so many bytes, of which some are messages of
fields again (https://protobuf.dev/programming-guides/encoding, https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tallymark.core.problems import BadInput, Problem
from tallymark.io.regular import require_regular

MODEL_SUFFIX = ".onnx"
MAX_BYTES = 2 << 30
"""Protobuf takes no larger files."""
MAX_FIELDS = 1_000_000
"""A network of a thousand layers has about 50,000."""
MAX_DEPTH = 50
"""Messages within messages: a tensor in a subgraph of a subgraph has a depth of 9."""
ENDLESS = (b"Loop", b"Scan")
"""Operators that may run for ever; no network of this package has any."""
REMEDY = "use a model.onnx that training wrote"

Field = tuple[int, int | memoryview]
"""The number of a field, and its value."""
MESSAGES: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
"""The fields of each message that are messages themselves, as far as they matter here."""
METADATA = 14
"""The field of a model that has an entry of its metadata: the key is field 1 of it, the text field 2."""
OPERATOR = 4
"""The field of a node that names its operator."""
TYPE, RAW, EXTERNAL, LOCATION = 2, 9, 13, 14
"""Fields of a tensor."""
HALF, BFLOAT, SINGLE, DOUBLE = ("<u2", 0x7C00), ("<u2", 0x7F80), ("<u4", 0x7F80_0000), ("<u8", 0x7FF0_0000_0000_0000)
"""Floating-point numbers as bits, and their exponent: all ones where they are not finite. NumPy is slow on halves."""
LISTED_BITS = {4: SINGLE, 10: DOUBLE}
"""Fields of a tensor that list floating-point numbers."""
RAW_BITS: dict[object, tuple[str, int]] = {1: SINGLE, 10: HALF, 11: DOUBLE, 16: BFLOAT}
"""What the raw bytes of a tensor are, by its type."""


def read_model(path: Path) -> bytes:
    """The bytes of a model file; a `BadInput` where they are not those of a network that can be trusted to run."""
    data = b""
    try:
        found = "more than 2 GB" if require_regular(path).st_size > MAX_BYTES else ""
        if not found:
            data = path.read_bytes()
            found = _objection(memoryview(data))
    except OSError as error:
        found = (error.strerror or str(error)).lower()
    except ValueError as error:
        found = str(error)
    if found:
        raise BadInput(Problem("bad_model", str(path), found, "a model of this package", REMEDY))
    return data


def _objection(data: memoryview) -> str:
    """What is wrong with a model; nothing if it may be run."""
    graphs = False
    for kind, message in _messages(data):
        graphs = graphs or kind == "graph"
        if kind == "node":
            operator = next((value for number, value in message if number == OPERATOR), b"")
            if operator in ENDLESS:
                return f"the operator {str(operator, 'ascii')}, which may run for ever"
        if kind == "tensor" and (wrong := _tensor_objection(message)):
            return wrong
    return "" if graphs else "no network in it"


def _messages(data: memoryview) -> Iterator[tuple[str, list[Field]]]:
    """All messages of a model that matter, each with its fields."""
    count = 0
    waiting = [("model", data, 0)]
    while waiting:
        kind, part, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise ValueError(f"graphs within graphs, deeper than {MAX_DEPTH}")
        fields = []
        for field in _fields(part):
            fields.append(field)
            count += 1
            if count > MAX_FIELDS:
                raise ValueError(f"more than {MAX_FIELDS} entries")
        inner = MESSAGES[kind]
        for number, value in fields:
            if number in inner and isinstance(value, memoryview):
                waiting.append((inner[number], value, depth + 1))
        yield kind, fields


def _fields(data: memoryview) -> Iterator[Field]:
    """The fields of a message, in order."""
    for number, value, _ in _spans(data):
        yield number, value


def _spans(data: memoryview) -> Iterator[tuple[int, int | memoryview, int]]:
    """The fields of a message, in order, each with the position of the byte after it."""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        wire = key & 7
        if wire == 0:
            number, at = _varint(data, at)
            yield key >> 3, number, at
            continue
        length = {1: 8, 5: 4}.get(wire)
        if wire == 2:
            length, at = _varint(data, at)
        if length is None:
            raise ValueError("not a model")
        if at + length > end:
            raise ValueError("not a model, or only a part of one")
        yield key >> 3, data[at : at + length], at + length
        at += length


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """A number of seven bits per byte, the lowest first, and where it ends."""
    if at < len(data) and data[at] < 128:  # most are
        return data[at], at + 1
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise ValueError("not a model, or only a part of one")
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
    raise ValueError("not a model")


def _tensor_objection(fields: list[Field]) -> str:
    """What is wrong with a tensor: weights in another file, or that are no numbers."""
    kind = next((value for number, value in fields if number == TYPE), 0)
    if any(number == EXTERNAL or (number == LOCATION and value) for number, value in fields):
        return "weights in another file"
    for number, value in fields:
        if isinstance(value, memoryview) and not _finite(kind, number, value):
            return "weights that are not finite numbers"
    return ""


def _finite(kind: object, number: int, value: memoryview) -> bool:
    """Whether the numbers in a field of a tensor are finite; a field that holds none is."""
    bits_of = RAW_BITS.get(kind) if number == RAW else LISTED_BITS.get(number)
    if bits_of is None:
        return True
    dtype, exponent = bits_of
    bits = np.frombuffer(value[: len(value) - len(value) % np.dtype(dtype).itemsize], dtype)
    return not ((bits & exponent) == exponent).any()


def metadata_text(data: bytes, key: str) -> str:
    """The text in the metadata of a model under a key; empty if there is none."""
    texts = (_entry(number, value) for number, value in _fields(memoryview(data)))
    return next((text for name, text in texts if name == key), "")


def with_metadata(data: bytes, key: str, text: str) -> bytes:
    """The bytes of a model with another text in its metadata under a key; all else stays as it is."""
    view = memoryview(data)
    kept, start = [], 0
    for number, value, end in _spans(view):
        if _entry(number, value)[0] != key:
            kept.append(view[start:end])
        start = end
    return b"".join([*kept, _part(METADATA, _part(1, key.encode()) + _part(2, text.encode()))])


def _entry(number: int, value: int | memoryview) -> tuple[str, str]:
    """Key and text of a field that is an entry of the metadata; empty for any other field, or one that is damaged."""
    if number != METADATA or not isinstance(value, memoryview):
        return "", ""
    try:
        parts = {part: str(text, "utf-8") for part, text in _fields(value) if isinstance(text, memoryview)}
    except ValueError:
        return "", ""
    return parts.get(1, ""), parts.get(2, "")


def _part(number: int, content: bytes) -> bytes:
    """A field that holds bytes."""
    return _as_varint(number << 3 | 2) + _as_varint(len(content)) + content


def _as_varint(number: int) -> bytes:
    parts = [number >> shift & 127 for shift in range(0, max(number.bit_length(), 1), 7)]
    return bytes([*(part | 128 for part in parts[:-1]), parts[-1]])
