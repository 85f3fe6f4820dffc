"""Writing COCO: bounding boxes or masks of a catalog's truth, or of predictions, as one JSON file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tallymark.core.outputs import write_text
from tallymark.core.problems import BadInput
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.formats.coco_json import Json
from tallymark.formats.coco_segmentation import counts_of, encode_counts
from tallymark.formats.export_source import DEFAULT_CLASSES, ExportSource, masks_by_shape
from tallymark.geometry import Boxes, Masks
from tallymark.geometry.rectangles import fit_rectangles
from tallymark.io.images import image_size
from tallymark.io.media import BadMedia


def write_coco_boxes(source: Catalog | Annotations[Boxes], path: str | Path) -> None:
    """Write bounding boxes as a COCO file.

    Of a catalog, the labelled items are written, with the sizes of their images. Objects without a class belong to
    the category `object`; confidences are written as `score`.
    """
    if isinstance(source, Catalog):
        labelled = _labelled(source)
        annotations: Annotations[Boxes] = _truth(labelled)
        sizes = _image_sizes(labelled)
    else:
        annotations = source
        sizes = np.full((len(source.items), 2), np.nan)
    boxes = annotations.shapes
    _write(_images(annotations.items, sizes), _rows(annotations, boxes, boxes.area), annotations.classes, path)


def write_coco_masks(source: Catalog | Annotations[Masks], path: str | Path) -> None:
    """Write masks as a COCO file: compressed run-length encoding, and the bounding box of each mask."""
    annotations: Annotations[Masks] = _truth(_labelled(source)) if isinstance(source, Catalog) else source
    masks = annotations.shapes
    sizes = np.tile(masks.shape[::-1], (len(annotations.items), 1))
    rows = _rows(annotations, _bounding_boxes(masks), masks.area)
    for at, row in enumerate(rows):
        row["segmentation"] = _encoded(masks, at)
    _write(_images(annotations.items, sizes), rows, annotations.classes, path)


def export_coco_boxes(source: ExportSource[Boxes], path: Path) -> None:
    """Write boxes as a COCO file, under the paths of the images below their folder and with their real sizes."""
    named, boxes = source.named, source.annotations.shapes
    _write(_images(named.items, source.size), _rows(named, boxes, boxes.area), source.classes, path)


def export_coco_masks(source: ExportSource[Masks], path: Path) -> None:
    """Write masks as compressed RLE in images of any size; `rotated_bbox` is x, y, length, width, degrees.

    That is the rectangle fitted to a mask: its centre and sides in pixels, and its angle from x towards y.
    """
    named, masks = source.named, source.annotations.shapes
    rows = _rows(named, _bounding_boxes(masks), masks.area)
    for own, in_image in masks_by_shape(source):
        for at, mask in enumerate(own.tolist()):
            rows[mask]["segmentation"] = _encoded(in_image, at)
    rectangles = fit_rectangles(masks)
    turned = np.column_stack([*rectangles.columns[:4], np.degrees(rectangles.angle)]).round(3).tolist()
    for row, rectangle in zip(rows, turned, strict=True):
        row["rotated_bbox"] = rectangle
    _write(_images(named.items, source.size), rows, source.classes, path)


def _bounding_boxes(masks: Masks) -> Boxes:
    columns, rows = masks.extents
    return Boxes(columns.centre - columns.half, rows.centre - rows.half, 2 * columns.half, 2 * rows.half)


def _encoded(masks: Masks, mask: int) -> Json:
    return {"size": list(masks.shape), "counts": encode_counts(counts_of(masks, mask))}


def _write(images: list[Json], rows: list[Json], classes: tuple[str, ...], path: str | Path) -> None:
    """Write the three lists of a COCO file, one object per line."""
    categories: list[Json] = [{"id": at + 1, "name": name} for at, name in enumerate(classes or DEFAULT_CLASSES)]
    lists = {"images": images, "annotations": rows, "categories": categories}
    texts = [
        f'"{name}": [\n' + ",\n".join(json.dumps(row, ensure_ascii=False) for row in values) + "\n]"
        for name, values in lists.items()
    ]
    write_text(path, "{\n" + ",\n".join(texts) + "\n}\n")


def _images(items: Items, sizes: np.ndarray) -> list[Json]:
    """The entries of `images`; a size that is nan is not written."""
    images: list[Json] = []
    for at, name in enumerate(items.ids):
        image: Json = {"id": at + 1, "file_name": name}
        if np.isfinite(sizes[at]).all():
            image["width"], image["height"] = sizes[at].astype(int).tolist()
        images.append(image)
    return images


def _rows(annotations: Annotations[Any], boxes: Boxes, area: np.ndarray) -> list[Json]:
    """The entries of `annotations`, with the bounding box and area of each object."""
    bounds = np.column_stack(boxes.columns).tolist()
    rows: list[Json] = [
        {
            "id": at + 1,
            "image_id": item + 1,
            "category_id": label + 1,
            "bbox": [_shortest(value) for value in bounds[at]],
            "area": _shortest(pixels),
            "iscrowd": 0,
        }
        for at, (item, label, pixels) in enumerate(
            zip(annotations.item.tolist(), annotations.labels.tolist(), area.tolist(), strict=True)
        )
    ]
    if annotations.score is not None:
        for row, score in zip(rows, annotations.score.tolist(), strict=True):
            row["score"] = score
    return rows


def _labelled(catalog: Catalog) -> Catalog:
    """The items of a catalog whose truth is known."""
    return catalog.select(catalog.labelled)


def _truth(labelled: Catalog) -> Annotations[Any]:
    """The truth of labelled items. An id that is not a file name is replaced by the file's path."""
    if labelled.truth is None:
        raise ValueError("the catalog has no truth to write")
    pairs = zip(labelled.items.ids, labelled.files, strict=True)
    names = [name if file is None or file.endswith(name) else file for name, file in pairs]
    return replace(labelled.truth, items=Items.of(names))


def _image_sizes(catalog: Catalog) -> np.ndarray:
    """Width and height of each image (n, 2): as stated in the tables, else of the file; nan if it is damaged.

    A `BadInput` if a disk or a share fails to read it.
    """
    sizes = np.full((len(catalog), 2), np.nan) if catalog.size is None else catalog.size.copy()
    for at in np.flatnonzero(np.isnan(sizes).any(axis=1)).tolist():
        if (path := catalog.path(at)) is not None:
            try:
                sizes[at] = image_size(path)
            except BadMedia as bad:  # damaged images are reported by `check`
                if bad.transient:
                    raise BadInput(catalog.unread(at, bad)) from None
    return sizes


def _shortest(value: float) -> float:
    """Whole numbers as integers, so that they are written without a decimal point."""
    return int(value) if float(value).is_integer() else value
