"""Wheat: pandas and a NumPy IoU matrix per photograph, COCO evaluators on boxes, and the floor."""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from benchmarks.peers.common import greedy_counts, plain_greedy_counts, read_text

THRESHOLDS = np.arange(10, 16) / 20


def numpy_loop(truth_path: str, submission_path: str) -> float:
    """The usual notebook: one IoU matrix per photograph, then a loop over thresholds and predictions."""
    return _loop(truth_path, submission_path, plain_greedy_counts)


def numpy_loop_tuned_here(truth_path: str, submission_path: str) -> float:
    """No peer, but the best that we could make of such a loop."""
    return _loop(truth_path, submission_path, greedy_counts)


def _loop(truth_path: str, submission_path: str, count: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> float:
    truth, predicted = _load(truth_path, submission_path)
    scores = []
    for name, rows in predicted.items():
        heads = truth[name]
        boxes = rows[np.argsort(-rows[:, 0], kind="stable"), 1:]
        low = np.maximum(boxes[:, None, :2], heads[None, :, :2])
        high = np.minimum(boxes[:, None, :2] + boxes[:, None, 2:], heads[None, :, :2] + heads[None, :, 2:])
        inter = np.clip(high - low, 0, None).prod(2)
        iou = inter / (boxes[:, 2:].prod(1)[:, None] + heads[:, 2:].prod(1)[None] - inter)
        hits = count(iou, THRESHOLDS)
        scores.append((hits / (len(boxes) + len(heads) - hits)).mean())
    return float(np.mean(scores))


def pycocotools_ap(truth_path: str, submission_path: str) -> float:
    """COCO average precision of the same boxes: another number, the usual work."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    return _coco(COCO, COCOeval, truth_path, submission_path)


def faster_coco_eval_ap(truth_path: str, submission_path: str) -> float:
    """The same with the C++ evaluator."""
    from faster_coco_eval import COCO, COCOeval_faster

    return _coco(COCO, COCOeval_faster, truth_path, submission_path)


def floor(truth_path: str, submission_path: str) -> float:
    truth = read_text(truth_path)["bbox"].str.strip_chars("[]").str.split(", ").explode().cast(pl.Float64).to_numpy()
    predicted = read_text(submission_path)["PredictionString"].str.split(" ").explode().cast(pl.Float64).to_numpy()
    heads, boxes = truth.reshape(-1, 4), predicted.reshape(-1, 5)[:, 1:]
    count = min(len(heads), len(boxes))
    a, b = heads[:count].T, boxes[:count].T
    across = np.minimum(a[0] + a[2], b[0] + b[2]) - np.maximum(a[0], b[0])
    down = np.minimum(a[1] + a[3], b[1] + b[3]) - np.maximum(a[1], b[1])
    inter = np.maximum(across, 0) * np.maximum(down, 0)
    iou = inter / (a[2] * a[3] + b[2] * b[3] - inter)
    np.searchsorted(THRESHOLDS, iou)
    return math.nan


def _load(truth_path: str, submission_path: str) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    import pandas as pd

    frame = pd.read_csv(truth_path)
    boxes = np.stack(frame["bbox"].apply(lambda text: np.array(text[1:-1].split(","), float)))
    truth = {name: boxes[rows] for name, rows in frame.groupby("image_id").indices.items()}
    sheet = pd.read_csv(submission_path).fillna("")
    predicted = {
        name: np.array(text.split(), float).reshape(-1, 5)
        for name, text in zip(sheet["image_id"], sheet["PredictionString"], strict=True)
    }
    return truth, predicted


def _coco(coco: Any, evaluator: Any, truth_path: str, submission_path: str) -> float:
    truth, predicted = _load(truth_path, submission_path)
    number = {name: at for at, name in enumerate(truth, start=1)}
    annotations = [
        {"image_id": number[name], "category_id": 1, "bbox": box, "area": box[2] * box[3], "iscrowd": 0}
        for name, boxes in truth.items()
        for box in boxes.tolist()
    ]
    results = [
        {"image_id": number[name], "category_id": 1, "bbox": box[1:], "score": box[0]}
        for name, boxes in predicted.items()
        for box in boxes.tolist()
    ]
    with contextlib.redirect_stdout(io.StringIO()):
        reference = coco()
        reference.dataset = {
            "images": [{"id": at, "width": 1024, "height": 1024} for at in number.values()],
            "annotations": [{"id": at, **row} for at, row in enumerate(annotations, start=1)],
            "categories": [{"id": 1, "name": "head"}],
            "info": {},
        }
        reference.createIndex()
        evaluation = evaluator(reference, reference.loadRes(results), "bbox")
        evaluation.params.iouThrs = THRESHOLDS
        evaluation.evaluate()
        evaluation.accumulate()
    return math.nan
