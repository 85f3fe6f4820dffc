"""Lyft: pandas and vectorised shapely over all same-class pairs of a sample, and the floor."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from benchmarks.peers.common import greedy_counts, read_text
from tallymark.geometry import Cuboids

THRESHOLDS = np.arange(10, 20) / 20


def shapely_vectorised(truth_path: str, submission_path: str) -> float:
    import shapely

    truth, predicted = _load(truth_path, 8), _load(submission_path, 9)
    scores = []
    for name, (boxes, kinds) in predicted.items():
        solids, solid_kinds = truth[name]
        if not len(solids) or not len(boxes):
            if len(solids) or len(boxes):
                scores.append(0.0)
            continue
        order = np.argsort(-boxes[:, 0], kind="stable")
        boxes, kinds = boxes[order, 1:], kinds[order]
        ground, solid_ground = shapely.polygons(_corners(boxes)), shapely.polygons(_corners(solids))
        i, j = np.nonzero(kinds[:, None] == solid_kinds[None])
        area = shapely.area(shapely.intersection(ground[i], solid_ground[j]))
        top = np.minimum(boxes[i, 2] + boxes[i, 5] / 2, solids[j, 2] + solids[j, 5] / 2)
        bottom = np.maximum(boxes[i, 2] - boxes[i, 5] / 2, solids[j, 2] - solids[j, 5] / 2)
        inter = area * np.maximum(top - bottom, 0)
        iou = np.zeros((len(boxes), len(solids)))
        iou[i, j] = inter / (boxes[i, 3:6].prod(1) + solids[j, 3:6].prod(1) - inter)
        hits = greedy_counts(iou, THRESHOLDS)
        scores.append((hits / (len(boxes) + len(solids) - hits)).mean())
    return float(np.mean(scores))


def floor(truth_path: str, submission_path: str) -> float:
    columns = []
    for path, width in ((truth_path, 8), (submission_path, 9)):
        tokens = read_text(path)["PredictionString"].drop_nulls().str.split(" ").explode()
        values = tokens.cast(pl.Float64, strict=False).to_numpy().reshape(-1, width)
        tokens.gather_every(width, width - 1).cast(pl.Categorical)
        columns.append(values[:, width - 8 : width - 1])
    count = min(map(len, columns))
    a, b = (Cuboids.of(rows[:count]) for rows in columns)
    every = np.arange(count)
    for start in range(0, count, 1 << 17):
        a.overlap(b, every[start : start + (1 << 17)], every[start : start + (1 << 17)])
    return math.nan


def _load(path: str, width: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    import pandas as pd

    sheet = pd.read_csv(path).fillna("")
    loaded = {}
    for name, text in zip(sheet["Id"], sheet["PredictionString"], strict=True):
        rows = np.array(text.split()).reshape(-1, width)
        loaded[name] = rows[:, :-1].astype(float), rows[:, -1]
    return loaded


def _corners(rows: np.ndarray) -> np.ndarray:
    along = np.stack([np.cos(rows[:, 6]), np.sin(rows[:, 6])], 1)[:, None] * rows[:, 4, None, None] / 2
    across = np.stack([-np.sin(rows[:, 6]), np.cos(rows[:, 6])], 1)[:, None] * rows[:, 3, None, None] / 2
    signs = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)])
    return rows[:, None, :2] + signs[:, :1] * along + signs[:, 1:] * across
