"""Slow and obvious readers of truth and submission files, to compare with: no shared code, no speed, no messages.

They read what is clearly right, and raise `ValueError` for anything else; a file that Tallymark accepts must be
readable here too, with the same objects.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable
from typing import NamedTuple

BLANKS = " \t\r\n\f\v"


class Unsure(Exception):
    """The file may be read in more than one way; nothing can be compared."""


class Line(NamedTuple):
    """A row of a table: its line in the file, its id, and its objects as tuples of numbers and words."""

    line: int
    id: str
    objects: list[tuple[object, ...]]


def read_cells(data: bytes) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header, and each row with its line. One line is one row."""
    text = data.decode("utf-8-sig")
    text = text.replace("\r\n", "\n") if "\n" in text else text.replace("\r", "\n")
    header: list[str] = []
    rows = []
    for line, row in enumerate(text.split("\n"), start=1):
        if line > 1 and not row.strip(BLANKS):
            continue
        fields = [cell.strip(BLANKS) for cell in _fields(row)]
        if line == 1:
            header = fields
        else:
            rows.append((line, fields))
    return header, rows


def _fields(row: str) -> list[str]:
    if '"' not in row:
        return row.split(",")
    if "\r" in row:
        raise Unsure
    try:
        return next(csv.reader([row], strict=True, skipinitialspace=True))
    except csv.Error:
        return []  # fewer cells than the header has


def tokens(cell: str) -> list[str]:
    return re.findall(f"[^{BLANKS}]+", cell)


def number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def groups(cell: str, width: int, word: bool = False) -> list[tuple[object, ...]]:
    """The records of a prediction string."""
    found = tokens(cell)
    if len(found) % width:
        raise ValueError(cell)
    records: list[tuple[object, ...]] = []
    for at in range(0, len(found), width):
        record = found[at : at + width]
        last: list[object] = [record.pop()] if word else []
        records.append((*map(number, record), *last))
    return records


def _rows(
    data: bytes, id_names: tuple[str, ...], parse: Callable[[dict[str, str]], list[tuple[object, ...]]]
) -> list[Line]:
    header, rows = read_cells(data)
    id_name = next(name for name in id_names if name in header)
    lines = []
    for line, fields in rows:
        if len(fields) != len(header):
            raise ValueError(line)
        cells = dict(zip(header, fields, strict=True))
        lines.append(Line(line, cells[id_name], parse(cells)))
    return lines


def _runs(cells: dict[str, str]) -> list[tuple[object, ...]]:
    values = [int(token) for token in tokens(cells["EncodedPixels"])]
    pairs = list(zip(values[::2], values[1::2], strict=True))
    return [tuple(pairs)] if pairs else []


def _labels(cells: dict[str, str]) -> list[tuple[object, ...]]:
    names = [name for name in cells if name not in ("image_name", "img_name")]
    ranked = [f"pred{rank}" for rank in (1, 2, 3)]
    texts = [cells[name] for name in ranked] if len(names) > 1 else tokens(cells[names[0]])
    return [(int(text),) for text in texts]


def _box(cells: dict[str, str]) -> list[tuple[object, ...]]:
    cell = cells["bbox"]
    if not cell:
        return []
    if cell[0] != "[" or cell[-1] != "]":
        raise ValueError(cell)
    box = tuple(number(part.strip()) for part in cell[1:-1].split(","))
    if len(box) != 4:
        raise ValueError(cell)
    return [box]


def _call(cells: dict[str, str]) -> list[tuple[object, ...]]:
    if "timestamp" in cells:
        return [(number(cells["timestamp"]), cells.get("label", ""))]
    return [((number(cells["start"]) + number(cells["end"])) / 2, cells.get("label", ""))]


def _cuboids(cells: dict[str, str]) -> list[tuple[object, ...]]:
    """Of the truth: with or without a confidence."""
    width = 9 if len(tokens(cells["PredictionString"])) % 8 else 8
    return groups(cells["PredictionString"], width, word=True)


def read_results(data: bytes) -> list[Line]:
    """A nuScenes results file: each sample and the names of its detections."""
    results = json.loads(data.decode("utf-8-sig"))["results"]
    return [Line(0, token, [(row["detection_name"],) for row in rows]) for token, rows in results.items()]


SUBMISSION: dict[str, Callable[[bytes], list[Line]]] = {
    "wheat": lambda data: _rows(data, ("image_id",), lambda cells: groups(cells["PredictionString"], 5)),
    "upcalls": lambda data: _rows(data, ("filename",), _call),
    "food": lambda data: _rows(data, ("image_name", "img_name"), _labels),
    "lyft": lambda data: _rows(data, ("Id",), lambda cells: groups(cells["PredictionString"], 9, word=True)),
    "ships": lambda data: _rows(data, ("ImageId",), _runs),
}
TRUTH: dict[str, Callable[[bytes], list[Line]]] = {
    "wheat": lambda data: _rows(data, ("image_id",), _box),
    "upcalls": lambda data: _rows(data, ("filename",), _call),
    "food": lambda data: _rows(data, ("image_name", "img_name"), lambda cells: [(int(cells["label"]),)]),
    "lyft": lambda data: _rows(data, ("Id",), _cuboids),
    "ships": lambda data: _rows(data, ("ImageId",), _runs),
}


def by_item(lines: list[Line]) -> dict[str, list[tuple[object, ...]]]:
    """The objects of each item, in the order of the file."""
    items: dict[str, list[tuple[object, ...]]] = {}
    for line in lines:
        items.setdefault(line.id, []).extend(line.objects)
    return items
