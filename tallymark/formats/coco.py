"""COCO: a JSON file of images, annotations and categories, one for each part of a data set.

A picture that a file lists is labelled, with or without annotations; of one that none lists nothing is known.
Regions of a crowd (`iscrowd`) are not single objects: they are left out, and that is noted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tallymark.core.problems import EVERY, Problem, Problems, clip
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.formats.coco_images import File, join_pictures
from tallymark.formats.coco_json import Rows, may_be_coco, read_lists
from tallymark.formats.coco_segmentation import Runs, masks_of, runs_of
from tallymark.formats.entries import Refused, catalog_of, items_of, split_by_name
from tallymark.geometry import Boxes, Geometry
from tallymark.io.folders import Folder
from tallymark.io.images import IMAGE

ShapeOf = Callable[[dict[str, Any], tuple[float, float]], Any]
"""From an annotation, and the stated size of its picture, to its shape; None if it has no extent."""


def read_coco_boxes(listed: Folder, problems: Problems) -> Catalog | None:
    """Pictures with boxes; None if there is no COCO file."""
    return _read(listed, _box, lambda boxes: Boxes.of(np.array(boxes, float).reshape(-1, 4)), problems)


def read_coco_masks(listed: Folder, shape: tuple[int, int], problems: Problems) -> Catalog | None:
    """Pictures of one shape (height, width) with masks; None if there is no COCO file."""

    def mask(row: dict[str, Any], size: tuple[float, float]) -> Runs | None:
        if not math.isnan(size[0]) and size != shape[::-1]:
            found, expected = f"a picture of {size[0]:g} x {size[1]:g}", f"pictures of {shape[1]} x {shape[0]}"
            raise Refused("wrong_size", found, expected, "read with shape=HEIGHTxWIDTH, or cut the pictures alike")
        runs = runs_of(row.get("segmentation"), shape)
        return runs if len(runs[0]) else None

    return _read(listed, mask, lambda masks: masks_of(masks, shape), problems)


def _read(
    listed: Folder, shape_of: ShapeOf, join: Callable[[list[Any]], Geometry], problems: Problems
) -> Catalog | None:
    notes = Problems(EVERY)
    files = []
    for path in _tables(listed, notes):
        file = File(path, split_by_name(path, listed.root))
        if _fill(file, shape_of, notes, problems):
            files.append(file)
    if not files:
        return None
    entries, position = join_pictures(files, listed, notes, problems)
    items = items_of(entries)
    classes = tuple(dict.fromkeys(kind for file in files for kind in (*file.kinds, *file.kind)))
    number = {kind: at for at, kind in enumerate(classes)}
    kinds = np.array([number[kind] for file in files for kind in file.kind], np.int64)
    objects = [(name, position[at, image]) for at, file in enumerate(files) for name, image in _objects(file)]
    truth = Annotations.from_rows(
        items,
        np.array([item for _, item in objects], np.int64),
        join([shape for file in files for shape in file.shape]),
        label=kinds if len(classes) > 1 else None,
        classes=classes if len(classes) > 1 else (),
        line=np.array([line for line, _ in objects], np.int64),
    )
    sizes = np.full((len(entries), 2), np.nan)
    for at, file in enumerate(files):
        for image, size in enumerate(file.sizes):
            sizes[position[at, image]] = size
    return replace(catalog_of(listed.root, IMAGE, entries, truth, notes), size=sizes)


def _objects(file: File) -> list[tuple[int, int]]:
    return list(zip(file.line, file.image, strict=True))


def _tables(listed: Folder, notes: Problems) -> list[Path]:
    """The COCO files: those called `instances*` if there are any, since captions and keypoints list the same images."""
    found = [path for path in listed.ending({".json"}) if may_be_coco(path)]
    chosen = [path for path in found if path.name.startswith("instances")] or found
    for path in found:
        if path not in chosen:
            remedy = "nothing, if the instances are meant; else move them away"
            notes.add(Problem("unused_table", str(path), "another COCO file", "only instances*.json", remedy))
    return chosen


def _fill(file: File, shape_of: ShapeOf, notes: Problems, problems: Problems) -> bool:
    """Read a file; False if it is no COCO file."""
    lists = read_lists(file.path, problems)
    if lists is None or "images" not in lists or not {"annotations", "categories"} & set(lists):
        return False
    file.labelled = "annotations" in lists
    image_of = _read_images(file, lists["images"], problems)
    kinds = _read_kinds(file.path, lists.get("categories", Rows()), problems)
    file.kinds = list(kinds.values())
    rows = lists.get("annotations", Rows())
    seen: set[Any] = set()
    for line, row in zip(rows.line, rows.objects, strict=True):
        item = None
        try:
            image, kind = _references(row, image_of, kinds, seen)
            item = file.names[image]
            if row.get("iscrowd") == 1:
                raise _Aside("crowd", "a region of a crowd", "single objects", "nothing: it is left out")
            shape = shape_of(row, file.sizes[image])
            if shape is None:
                raise _Aside("empty_object", "an object without extent", "some pixels", "nothing: it is left out")
        except _Aside as odd:
            notes.add(odd.at(file.path, line))  # not the item: nothing is wrong with it
        except Refused as bad:
            problems.add(bad.at(file.path, line, item))
        else:
            file.image.append(image)
            file.shape.append(shape)
            file.kind.append(kind)
            file.line.append(line)
    return True


class _Aside(Refused):
    """Something that is rightly in the file but not an object to find."""


def _read_images(file: File, rows: Rows, problems: Problems) -> dict[Any, int]:
    """The pictures of a file by their id."""
    image_of: dict[Any, int] = {}
    by_name: dict[str, int] = {}
    for line, row in zip(rows.line, rows.objects, strict=True):
        name, key = (row.get("file_name"), row.get("id")) if isinstance(row, dict) else (None, None)
        if not isinstance(name, str) or not name.strip() or not _is_id(key):
            expected, remedy = "an image with id and file_name", "mend or remove the image"
            problems.add(Problem("bad_image", str(file.path), clip(str(row)), expected, remedy, line=line))
            continue
        if key in image_of or name in by_name:
            kind, found = ("duplicate_id", f"image id {key}") if key in image_of else ("duplicate_item", clip(name))
            expected, remedy = "every image once", "remove one of the two"
            problems.add(Problem(kind, str(file.path), f"{found} again", expected, remedy, line=line, item=name))
            if key in image_of:
                continue
        image_of[key] = by_name.setdefault(name, len(file.names))
        if image_of[key] == len(file.names):
            file.names.append(name)
            file.lines.append(line)
            file.sizes.append(_size(row, file.path, line, problems))
    return image_of


def _size(row: dict[str, Any], path: Path, line: int, problems: Problems) -> tuple[float, float]:
    """Width and height as stated; nan where they are not."""
    stated = row.get("width"), row.get("height")
    if stated == (None, None):
        return np.nan, np.nan
    width, height = (_number(value) for value in stated)
    if width > 0 and height > 0:
        return width, height
    found, expected = f"width {clip(str(stated[0]))} and height {clip(str(stated[1]))}", "numbers of pixels above 0"
    remedy, name = "mend them, or leave them out", row["file_name"]
    problems.add(Problem("bad_size", str(path), found, expected, remedy, line=line, item=name))
    return np.nan, np.nan


def _read_kinds(path: Path, rows: Rows, problems: Problems) -> dict[Any, str]:
    """The names of categories by their id."""
    kinds: dict[Any, str] = {}
    for line, row in zip(rows.line, rows.objects, strict=True):
        name, key = (row.get("name"), row.get("id")) if isinstance(row, dict) else (None, None)
        if not isinstance(name, str) or not name.strip() or not _is_id(key):
            expected, remedy = "a category with id and name", "mend the category"
            problems.add(Problem("bad_class", str(path), clip(str(row)), expected, remedy, line=line))
        elif key in kinds:
            expected, remedy = "every category once", "remove one of the two"
            problems.add(Problem("duplicate_id", str(path), f"category id {key} again", expected, remedy, line=line))
        else:
            kinds[key] = name
    return kinds


def _references(row: Any, image_of: dict[Any, int], kinds: dict[Any, str], seen: set[Any]) -> tuple[int, str]:
    """The picture and the class of an annotation. Where a file has no categories, all objects are alike."""
    if not isinstance(row, dict):
        raise Refused("bad_annotation", clip(str(row)), "an object with image_id and bbox", "mend or remove it")
    own, image, kind = row.get("id"), row.get("image_id"), row.get("category_id")
    if _is_id(own) and own in seen:
        raise Refused("duplicate_id", f"annotation id {own} again", "every annotation once", "remove one of the two")
    if _is_id(own):
        seen.add(own)
    if not _is_id(image) or image not in image_of:
        found = f"image_id {clip(str(image))}"
        raise Refused(
            "unknown_image", found, "the id of an image of this file", "add the image, or drop the annotation"
        )
    if kinds and (not _is_id(kind) or kind not in kinds):
        expected = "the id of a category of this file"
        raise Refused("unknown_class", f"category_id {clip(str(kind))}", expected, "add the category, or mend the id")
    return image_of[image], kinds.get(kind, "") if kinds else ""


def _box(row: dict[str, Any], size: tuple[float, float]) -> tuple[float, ...] | None:
    """x, y, width, height in pixels."""
    stated = row.get("bbox")
    box = tuple(_number(value) for value in stated) if isinstance(stated, list) else ()
    if len(box) != 4 or not all(map(math.isfinite, box)):
        expected = "four finite numbers x, y, width, height"
        raise Refused("bad_box", f"bbox {clip(str(stated))}", expected, "mend or remove the annotation")
    if box[2] < 0 or box[3] < 0:
        raise Refused("bad_box", f"bbox {clip(str(stated))}", "width and height above 0", "mend the annotation")
    return box if box[2] and box[3] else None


def _is_id(value: object) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _number(value: object) -> float:
    """The value as a number; nan if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.inf
