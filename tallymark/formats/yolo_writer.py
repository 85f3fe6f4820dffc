"""Writing YOLO: a folder that the usual tools train on as it is, with `data.yaml`, `images/` and `labels/`.

Images keep their paths below the media folder. They are linked, and copied only where they are in an archive. Where two
images differ only in their suffix, both keep it before another one, since label files have none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

import numpy as np

from tallymark.core.outputs import make_folder, write_text
from tallymark.formats.export_source import ExportSource, masks_by_shape
from tallymark.formats.placed_images import place_image
from tallymark.geometry import Boxes, Masks
from tallymark.geometry.outlines import as_one_ring, outlines
from tallymark.io.names import output_paths

SPLITS = ("train", "val", "test")
IMAGES, LABELS = "images", "labels"


def export_yolo_boxes(source: ExportSource[Boxes], folder: Path) -> None:
    """Write boxes as `class x y width height`, relative to the image and clipped to it."""
    objects = source.annotations
    width, height = source.size[objects.item].T
    boxes = objects.shapes
    left, top = np.clip(boxes.x, 0, width), np.clip(boxes.y, 0, height)
    right, bottom = np.clip(boxes.x + boxes.width, 0, width), np.clip(boxes.y + boxes.height, 0, height)
    middle = np.stack([(left + right) / 2 / width, (top + bottom) / 2 / height], axis=1)
    sides = np.stack([(right - left) / width, (bottom - top) / height], axis=1)
    rows = np.concatenate([middle, sides], axis=1).tolist()
    inside = ((right > left) & (bottom > top)).tolist()
    _write(source, folder, lambda at: _row(objects.labels[at], rows[at]) if inside[at] else "")


def export_yolo_masks(source: ExportSource[Masks], folder: Path) -> None:
    """Write masks as `class x y x y …`: one polygon along the edges of pixels, relative to the image.

    The parts and holes of a mask are joined to one polygon, as the format has no other way.
    """
    objects = source.annotations
    rows: dict[int, list[float]] = {}
    for own, masks in masks_by_shape(source):
        scale = np.array(masks.shape[::-1])
        for at, mask in enumerate(own.tolist()):
            if masks.area[at]:
                rows[mask] = (as_one_ring(outlines(masks, at)) / scale).ravel().tolist()
    _write(source, folder, lambda at: _row(objects.labels[at], rows[at]) if at in rows else "")


def _row(label: int, values: Iterable[float]) -> str:
    return " ".join([str(label), *(f"{value:.15g}" for value in values)]) + "\n"


def _write(source: ExportSource[Boxes] | ExportSource[Masks], folder: Path, row: Callable[[int], str]) -> None:
    """Write labels, links to the images, the lists of splits, and data.yaml. row: the line of an object."""
    names = _below_images(source.names)
    offsets = source.annotations.offsets.tolist()
    suffixes = [PurePosixPath(name).suffix for name in source.names]
    labels = output_paths(folder / LABELS, names, ".txt", reserved=max(map(len, suffixes), default=0))
    for place in dict.fromkeys(path.parent for path in labels):
        make_folder(place)
        make_folder(folder / IMAGES / place.relative_to(folder / LABELS))
    listed: dict[str, list[str]] = {split: [] for split in SPLITS}
    for item, (label, suffix) in enumerate(zip(labels, suffixes, strict=True)):
        write_text(label, "".join(map(row, range(offsets[item], offsets[item + 1]))), sync=False)
        below = label.relative_to(folder / LABELS)
        image = folder / IMAGES / below.with_name(f"{below.name.removesuffix('.txt')}{suffix}")
        if (file := source.catalog.path(item)) is not None:
            place_image(file, image)
        listed[source.catalog.split[item]].append(f"./{image.relative_to(folder).as_posix()}\n")
    for split, lines in listed.items():
        if lines:
            write_text(folder / f"{split}.txt", "".join(lines))
    write_text(folder / "data.yaml", _data_yaml([split for split in SPLITS if listed[split]], source.classes))


def _data_yaml(splits: list[str], classes: tuple[str, ...]) -> str:
    """The splits and the classes. Tools want a list to train on and one to validate on, even of the same images."""
    train = "train" if "train" in splits else splits[0]
    chosen = {"train": train, "val": "val" if "val" in splits else train}
    if "test" in splits:
        chosen["test"] = "test"
    lines = [f"{name}: {split}.txt" for name, split in chosen.items()]
    names = [f"  {number}: {json.dumps(name, ensure_ascii=False)}" for number, name in enumerate(classes)]
    return "\n".join([*lines, "names:", *names]) + "\n"


def _below_images(names: list[str]) -> list[str]:
    """The names without folders called `images` or `labels`: the tools replace the last one to find the labels."""
    parts = [PurePosixPath(name).parts for name in names]
    taken = (IMAGES, LABELS)
    kept = ["/".join([*(one for one in folders if one not in taken), name]) for *folders, name in parts]
    if len(set(kept)) == len(kept):
        return kept
    return ["/".join([*(f"{one}_" if one in taken else one for one in folders), name]) for *folders, name in parts]
