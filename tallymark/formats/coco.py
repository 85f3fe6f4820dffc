"""Reading COCO: one JSON file of images, annotations and categories for each split of a data set.

An image that a file lists is labelled, with or without annotations; an image in no file is unlabelled.
Crowd regions (`iscrowd`) are not single objects: they are excluded, with a note.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from tallymark.core.problems import EVERY, Problem, Problems
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.formats.coco_images import CocoFile, match_images
from tallymark.formats.coco_json import Json, may_be_coco, read_lists
from tallymark.formats.coco_objects import as_float, read_objects
from tallymark.formats.coco_segmentation import Runs, masks_of, parse_segmentation
from tallymark.formats.entries import catalog_of, items_of, split_by_name
from tallymark.formats.parsing import ParseError
from tallymark.geometry import Boxes, Geometry
from tallymark.io.folders import Folder
from tallymark.io.images import IMAGE
from tallymark.io.json_text import begins_as_json, read_json, show

S = TypeVar("S")
G = TypeVar("G", bound=Geometry)
XYWH = tuple[float, ...]
"""x, y of the upper left corner, width and height in pixels."""


def read_coco_boxes(listed: Folder, problems: Problems) -> Catalog | None:
    """Images with bounding boxes; None if there is no COCO file."""
    return _read(listed, _parse_box, _boxes_of, problems)


def read_coco_masks(listed: Folder, shape: tuple[int, int], problems: Problems) -> Catalog | None:
    """Images of one shape (height, width) with masks; None if there is no COCO file."""

    def parse_mask(row: Json, size: tuple[float, float]) -> Runs | None:
        if not math.isnan(size[0]) and size != shape[::-1]:
            found = f"an image of {size[0]:g} x {size[1]:g} px"
            expected = f"images of {shape[1]} x {shape[0]} px"
            remedy = "read with shape=HEIGHTxWIDTH, or crop all images to one size"
            raise ParseError("wrong_size", found, expected, remedy)
        runs = parse_segmentation(row.get("segmentation"), shape)
        return runs if len(runs[0]) else None

    return _read(listed, parse_mask, lambda masks: masks_of(masks, shape), problems)


def _read(
    listed: Folder,
    parse: Callable[[Json, tuple[float, float]], S | None],
    join: Callable[[Sequence[S]], G],
    problems: Problems,
) -> Catalog | None:
    """The catalog of all COCO files in a folder.

    parse: the shape of an annotation, given the (width, height) of its image; None if it has no extent.
    join: the geometry of all shapes.
    """
    notes = Problems(EVERY)
    files: list[CocoFile[S]] = []
    for path in _annotation_files(listed, notes, problems):
        lists = read_lists(path, problems)
        if lists is not None and "images" in lists and {"annotations", "categories"} & set(lists):
            file: CocoFile[S] = CocoFile(path, split_by_name(path, listed.root))
            read_objects(file, lists, parse, notes, problems)
            files.append(file)
        elif lists is not None and "annotations" in lists:
            remedy = "write the file again, with its images"
            problems.add(Problem("bad_json", str(path), "annotations without images", "a COCO file", remedy))
    if not files:
        return None
    entries, entry_of = match_images(files, listed, notes, problems)
    classes = tuple(dict.fromkeys(name for file in files for name in (*file.categories, *file.category)))
    class_number = {name: number for number, name in enumerate(classes)}
    labels = np.array([class_number[name] for file in files for name in file.category], np.int64)
    truth = Annotations.from_rows(
        items_of(entries),
        np.array([entry_of[at, image] for at, file in enumerate(files) for image in file.image], np.int64),
        join([shape for file in files for shape in file.shape]),
        label=labels if len(classes) > 1 else None,
        classes=classes if len(classes) > 1 else (),
        line=np.array([line for file in files for line in file.line], np.int64),
    )
    sizes = np.full((len(entries), 2), np.nan)
    for at, file in enumerate(files):
        for image, size in enumerate(file.sizes):
            sizes[entry_of[at, image]] = size
    return replace(catalog_of(listed.root, IMAGE, entries, truth, notes), size=sizes)


def _annotation_files(listed: Folder, notes: Problems, problems: Problems) -> list[Path]:
    """The COCO files to read: `instances*` if there are any, since captions and keypoints list the same images.

    Beside a COCO file, one that is not JSON at all may be another one, damaged: a problem.
    """
    every = listed.ending({".json"})
    found = [path for path in every if may_be_coco(path)]
    for path in set(every) - set(found) if found else ():
        if not begins_as_json(path):
            read_json(path, problems, expected="a COCO file")
    chosen = [path for path in found if path.name.startswith("instances")] or found
    for path in found:
        if path not in chosen:
            remedy = "nothing, if instances*.json is the right file; otherwise move that away"
            notes.add(Problem("unused_table", str(path), "another COCO file", "only instances*.json", remedy))
    return chosen


def _parse_box(row: Json, size: tuple[float, float]) -> XYWH | None:
    """The bounding box of an annotation; None if its area is 0."""
    stated = row.get("bbox")
    box = tuple(as_float(value) for value in stated) if isinstance(stated, list) else ()
    if len(box) != 4 or not all(map(math.isfinite, box)):
        expected = "four finite numbers x, y, width, height"
        raise ParseError("bad_box", f"bbox {show(stated)}", expected, "correct or remove the annotation")
    if box[2] < 0 or box[3] < 0:
        raise ParseError("bad_box", f"bbox {show(stated)}", "width and height above 0", "correct the annotation")
    return box if box[2] and box[3] else None


def _boxes_of(boxes: Sequence[XYWH]) -> Boxes:
    return Boxes.of(np.array(boxes, float).reshape(-1, 4))
