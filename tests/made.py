"""Random annotations of each challenge, for property-based tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallymark.challenges.lyft.dialect import CLASSES
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Boxes, Cuboids, Events, Geometry, Labels, Masks

NAMES = ("wheat", "upcalls", "food", "lyft", "ships")
SHAPE = (768, 768)


def items(count: int, rng: np.random.Generator) -> Items:
    """Items with ids that are hard to parse: some look like numbers, some contain spaces, quotes or commas."""
    awkward = ["1e5", "007", "nan", "a b", 'q"x', "c,d", "é", "True", "-1"]
    return Items.of([f"{awkward[rng.integers(len(awkward))]}_{k}" if k % 3 == 0 else f"{k:09x}" for k in range(count)])


def annotations(name: str, seed: int, *, per_item: int = 4) -> Annotations[Any]:
    """Up to six items with up to `per_item` objects each; some items are empty. The same seed gives the same."""
    rng = np.random.default_rng([NAMES.index(name), seed])
    listed = items(int(rng.integers(1, 7)), rng)
    counts = np.full(len(listed), 3) if name == "food" else rng.integers(0, per_item + 1, len(listed))
    item = np.repeat(np.arange(len(listed)), counts)
    count = len(item)
    score = rng.permutation(count) / max(1, count)
    if name == "wheat":
        boxes = np.concatenate([rng.uniform(0, 1000, (count, 2)), rng.uniform(1, 200, (count, 2))], 1)
        return Annotations.from_rows(listed, item, Boxes.of(boxes), score=score)
    if name == "lyft":
        center = rng.normal(0, 1500, (count, 3))
        size = rng.uniform(0.3, 12, (count, 3))
        rows = np.concatenate([center, size, rng.uniform(-4, 4, (count, 1))], 1)
        return Annotations.from_rows(
            listed, item, Cuboids.of(rows), label=rng.integers(0, 9, count), score=score, classes=CLASSES
        )
    if name == "upcalls":
        return Annotations.from_rows(listed, item, Events(rng.uniform(0, 1800, count)))
    if name == "food":
        return Annotations.from_rows(
            listed, item, Labels(rng.permuted(np.tile(np.arange(211), (len(listed), 1)), axis=1)[:, :3].ravel())
        )
    return Annotations.from_rows(listed, item, ships(counts, rng))


def ships(counts: np.ndarray, rng: np.random.Generator) -> Masks:
    """Masks that do not overlap: each in its own band of columns, some with several runs per column."""
    starts = []
    lengths = []
    sizes = [0]
    for count in counts.tolist():
        for band in rng.permutation(8)[:count].tolist():
            columns = np.arange(band * 96, band * 96 + rng.integers(1, 60))
            top = int(rng.integers(0, 600))
            runs = np.stack([columns * 768 + top, np.full(len(columns), rng.integers(1, 80))], 1)
            if rng.random() < 0.3:
                runs = np.stack([runs, runs + np.array([100, 0])], 1).reshape(-1, 2)
            starts.append(runs[:, 0])
            lengths.append(runs[:, 1])
            sizes.append(len(runs))
    none = [np.empty(0, np.int64)]
    return Masks(np.concatenate(none + starts), np.concatenate(none + lengths), np.cumsum(sizes), SHAPE)


def columns_of(shapes: Geometry) -> list[np.ndarray]:
    """The arrays of a geometry, for comparisons."""
    return [value for value in vars(shapes).values() if isinstance(value, np.ndarray)]
