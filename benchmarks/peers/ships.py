"""Ships: pandas and run-length overlap of pycocotools or faster-coco-eval, and the floor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from benchmarks.peers.common import greedy_counts, read_text, split_numbers

THRESHOLDS = np.arange(10, 20) / 20
SIZE = 768 * 768


def pycocotools_rle(truth_path: str, submission_path: str) -> float:
    from pycocotools import mask

    return _by_rle(mask, truth_path, submission_path)


def faster_coco_eval_rle(truth_path: str, submission_path: str) -> float:
    from faster_coco_eval.core import mask

    return _by_rle(mask, truth_path, submission_path)


def floor(truth_path: str, submission_path: str) -> float:
    runs = [
        split_numbers(read_text(path)["EncodedPixels"], pl.Int64).reshape(-1, 2)
        for path in (truth_path, submission_path)
    ]
    count = min(map(len, runs))
    a, b = (run[:count] for run in runs)
    shared = np.minimum(a[:, 0] + a[:, 1], b[:, 0] + b[:, 1]) - np.maximum(a[:, 0], b[:, 0])
    np.add.reduceat(np.maximum(shared, 0), np.arange(0, count, 25))
    return math.nan


def _by_rle(mask: Any, truth_path: str, submission_path: str) -> float:
    truth, predicted = (_load(mask, path) for path in (truth_path, submission_path))
    scores = []
    for name, detected in predicted.items():
        ships = truth[name]
        if not ships or not detected:
            scores.append(float(not ships and not detected))
            continue
        iou = mask.iou(detected, ships, [0] * len(ships))
        hits = greedy_counts(iou, THRESHOLDS)
        scores.append((5 * hits / (4 * len(ships) + len(detected))).mean())
    return float(np.mean(scores))


def _load(mask: Any, path: str) -> dict[str, list[Any]]:
    import pandas as pd

    masks: dict[str, list[Any]] = {}
    sheet = pd.read_csv(path)
    for name, text in zip(sheet["ImageId"], sheet["EncodedPixels"], strict=True):
        of_chip = masks.setdefault(name, [])
        if isinstance(text, str):
            runs = np.array(text.split(), int).reshape(-1, 2)
            edges = np.stack([runs[:, 0] - 1, runs[:, 0] - 1 + runs[:, 1]], 1).ravel()
            counts = np.diff(np.concatenate([[0], edges, [SIZE]])).tolist()
            of_chip.append(mask.frPyObjects({"size": [768, 768], "counts": counts}, 768, 768))
    return masks
