"""Official files of realistic size for the benchmarks, from a seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from tallymark.api.score import write
from tallymark.challenges.lyft.dialect import CLASSES
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Boxes, Cuboids, Events, Labels, Masks

CHIP = (768, 768)


def ids(count: int, width: int, suffix: str, rng: np.random.Generator) -> Items:
    """Different hexadecimal ids, as the challenges have them."""
    digits = rng.integers(0, 16, (2 * count, width))
    names = dict.fromkeys("".join(f"{digit:x}" for digit in row) + suffix for row in digits.tolist())
    return Items.of(list(names)[:count])


def counts_around(mean: float, items: int, rng: np.random.Generator) -> np.ndarray:
    return np.repeat(np.arange(items), rng.poisson(mean, items))


def wheat(folder: Path, photographs: int = 1_000, boxes: int = 45, seed: int = 0) -> tuple[Path, Path]:
    """Boxes of the real sizes; four of five heads are predicted."""
    rng = np.random.default_rng(seed)
    items = ids(photographs, 9, "", rng)
    item = counts_around(boxes, photographs, rng)
    size = np.exp(rng.normal(4.3, 0.35, (len(item), 2)))
    corner = rng.uniform(0, 1024 - size)
    heads = np.concatenate([corner, size], 1).round()
    detected = rng.random(len(heads)) < 0.8
    moved = heads[detected] + rng.normal(0, 0.08, (detected.sum(), 4)) * np.tile(heads[detected][:, 2:], 2)
    false = rng.permutation(heads)[: (~detected).sum()]
    predicted = np.maximum(np.concatenate([moved, false]), 1).round()
    predicted_item = np.concatenate([item[detected], rng.integers(0, photographs, len(false))])
    score = rng.beta(3, 2, len(predicted)).round(4)
    truth, submission = folder / "train.csv", folder / "submission.csv"
    names = items.ids.to_list()
    with truth.open("w") as out:
        out.write("image_id,width,height,bbox,source\n")
        out.writelines(
            f'{names[at]},1024,1024,"[{x}, {y}, {w}, {h}]",{("arvalis_1", "ethz_1", "rres_1")[at % 3]}\n'
            for at, (x, y, w, h) in zip(item.tolist(), heads.tolist(), strict=True)
        )
    write("wheat", Annotations.from_rows(items, predicted_item, Boxes.of(predicted), score=score), submission)
    return truth, submission


def ships(folder: Path, chips: int = 15_000, seed: int = 0) -> tuple[Path, Path]:
    """Rotated rectangles, none on six chips of ten, else up to ten; they never overlap."""
    rng = np.random.default_rng(seed)
    items = ids(chips, 9, ".jpg", rng)
    number = np.where(rng.random(chips) < 0.6, 0, rng.integers(1, 11, chips))
    item = np.repeat(np.arange(chips), number)
    slot = np.concatenate([rng.permutation(16)[:k] for k in number.tolist()])  # one ship in each of 4 x 4 squares
    length = np.clip(np.exp(rng.normal(3.4, 0.6, len(item))), 6, 130)
    ship = np.stack(
        [96 + 192 * (slot % 4), 96 + 192 * (slot // 4), length, length * rng.uniform(0.15, 0.35, len(item)) + 2], 1
    )
    angle = rng.uniform(0, np.pi, len(item))
    detected = rng.random(len(item)) < 0.8
    moved = ship[detected] + rng.normal(0, 0.06, (detected.sum(), 4)) * ship[detected, 3:]
    empty = np.flatnonzero(number == 0)[: int((~detected).sum()) // 8]
    predicted_item = np.concatenate([item[detected], empty])
    predicted = np.concatenate([moved, np.tile([384.0, 384.0, 30.0, 8.0], (len(empty), 1))])
    predicted_angle = np.concatenate([angle[detected] + rng.normal(0, 0.03, detected.sum()), np.zeros(len(empty))])
    truth, submission = folder / "train_ship_segmentations_v2.csv", folder / "submission.csv"
    write("ships", Annotations.from_rows(items, item, rectangles(ship, angle)), truth)
    write("ships", Annotations.from_rows(items, predicted_item, rectangles(predicted, predicted_angle)), submission)
    return truth, submission


def rectangles(ship: np.ndarray, angle: np.ndarray) -> Masks:
    """Rotated rectangles (x, y, length, width) as runs: in each column, the rows between the two crossing edges."""
    starts, lengths, counts = [], [], [0]
    for (x, y, length, width), yaw in zip(ship.tolist(), angle.tolist(), strict=True):
        cos, sin = np.cos(yaw), np.sin(yaw)
        reach = abs(cos) * length / 2 + abs(sin) * width / 2
        column = np.arange(max(0, int(x - reach)), min(CHIP[1] - 1, int(x + reach)) + 1)
        row = np.arange(CHIP[0])[:, None]
        along = (column - x) * cos + (row - y) * sin
        across = (row - y) * cos - (column - x) * sin
        inside = (np.abs(along) <= length / 2) & (np.abs(across) <= width / 2)
        kept = inside.any(0)
        starts.append(column[kept] * CHIP[0] + inside.argmax(0)[kept])
        lengths.append(inside.sum(0)[kept])
        counts.append(int(kept.sum()))
    return Masks(np.concatenate(starts), np.concatenate(lengths), np.cumsum(counts), CHIP)


def lyft(folder: Path, samples: int = 27_468, cuboids: int = 25, seed: int = 0) -> tuple[Path, Path]:
    """Cuboids of nine classes within 80 m; the truth in full precision, as published."""
    rng = np.random.default_rng(seed)
    items = ids(samples, 64, "", rng)
    item = counts_around(cuboids, samples, rng)
    label = rng.choice(9, len(item), p=[0.7, 0.05, 0.03, 0.05, 0.05, 0.02, 0.08, 0.01, 0.01])
    size = np.array([[1.9, 4.7, 1.7], [2.8, 8, 3.2], [2.9, 12, 3.4], [2.8, 10, 3.4], [0.6, 1.8, 1.4], [0.9, 2.3, 1.6],
                     [0.8, 0.8, 1.8], [0.4, 0.9, 0.5], [2.4, 6.5, 2.4]])[label]  # fmt: skip
    size = size * rng.normal(1, 0.06, size.shape)
    base = rng.uniform(500, 3000, (samples, 2))[item]
    place = np.concatenate([base + rng.uniform(-80, 80, base.shape), rng.normal(-17, 1, (len(item), 1))], 1)
    truth_rows = np.concatenate([place, size, rng.uniform(-np.pi, np.pi, (len(item), 1))], 1)
    detected = rng.random(len(item)) < 0.75
    scale = np.array([0.15, 0.15, 0.08, 0.06, 0.15, 0.06, 0.05])
    moved = truth_rows[detected] + rng.normal(0, 1, (detected.sum(), 7)) * scale
    false = truth_rows[~detected] + rng.normal(0, 1, ((~detected).sum(), 7)) * (8, 8, 0.5, 0.01, 0.01, 0.01, 0.5)
    predicted = np.concatenate([moved, false]).round(3)
    predicted[:, 3:6] = np.maximum(predicted[:, 3:6], 0.1)
    predicted_item = np.concatenate([item[detected], item[~detected]])
    predicted_label = np.concatenate([label[detected], label[~detected]])
    truth, submission = folder / "train.csv", folder / "submission.csv"
    predicted_score = rng.beta(2, 2, len(predicted)).round(4)
    predictions = Annotations.from_rows(
        items, predicted_item, Cuboids.of(predicted), label=predicted_label, score=predicted_score, classes=CLASSES
    )
    write("lyft", predictions, submission)
    names = items.ids.to_list()
    texts = [
        f"{' '.join(map(repr, row))} {CLASSES[k]}" for row, k in zip(truth_rows.tolist(), label.tolist(), strict=True)
    ]
    ends = np.cumsum(np.bincount(item, minlength=samples)).tolist()
    with truth.open("w") as out:
        out.write("Id,PredictionString\n")
        out.writelines(
            f"{name},{' '.join(texts[start:end])}\n" for name, start, end in zip(names, [0, *ends], ends, strict=False)
        )
    return truth, submission


def upcalls(folder: Path, calls: int = 1_157, detections: int = 10_000, seed: int = 0) -> tuple[Path, Path]:
    """Fifty half-hour recordings, 25 h; most calls are detected, most detections are false."""
    rng = np.random.default_rng(seed)
    items = Items.of([f"B_cont_{number}.wav" for number in range(50)])
    item = rng.integers(0, 50, calls)
    time = rng.uniform(0, 1800, calls).round(3)
    near = rng.random(calls) < 0.7
    predicted = np.concatenate(
        [time[near] + rng.normal(0, 0.6, near.sum()), rng.uniform(0, 1800, detections - near.sum())]
    )
    predicted_item = np.concatenate([item[near], rng.integers(0, 50, detections - near.sum())])
    truth, submission = folder / "annotations_GSL.csv", folder / "detections.csv"
    pl.DataFrame({"filename": items.ids[item], "timestamp": time, "label": "up"}).write_csv(truth)
    write("upcalls", Annotations.from_rows(items, predicted_item, Events(predicted.round(3))), submission)
    return truth, submission


def food(folder: Path, photographs: int = 28_377, classes: int = 211, seed: int = 0) -> tuple[Path, Path]:
    rng = np.random.default_rng(seed)
    items = Items.of([f"test_{number:06d}.jpg" for number in range(photographs)])
    label = rng.integers(0, classes, photographs)
    ranked = np.argsort(rng.random((photographs, classes)), axis=1)[:, :3]
    right = rng.random(photographs) < 0.8
    ranked[right, rng.integers(0, 3, right.sum())] = label[right]
    truth, submission = folder / "val_info.csv", folder / "submission.csv"
    pl.DataFrame({"image_name": items.ids, "label": label}).write_csv(truth)
    write(
        "food", Annotations.from_rows(items, np.repeat(np.arange(photographs), 3), Labels(ranked.ravel())), submission
    )
    return truth, submission
