"""Crowded random truths and predictions of each challenge: overlaps, duplicates, equal scores, empty items."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Boxes, Cuboids, Events, Labels, Masks

CLASSES = ("car", "bus", "bicycle")
SIDE = 40


def crowd(name: str, seed: int, *, items: int = 5, most: int = 7) -> tuple[Annotations[Any], Annotations[Any]]:
    """Truth and predictions; the predictions have scores from few different values, and so many ties."""
    rng = np.random.default_rng([seed, len(name)])
    listed = Items.of([f"item {number}" for number in range(items)])
    truth_item, predicted_item = (np.repeat(np.arange(items), rng.integers(0, most + 1, items)) for _ in range(2))
    truth_shapes = shapes_of(name, len(truth_item), rng)
    shapes = shapes_of(name, len(predicted_item), rng)
    # Half of the predictions are truths of the same item, or of another one where it has none.
    copied = rng.random(len(predicted_item)) < 0.5 * (len(truth_item) > 0)
    row = np.searchsorted(truth_item, predicted_item) % max(len(truth_item), 1)
    index = np.where(copied, len(predicted_item) + row, np.arange(len(predicted_item)))
    labels = rng.integers(0, len(CLASSES), len(truth_item)), rng.integers(0, len(CLASSES), len(predicted_item))
    classes = CLASSES if name == "lyft" else ()
    return (
        Annotations.from_rows(listed, truth_item, truth_shapes, label=labels[0] if classes else None, classes=classes),
        Annotations.from_rows(
            listed,
            predicted_item,
            shapes.concat(truth_shapes).take(index),
            label=labels[1] if classes else None,
            score=rng.integers(0, 6, len(predicted_item)) / 5,
            classes=classes,
        ),
    )


def shapes_of(name: str, count: int, rng: np.random.Generator) -> Any:
    """Shapes that often overlap, and often by a simple fraction."""
    corner, size = rng.integers(0, 6, (count, 2)), rng.integers(1, 4, (count, 2)) * 4
    boxes = Boxes.of(np.concatenate([corner, size], axis=1))
    if name == "ships":
        return Masks.of([bitmap(row) for row in np.stack(boxes.columns, axis=1).astype(int)], (SIDE, SIDE))
    if name == "lyft":
        x, y, width, length = boxes.columns
        yaw = rng.choice([0, np.pi / 4], count)
        return Cuboids(x, y, np.zeros(count), width, length, rng.integers(2, 4, count).astype(float), yaw)
    return Events(rng.integers(0, 60, count) / 8) if name == "upcalls" else boxes


def bitmap(box: np.ndarray) -> np.ndarray:
    x, y, width, height = box.tolist()
    drawn = np.zeros((SIDE, SIDE), bool)
    drawn[y : y + height, x : x + width] = True
    return drawn


def label_crowd(seed: int, *, items: int = 12, k: int = 3) -> tuple[Annotations[Labels], Annotations[Labels]]:
    """Items with one label or none, and up to k predicted ones, of five classes, with repetitions."""
    rng = np.random.default_rng(seed)
    listed = Items.of([f"item {number}" for number in range(items)])
    labelled = np.flatnonzero(rng.random(items) < 0.9)
    counts = rng.integers(0, k + 1, items)
    scores = [np.sort(rng.random(count))[::-1] for count in counts]
    return (
        Annotations.from_rows(listed, labelled, Labels(rng.integers(0, 5, len(labelled)))),
        Annotations.from_rows(
            listed,
            np.repeat(np.arange(items), counts),
            Labels(rng.integers(0, 5, int(counts.sum()))),
            score=np.concatenate(scores),
        ),
    )
