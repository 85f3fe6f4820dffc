"""COCO files as such: their lists of objects with the line of each, and writing one."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tallymark.core.problems import Problem, Problems, clip
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.formats.coco_segmentation import counts_of, encode_counts
from tallymark.formats.entries import read_text
from tallymark.geometry import Boxes, Masks
from tallymark.io.images import image_size
from tallymark.io.media import BadMedia

BEGINNING = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:info|licenses|images|annotations|categories|type)"')
"""How a COCO file begins, whichever list comes first."""
LISTS = ("images", "annotations", "categories")
BLANKS = re.compile(r"[ \t\r\n]*")
DECODER = json.JSONDecoder()


@dataclass
class Rows:
    """The objects of one list, and the line on which each begins."""

    objects: list[Any] = field(default_factory=list)
    line: list[int] = field(default_factory=list)


def may_be_coco(path: Path) -> bool:
    """Whether a file has the name or the beginning of a COCO file."""
    if path.name.startswith("instances"):
        return True
    try:
        with path.open("rb") as file:
            return BEGINNING.match(file.read(1 << 10)) is not None
    except OSError:
        return False


def read_lists(path: Path, problems: Problems) -> dict[str, Rows] | None:
    """The lists of a file's outer object. A fault in the JSON is a problem; what stands before it is read."""
    text = read_text(path, problems)
    if text is None:
        return None
    found: dict[str, Rows] = {}
    try:
        others = _walk(text, found)
        if "images" in found:
            _refuse(others, text, path, problems)
    except json.JSONDecodeError as error:
        expected, remedy = "JSON", "get or write the file again: it may be cut off"
        problems.add(Problem("bad_json", str(path), error.msg.lower(), expected, remedy, line=error.lineno))
    except RecursionError:
        problems.add(Problem("bad_json", str(path), "lists nested too deep", "a COCO file", "check the file"))
    return found


def _refuse(others: dict[str, int], text: str, path: Path, problems: Problems) -> None:
    """Say that these are no lists, given where they stand."""
    for key, at in others.items():
        found, remedy = f"{key}: {clip(text[at : at + 60])}", "write it as a list, or leave it out"
        line = text.count("\n", 0, at) + 1
        problems.add(Problem("bad_json", str(path), found, f"a list of {key}", remedy, line=line))


def _walk(text: str, found: dict[str, Rows]) -> dict[str, int]:
    """Fill `found`, key by key; returns where those stand that should be lists and are not. null is none at all."""
    others: dict[str, int] = {}
    at, again = _after(text, 0, "{"), True
    while again and text[at : at + 1] != "}":
        key, at = DECODER.raw_decode(text, at)
        at = _after(text, _skip(text, at), ":")
        if key in LISTS and text[at : at + 1] == "[":
            at = _walk_list(text, at, found.setdefault(key, Rows()))
        else:
            start = at
            value, at = DECODER.raw_decode(text, at)
            if key in LISTS and value is not None:
                others[key] = start
        at = _skip(text, at)
        again = text[at : at + 1] == ","
        at = _skip(text, at + again)
    _after(text, at, "}")
    return others


def _walk_list(text: str, at: int, rows: Rows) -> int:
    """Add a list's objects to `rows`; returns the place behind it."""
    line, counted = 1, 0
    at, again = _after(text, at, "["), True
    while again and text[at : at + 1] != "]":
        line, counted = line + text.count("\n", counted, at), at
        value, at = DECODER.raw_decode(text, at)
        rows.objects.append(value)
        rows.line.append(line)
        at = _skip(text, at)
        again = text[at : at + 1] == ","
        at = _skip(text, at + again)
    return _after(text, at, "]")


def _skip(text: str, at: int) -> int:
    blanks = BLANKS.match(text, at)
    return at if blanks is None else blanks.end()


def _after(text: str, at: int, mark: str) -> int:
    """The place behind a mark and the blanks around it."""
    at = _skip(text, at)
    if text[at : at + 1] != mark:
        raise json.JSONDecodeError(f"no '{mark}'", text, at)
    return _skip(text, at + 1)


def write_coco_boxes(source: Catalog | Annotations[Boxes], path: str | Path) -> None:
    """Write boxes as a COCO file; of a catalog those items whose truth is known, with their sizes.

    Objects without a class are of the category `object`; confidences become `score`.
    """
    if isinstance(source, Annotations):
        _write(source, None, path)
    else:
        _write(*_known(source), path)


def write_coco_masks(source: Catalog | Annotations[Masks], path: str | Path) -> None:
    """Write masks as a COCO file: compressed run lengths, and the box around each."""
    truth = source if isinstance(source, Annotations) else _known(source)[0]
    height, width = truth.shapes.shape
    _write(truth, np.tile((width, height), (len(truth.items), 1)), path)


def _write(truth: Annotations[Any], sizes: np.ndarray | None, path: str | Path) -> None:
    images = []
    for at, name in enumerate(truth.items.ids):
        stated = {}
        if sizes is not None and np.isfinite(sizes[at]).all():
            stated = dict(zip(("width", "height"), sizes[at].astype(int).tolist(), strict=True))
        images.append({"id": at + 1, "file_name": name, **stated})
    written: dict[str, list[dict[str, Any]]] = {
        "images": images,
        "annotations": _annotations(truth),
        "categories": [{"id": at + 1, "name": name} for at, name in enumerate(truth.classes or ("object",))],
    }
    lists = [
        f'"{name}": [\n' + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]"
        for name, rows in written.items()
    ]
    Path(path).write_text("{\n" + ",\n".join(lists) + "\n}\n", "utf-8", newline="\n")


def _known(catalog: Catalog) -> tuple[Annotations[Any], np.ndarray]:
    """The truth of a catalog's labelled items, and their sizes. An id that is no file name becomes the file's path.

    A size that no table states is that of the picture.
    """
    known = catalog.select(catalog.labelled)
    if known.truth is None:
        raise ValueError("the catalog has no truth to write")
    pairs = zip(known.items.ids, known.files, strict=True)
    names = [name if file is None or file.endswith(name) else file for name, file in pairs]
    sizes = np.full((len(known), 2), np.nan) if known.size is None else known.size.copy()
    for at in np.flatnonzero(np.isnan(sizes).any(axis=1)).tolist():
        if (path := known.path(at)) is not None:
            with suppress(BadMedia):  # a check says so
                sizes[at] = image_size(path)
    return replace(known.truth, items=Items.of(names)), sizes


def _annotations(truth: Annotations[Any]) -> list[dict[str, Any]]:
    boxes = _boxes(truth.shapes)
    sides = [[_whole(value) for value in row] for row in np.column_stack(boxes.columns).tolist()]
    area = truth.shapes.area.tolist()
    rows = []
    for at, (item, kind) in enumerate(zip(truth.item.tolist(), truth.labels.tolist(), strict=True)):
        row = {"id": at + 1, "image_id": item + 1, "category_id": kind + 1, "bbox": sides[at], "area": _whole(area[at])}
        row["iscrowd"] = 0
        if isinstance(truth.shapes, Masks):
            counts = encode_counts(counts_of(truth.shapes, at))
            row["segmentation"] = {"size": list(truth.shapes.shape), "counts": counts}
        if truth.score is not None:
            row["score"] = float(truth.score[at])
        rows.append(row)
    return rows


def _boxes(shapes: Boxes | Masks) -> Boxes:
    if isinstance(shapes, Boxes):
        return shapes
    across, down = shapes.extents
    return Boxes(across.centre - across.half, down.centre - down.half, 2 * across.half, 2 * down.half)


def _whole(value: float) -> float:
    """Whole numbers without a point."""
    return int(value) if float(value).is_integer() else value
