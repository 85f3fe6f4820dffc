"""Slow and obvious readers of annotation files: how many objects a file has, or `ValueError` if that is not clear."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from xml.etree import ElementTree

from tallymark.challenges.upcalls.script.metrics import is_label_column, is_upcall
from tests.fuzz.slow_tables import TRUTH, Unsure, number, read_cells

IGNORED_BY_KITTI = {"dontcare", "misc", "on_road_obstacle", "other_mover", "stroller"}


BYTE_ORDER_MARKS = {
    b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16",
}  # fmt: skip
"""The longest first, since one begins as another does."""


def _text(data: bytes) -> str:
    """Bytes that are not UTF-8 are as good as any other in a label, and no number."""
    encoding = next((name for mark, name in BYTE_ORDER_MARKS.items() if data.startswith(mark)), None)
    text = data.decode("utf-8-sig", "replace") if encoding is None else data.decode(encoding)
    if "\0" in text:
        raise ValueError("NUL")
    return text


def _lines(data: bytes) -> list[str]:
    return [line for line in re.split(r"\r\n?|\n", _text(data)) if line.strip()]


def coco(data: bytes) -> int:
    document = json.loads(_text(data))
    if "annotations" not in document and "images" in document:
        raise Unsure  # as files of test images are: then `check` says that there is no truth
    return len(document["annotations"])


def yolo(data: bytes) -> int:
    for line in _lines(data):
        values = [number(token) for token in line.split()]
        if len(values) < 5 or min(values) < -0.01:
            raise ValueError(line)
    return len(_lines(data))


def voc(data: bytes) -> int:
    root = ElementTree.fromstring(data)
    if root.tag != "annotation":
        raise ValueError(root.tag)
    return len(root.findall("object"))


def kitti(data: bytes) -> int:
    rows = [line.split() for line in _lines(data)]
    if any(len(row) not in (15, 16) for row in rows):
        raise ValueError(rows)
    return sum(row[0].lower() not in IGNORED_BY_KITTI for row in rows)


def audacity(data: bytes) -> int:
    calls = 0
    for line in _lines(data):
        if not line.startswith("\\"):
            begin, end, *label = line.split("\t", 2)
            number(begin.replace(",", "."))
            number(end.replace(",", "."))
            calls += all(map(is_upcall, label))
    return calls


def raven(data: bytes) -> int:
    header, *rows = [[cell.strip().strip('"') for cell in line.split("\t")] for line in _lines(data)]
    if len(set(header)) < len(header):
        raise Unsure
    calls = {}
    for row in rows:
        if len(row) < len(header):
            raise ValueError(row)
        cells = dict(zip(header, row, strict=False))
        key = cells["Selection"], cells.get("Begin File")
        number(cells["Begin Time (s)"])
        calls.setdefault(key, all(is_upcall(cell) for name, cell in cells.items() if is_label_column(name)))
    return sum(calls.values())


def events(data: bytes) -> int:
    """A table of calls; in other columns than the usual ones there may be labels as well."""
    header, _ = read_cells(data)
    if any(is_label_column(name) for name in header if name != "label"):
        raise Unsure
    return sum(is_upcall(str(call[1])) for line in TRUTH["upcalls"](data) for call in line.objects)


def clips(data: bytes) -> int:
    header, rows = read_cells(data)
    at = header.index("label")
    words = [fields[at].lower() for _, fields in rows if len(fields) == len(header)]
    if len(words) < len(rows) or not {*words} <= {"0", "1", "0.0", "1.0", "yes", "no", "true", "false"}:
        raise ValueError(words)
    return sum(word in ("1", "1.0", "yes", "true") for word in words)


def rows_of(name: str) -> Callable[[bytes], int]:
    """The objects of the official table of a challenge."""

    def read(data: bytes) -> int:
        lines = TRUTH[name](data)
        values = (value for line in lines for one in line.objects for value in one)
        if any(isinstance(value, float) and not math.isfinite(value) for value in values):
            raise ValueError(name)
        return sum(len(line.objects) for line in lines)

    return read
