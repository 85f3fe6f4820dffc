"""YOLO: a text file for each image, with rows `class x y width height` relative to the image size (0 to 1).

(x, y) is the centre of the box. A row may have a class and a polygon instead. Where boxes are wanted, a polygon is read
as its bounding box; where masks are, it is filled, and a box is a mask of all its pixels.

Label files are in `labels/` where images are in `images/`, or beside the images. An image with an empty label file, or
with none, has no objects, unless no image of its split has a label file: then the split is unlabelled. Splits are
folders, or lists of images such as `val.txt`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from tallymark.core.problems import EVERY, Problem, Problems, clip
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.formats.class_names import read_class_names
from tallymark.formats.coco_segmentation import Runs, masks_of, rasterize, union
from tallymark.formats.entries import Entry, catalog_of, items_of
from tallymark.formats.parsing import ParseError, parse_float
from tallymark.geometry import Boxes, Geometry
from tallymark.geometry.labels import MOST_CLASSES
from tallymark.io.archive_listing import as_unpacked
from tallymark.io.finder import Finder
from tallymark.io.folders import Folder, distinct_names, names_a_split, split_of_path
from tallymark.io.images import IMAGE, image_size
from tallymark.io.media import BadMedia
from tallymark.io.texts import first_line, read_lines

SPLITS = ("train", "val", "test")
TOLERANCE = 1e-3
"""How far outside the image a relative coordinate may be: labels are rounded, and drawn beyond the border."""

DECIMALS = 6
"""Of pixels: whole ones stay whole when they are divided by the image size and multiplied again."""


S = TypeVar("S")
G = TypeVar("G", bound=Geometry)
ToShape = Callable[[np.ndarray, tuple[int, int]], S]
"""The shape of an object, from (n, 2) relative corners of its polygon and the width and height of its image."""


@dataclass
class YoloObjects(Generic[S]):
    """Columns of the objects of all images: position of the image, shape in pixels, class, line."""

    item: list[int] = field(default_factory=list)
    shape: list[S] = field(default_factory=list)
    label: list[int] = field(default_factory=list)
    line: list[int] = field(default_factory=list)


def read_yolo(listed: Folder, problems: Problems) -> Catalog | None:
    """Images with bounding boxes; None if no text file in the folder is a label file."""
    return _read(listed, _bounding_box, lambda boxes: Boxes.of(np.array(boxes)), problems)


def read_yolo_masks(listed: Folder, shape: tuple[int, int], problems: Problems) -> Catalog | None:
    """Images of one shape (height, width) with masks; None as for boxes."""

    def fill(corners: np.ndarray, size: tuple[int, int]) -> Runs:
        if size != shape[::-1]:
            found, expected = f"an image of {size[0]} x {size[1]} px", f"images of {shape[1]} x {shape[0]} px"
            remedy = "read with shape=HEIGHTxWIDTH, or crop all images to one size"
            raise ParseError("wrong_size", found, expected, remedy)
        runs = union([rasterize((corners * size).round(DECIMALS), shape)])
        if not len(runs[0]):
            found, expected = "a polygon without a pixel", "a polygon around the centre of a pixel"
            raise ParseError("empty_object", found, expected, "correct or remove the row")
        return runs

    return _read(listed, fill, lambda runs: masks_of(runs, shape), problems)


def _read(listed: Folder, to_shape: ToShape[S], join: Callable[[Sequence[S]], G], problems: Problems) -> Catalog | None:
    """The catalog of a YOLO data set. join: the geometry of all shapes."""
    images = listed.ending(IMAGE.suffixes)
    # Images and labels may be two archives; a suffix may be in upper case.
    texts = {as_unpacked(path).with_suffix(".txt"): path for path in listed.ending({".txt"})}
    label_files = {path: file for path in images if (file := _label_file(path, texts)) is not None}
    if not any(_begins_with_label(file) for file in label_files.values()):
        return None
    _report_orphans(sorted({*texts.values()} - {*label_files.values()}), problems)
    names = read_class_names(listed, problems)
    splits = {path: split_of_path(path, listed.root) for path in images} | _listed_splits(listed, images, problems)
    labelled_splits = {splits[path] for path in label_files}
    entries = []
    for path, name in distinct_names(images, listed.root, lambda path: path.name).items():
        entries.append(Entry(name, path, splits[path], label_files.get(path), splits[path] in labelled_splits))
    objects: YoloObjects[S] = YoloObjects()
    for item, entry in enumerate(entries):
        if entry.table is not None:
            known = _read_labels(item, entry, names, to_shape, objects, problems)
            entries[item] = replace(entry, labelled=entry.labelled and known)
    if not names:
        names = tuple(str(label) for label in range(max(objects.label, default=0) + 1))
    truth = Annotations.from_rows(
        items_of(entries),
        np.array(objects.item, np.int64),
        join(objects.shape),
        label=np.array(objects.label, np.int64) if len(names) > 1 else None,
        classes=names if len(names) > 1 else (),
        line=np.array(objects.line, np.int64),
    )
    return catalog_of(listed.root, IMAGE, entries, truth, Problems(EVERY))


def _listed_splits(listed: Folder, images: Sequence[Path], problems: Problems) -> dict[Path, str]:
    """The split of each image that a list such as `val.txt` names, one path in a line; of two lists, the held-out one.

    Paths may be those of another machine: their ends count.
    """
    lists = [(split, path) for path in listed.ending({".txt"}) if (split := names_a_split(path.stem)) is not None]
    finder = Finder(images, listed.root)
    splits: dict[Path, str] = {}
    for split, path in sorted(lists, key=lambda pair: SPLITS.index(pair[0])):
        if first_line(path).strip().lower().endswith(tuple(IMAGE.suffixes)):
            for _, text in read_lines(path, problems) or []:
                found = finder.candidates(text.strip(), path.parent)
                splits |= dict.fromkeys(found if len(found) == 1 else [], split)
    return splits


def _label_file(image: Path, texts: Mapping[Path, Path]) -> Path | None:
    """The label file of an image: in `labels` in place of the innermost `images`, beside it, or in `labels` there."""
    name = f"{image.stem}.txt"
    folder = as_unpacked(image).parent
    parts = folder.parts
    folders = [folder, folder / "labels"]
    if "images" in parts:
        last = len(parts) - 1 - parts[::-1].index("images")
        folders.insert(0, Path(*parts[:last], "labels", *parts[last + 1 :]))
    return next((texts[place / name] for place in folders if place / name in texts), None)


def _begins_with_label(path: Path) -> bool:
    """Whether a text file begins with a class and a box or polygon. An empty file does if it is in `labels`."""
    values = [parse_float(token) for token in first_line(path).split()]
    if not values:
        return "labels" in path.parent.parts
    return len(values) >= 5 and bool(np.isfinite(values[:5]).all())


def _report_orphans(texts: list[Path], problems: Problems) -> None:
    """Report label files without an image. Other text files are ignored."""
    for path in texts:
        if first_line(path).strip() and _begins_with_label(path):
            expected = "an image of the same name"
            remedy = "add the image, or remove the label file"
            problems.add(Problem("unknown_image", str(path), "labels without an image", expected, remedy))


def _read_labels(
    item: int,
    entry: Entry,
    names: tuple[str, ...],
    to_shape: ToShape[S],
    objects: YoloObjects[S],
    problems: Problems,
) -> bool:
    """Append the objects of one label file, in pixels; returns whether they are known.

    They are not if the file, or the image, cannot be read: a problem.
    """
    name, image, table = entry.id, entry.file, entry.table
    if image is None or table is None:
        return False
    rows = read_lines(table, problems, expected="YOLO labels", item=name)
    if not rows:
        return rows is not None
    try:
        width, height = image_size(image)
    except BadMedia as bad:
        expected = "an image, whose size converts relative coordinates to pixels"
        problems.add(Problem(bad.kind, str(image), bad.found, expected, bad.remedy, item=name))
        return False
    for line, text in rows:
        try:
            label, corners = _parse_row(text, names)
            shape = to_shape(corners, (width, height))
        except ParseError as bad:
            problems.add(bad.at(table, line, name))
            continue
        objects.item.append(item)
        objects.shape.append(shape)
        objects.label.append(label)
        objects.line.append(line)
    return True


def _bounding_box(corners: np.ndarray, size: tuple[int, int]) -> tuple[float, ...]:
    """x, y of the upper left corner, width and height in pixels."""
    low, high = corners.min(axis=0) * size, corners.max(axis=0) * size
    box = (*low.tolist(), *(high - low).tolist())
    return tuple(round(value, DECIMALS) for value in box)


def _parse_row(text: str, names: tuple[str, ...]) -> tuple[int, np.ndarray]:
    """The class of a row, and the relative corners (n, 2) of its polygon or box."""
    tokens = text.split()
    remedy = "correct or remove the row"
    if len(tokens) != 5 and (len(tokens) < 7 or len(tokens) % 2 == 0):
        expected = "class x y width height, or class and a polygon"
        if len(tokens) == 6:
            remedy = "remove the sixth value: a confidence belongs to predictions, not to truth"
        raise ParseError("field_count", f"{len(tokens)} values in {clip(text)}", expected, remedy)
    values = np.array([parse_float(token) for token in tokens])
    if not np.isfinite(values).all():
        raise ParseError("not_a_number", clip(text), "finite numbers", remedy)
    label = values[0]
    relative = values[1:]
    classes = len(names) or MOST_CLASSES
    if label != int(label) or not 0 <= label < classes:
        expected = f"a class number from 0 to {classes - 1}"
        raise ParseError("unknown_class", tokens[0], expected, "correct the class, or the list of names")
    if relative.min() < -TOLERANCE or relative.max() > 1 + TOLERANCE:
        expected = "coordinates relative to the image size, 0 to 1"
        raise ParseError("out_of_bounds", clip(text), expected, "divide pixels by the image's width and height")
    corners = relative.reshape(-1, 2)
    if len(relative) == 4:
        centre, half = corners[0], corners[1] / 2
        corners = centre + half * [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    if not (corners.max(axis=0) > corners.min(axis=0)).all() or (len(relative) == 4 and relative[2:].min() <= 0):
        raise ParseError("bad_box", clip(text), "width and height above 0", remedy)
    return int(label), corners
