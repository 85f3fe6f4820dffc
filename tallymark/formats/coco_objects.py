"""The images, categories and annotations of one COCO file, each checked; faults are problems with their line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from tallymark.core.problems import Problem, Problems, clip
from tallymark.formats.coco_images import CocoFile
from tallymark.formats.coco_json import Json, JsonList
from tallymark.formats.parsing import ParseError
from tallymark.io.json_text import show

S = TypeVar("S")
Key = int | str
"""The id of an image, category or annotation."""


class _Excluded(ParseError):
    """A valid entry that is not an object to detect: noted, not a problem."""


def read_objects(
    file: CocoFile[S],
    lists: dict[str, JsonList],
    parse: Callable[[Json, tuple[float, float]], S | None],
    notes: Problems,
    problems: Problems,
) -> None:
    """Fill `file` from its lists. `parse` gives the shape of an annotation, None if it has no extent."""
    file.labelled = "annotations" in lists
    image_of = _read_images(file, lists["images"], problems)
    categories = _read_categories(file.path, lists.get("categories", JsonList()), problems)
    file.categories = list(categories.values())
    rows = lists.get("annotations", JsonList())
    seen: set[Key] = set()
    for line, row in zip(rows.line, rows.values, strict=True):
        item = None
        try:
            annotation = _as_annotation(row, seen)
            image = image_of[_reference(annotation, "image_id", image_of)]
            category = categories[_reference(annotation, "category_id", categories)] if categories else ""
            item = file.names[image]
            if annotation.get("iscrowd") == 1:
                raise _Excluded("crowd", "a crowd region", "single objects", "nothing: it is excluded")
            shape = parse(annotation, file.sizes[image])
            if shape is None:
                raise _Excluded("empty_object", "an object of area 0", "some pixels", "nothing: it is excluded")
        except _Excluded as excluded:
            notes.add(excluded.at(file.path, line))  # without the item, which is not at fault
        except ParseError as bad:
            problems.add(bad.at(file.path, line, item))
        else:
            file.image.append(image)
            file.shape.append(shape)
            file.category.append(category)
            file.line.append(line)


def _read_images(file: CocoFile[S], rows: JsonList, problems: Problems) -> dict[Key, int]:
    """The position of each image in `file.names`, by its id."""
    image_of: dict[Key, int] = {}
    by_name: dict[str, int] = {}
    for line, row in zip(rows.line, rows.values, strict=True):
        key, name = _key_and_text(row, "file_name")
        if key is None or name is None or not isinstance(row, dict):
            expected = "an image with id and file_name"
            remedy = "correct or remove the image"
            problems.add(Problem("bad_image", str(file.path), show(row), expected, remedy, line=line))
            continue
        if key in image_of or name in by_name:
            known = key in image_of
            kind, found = ("duplicate_id", f"image id {show(key)}") if known else ("duplicate_item", clip(name))
            expected = "every image once"
            remedy = "remove one of the two"
            problems.add(Problem(kind, str(file.path), f"{found} again", expected, remedy, line=line, item=name))
            if known:
                continue
        image_of[key] = by_name.setdefault(name, len(file.names))
        if image_of[key] == len(file.names):
            file.names.append(name)
            file.lines.append(line)
            file.sizes.append(_image_size(row, name, file.path, line, problems))
    return image_of


def _image_size(row: Json, name: str, path: Path, line: int, problems: Problems) -> tuple[float, float]:
    """Width and height of an image in pixels; nan if the file has none."""
    stated = row.get("width"), row.get("height")
    if stated == (None, None):
        return np.nan, np.nan
    width, height = (as_float(value) for value in stated)
    if 0 < width < np.inf and 0 < height < np.inf:
        return width, height
    found = f"width {show(stated[0])} and height {show(stated[1])}"
    expected = "numbers of pixels above 0"
    problems.add(Problem("bad_size", str(path), found, expected, "correct or remove them", line=line, item=name))
    return np.nan, np.nan


def _read_categories(path: Path, rows: JsonList, problems: Problems) -> dict[Key, str]:
    """The names of the categories by their id."""
    categories: dict[Key, str] = {}
    for line, row in zip(rows.line, rows.values, strict=True):
        key, name = _key_and_text(row, "name")
        if key is None or name is None:
            expected = "a category with id and name"
            problems.add(Problem("bad_class", str(path), show(row), expected, "correct the category", line=line))
        elif key in categories:
            found = f"category id {show(key)} again"
            remedy = "remove one of the two"
            problems.add(Problem("duplicate_id", str(path), found, "every category once", remedy, line=line))
        else:
            categories[key] = name
    return categories


def _as_annotation(row: object, seen: set[Key]) -> Json:
    """An entry of `annotations`, whose id, if it has one, must not be in `seen`."""
    if not isinstance(row, dict):
        expected = "an object with image_id and bbox"
        raise ParseError("bad_annotation", show(row), expected, "correct or remove it")
    key = _as_key(row.get("id"))
    if key is not None and key in seen:
        found = f"annotation id {show(key)} again"
        raise ParseError("duplicate_id", found, "every annotation once", "remove one of the two")
    if key is not None:
        seen.add(key)
    return row


REFERENCES = {
    "image_id": ("unknown_image", "the id of an image of this file", "add the image, or remove the annotation"),
    "category_id": ("unknown_class", "the id of a category of this file", "add the category, or correct the id"),
}
"""For each reference of an annotation: the kind of problem, what is expected, and the remedy."""


def _reference(row: Json, field: str, known: dict[Key, S]) -> Key:
    """The id that an annotation refers to, which must be known."""
    key = _as_key(row.get(field))
    if key is None or key not in known:
        kind, expected, remedy = REFERENCES[field]
        raise ParseError(kind, f"{field} {show(row.get(field))}", expected, remedy)
    return key


def _key_and_text(row: object, field: str) -> tuple[Key | None, str | None]:
    """The id of an entry and the non-blank text of one of its fields; None for what is missing or invalid."""
    if not isinstance(row, dict):
        return None, None
    text = row.get(field)
    return _as_key(row.get("id")), text if isinstance(text, str) and text.strip() else None


def _as_key(value: object) -> Key | None:
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


def as_float(value: object) -> float:
    """A JSON number as a float; nan if the value is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.inf
