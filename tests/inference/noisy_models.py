"""Models that see the truth through noise of their own: jittered, with misses and false alarms, and telling scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallymark.challenges.lyft.dialect import CLASSES
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Boxes, Cuboids, Events, Labels, Masks, RotatedBoxes
from tallymark.geometry.rectangles import fill_rectangles

SIDE = 200
CHIP = (SIDE, SIDE)
DISHES = 12


def listed(count: int) -> Items:
    return Items.of([f"item {k}" for k in range(count)])


def true_boxes(items: int, seed: int = 0) -> Annotations[Boxes]:
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), rng.integers(2, 9, items))
    rows = np.concatenate([rng.uniform(0, 160, (len(item), 2)), rng.uniform(15, 35, (len(item), 2))], 1)
    return Annotations.from_rows(listed(items), item, Boxes.of(rows))


def true_cuboids(items: int, seed: int = 0) -> Annotations[Cuboids]:
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), rng.integers(2, 9, items))
    place = np.concatenate([rng.uniform(-60, 60, (len(item), 2)), rng.uniform(-1, 1, (len(item), 1))], 1)
    size = np.tile([1.9, 4.6, 1.7], (len(item), 1)) * rng.uniform(0.8, 1.3, (len(item), 3))
    rows = np.concatenate([place, size, rng.uniform(-3, 3, (len(item), 1))], 1)
    label = rng.integers(0, 3, len(item))
    return Annotations.from_rows(listed(items), item, Cuboids.of(rows), label=label, classes=CLASSES)


def true_events(items: int, seed: int = 0) -> Annotations[Events]:
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), rng.integers(3, 12, items))
    return Annotations.from_rows(listed(items), item, Events(rng.uniform(0, 600, len(item))))


def true_ships(items: int, seed: int = 0) -> tuple[Annotations[Masks], Annotations[RotatedBoxes]]:
    """Masks, and the rectangles that they are."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), rng.integers(0, 5, items))
    place = rng.uniform(20, SIDE - 20, (len(item), 2))
    rows = np.column_stack([place, rng.uniform(20, 50, len(item)), rng.uniform(8, 14, len(item)), item * 0.0])
    rows[:, 4] = rng.uniform(0, 3, len(item))
    boxes = Annotations.from_rows(listed(items), item, RotatedBoxes.of(rows))
    return as_masks(boxes), boxes


def as_masks(boxes: Annotations[RotatedBoxes]) -> Annotations[Masks]:
    masks, kept = fill_rectangles(boxes.shapes, boxes.item, boxes.scores, CHIP, least=1)
    score = None if boxes.score is None else boxes.score[kept]
    return Annotations.from_rows(boxes.items, boxes.item[kept], masks, score=score)


NOISE = {
    Boxes: np.array([2.5, 2.5, 2.5, 2.5]),
    Cuboids: np.array([0.35, 0.35, 0.15, 0.15, 0.3, 0.1, 0.1]),
    RotatedBoxes: np.array([2.0, 2.0, 4.0, 1.5, 0.08]),
}
"""Standard deviation of what a model says of an object, by column of its shape."""


def noisy(truth: Annotations[Any], seed: int, *, misses: float = 0.25, alarms: float = 0.5) -> Annotations[Any]:
    """What a model finds: some objects, moved, and false alarms, all with scores of which the true ones are higher."""
    rng = np.random.default_rng([7, seed])
    seen = np.flatnonzero(rng.random(len(truth)) > misses)
    false = rng.integers(0, len(truth), int(alarms * len(truth)))
    item = np.concatenate([truth.item[seen], rng.integers(0, len(truth.items), len(false))])
    score = np.concatenate([rng.beta(5, 3, len(seen)), rng.beta(3, 5, len(false))])
    label = np.concatenate([truth.labels[seen], truth.labels[false]])
    shapes = _jittered(truth.shapes.take(np.concatenate([seen, false])), rng, np.arange(len(item)) >= len(seen))
    return Annotations.from_rows(truth.items, item, shapes, label=label, score=score, classes=truth.classes)


def _jittered(shapes: Any, rng: np.random.Generator, elsewhere: np.ndarray) -> Any:
    if type(shapes) is Events:
        return Events(np.where(elsewhere, rng.uniform(0, 600, len(shapes)), rng.normal(shapes.time, 1.0)))
    rows = np.stack(shapes.columns, 1)
    rows = rows + rng.normal(0, 1, rows.shape) * NOISE[type(shapes)]
    rows[elsewhere, :2] += rng.uniform(-60, 60, (int(elsewhere.sum()), 2))
    if type(shapes) is Boxes:
        rows[:, 2:] = np.maximum(rows[:, 2:], 3)
    return type(shapes).of(rows)


def true_labels(items: int, seed: int = 0) -> Annotations[Labels]:
    label = np.random.default_rng(seed).integers(0, DISHES, items)
    return Annotations.from_rows(listed(items), np.arange(items), Labels(label))


def noisy_labels(truth: Annotations[Labels], seed: int) -> Annotations[Labels]:
    """The probability of every class, of which the true one is mostly among the higher ones."""
    rng = np.random.default_rng([8, seed])
    logits = rng.normal(0, 1, (len(truth.items), DISHES))
    logits[np.arange(len(truth.items)), truth.shapes.label] += 1.0
    probability = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    item, label = np.repeat(np.arange(len(truth.items)), DISHES), np.tile(np.arange(DISHES), len(truth.items))
    return Annotations.from_rows(truth.items, item, Labels(label), label=label, score=probability.ravel())
