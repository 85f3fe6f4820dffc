"""Tiny data sets of every medium, written by the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import polars as pl
import soundfile

from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.geometry import Boxes, Cuboids, Events, Labels, Masks
from tallymark.io.audio import RECORDING
from tallymark.io.images import IMAGE
from tallymark.io.lidar import SWEEP
from tallymark.io.media import Medium

HOSTILE = "<script>alert(1)</script>"


def catalog_of(
    root: Path, medium: Medium, files: list[str | None], shapes: Any, item: list[int], **more: Any
) -> Catalog:
    """Items named after their position; all but the last are labelled."""
    ids = [HOSTILE, *(f"item{at}" for at in range(1, len(files)))]
    items = Items(pl.Series(ids), pl.Series(["sea" if at % 2 else "land & air" for at in range(len(files))]))
    labelled = np.arange(len(files)) < len(files) - 1
    return Catalog(
        root=root,
        medium=medium,
        items=items,
        files=pl.Series(files, dtype=pl.String),
        split=pl.Series(["train" if known else "test" for known in labelled]),
        labelled=labelled,
        tables=pl.Series(["truth.csv"] * len(files)),
        truth=Annotations.from_rows(items, np.array(item, int), shapes, **more),
    )


def write_images(root: Path, amount: int = 5) -> list[str | None]:
    root.mkdir(parents=True, exist_ok=True)
    for at in range(amount):
        image = np.full((60, 80, 3), 40 + 30 * at, np.uint8)
        cv2.imwrite(str(root / f"{at}.png"), image)
    return [f"{at}.png" for at in range(amount)]


def wheat(root: Path) -> Catalog:
    """Five images with 2, 1, 1 and 0 boxes; the last is not labelled."""
    boxes = Boxes.of(np.array([[5, 5, 20, 10], [40, 20, 10, 30], [0, 0, 80, 60], [70, 50, 2, 3]]))
    return catalog_of(root, IMAGE, write_images(root), boxes, [0, 0, 1, 2])


def ships(root: Path) -> Catalog:
    mask = np.zeros((60, 80), bool)
    mask[20:40, 30:50] = True
    return catalog_of(root, IMAGE, write_images(root), Masks.of([mask, mask], (60, 80)), [0, 2])


def food(root: Path) -> Catalog:
    label = np.array([0, 1, 1, 2])
    classes = ("soup", "<b>cake</b>", "crème")
    return catalog_of(root, IMAGE, write_images(root), Labels(label), [0, 1, 2, 3], label=label, classes=classes)


def upcalls(root: Path) -> Catalog:
    root.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for at in range(3):
        sound = 0.1 * rng.standard_normal(60 * 2000)
        soundfile.write(str(root / f"20090328_0{at}0000.wav"), sound, 2000)
    events = Events(np.array([10.0, 12.0, 50.0, 30.0]), np.array([1.0, 2.0, 0.5, np.nan]))
    return catalog_of(root, RECORDING, [f"20090328_0{at}0000.wav" for at in range(3)], events, [0, 0, 0, 1])


def lidar(root: Path) -> Catalog:
    root.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for at in range(3):
        points = np.column_stack([rng.uniform(-40, 40, (500, 2)), rng.uniform(-2, 2, 500), np.full(500, 0.5)])
        points.astype("<f4").tofile(root / f"{at}.bin")
    cuboids = Cuboids.of(np.array([[10, 5, 0, 2, 4, 1.5, 0.3], [-20, 0, 0, 0.6, 0.8, 1.7, 2]]))
    label = np.array([0, 1])
    classes = ("car", "pedestrian")
    return catalog_of(root, SWEEP, [f"{at}.bin" for at in range(3)], cuboids, [0, 1], label=label, classes=classes)


MAKERS = {"wheat": wheat, "ships": ships, "food": food, "upcalls": upcalls, "lidar": lidar}
