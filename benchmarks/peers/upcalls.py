"""Upcalls: a pandas script that works as the published one does, and the floor."""

from __future__ import annotations

import math

import numpy as np
import polars as pl


def pandas_script(truth_path: str, submission_path: str) -> float:
    """For each call any detection of its recording, then for each detection any call."""
    import pandas as pd

    calls, detections = pd.read_csv(truth_path), pd.read_csv(submission_path)
    by_recording = dict(iter(detections.groupby("filename")["timestamp"]))
    of_recording = dict(iter(calls.groupby("filename")["timestamp"]))
    none = pd.Series(dtype=float)
    tp = sum(
        any((time - 1.5 <= by_recording.get(name, none)) & (by_recording.get(name, none) <= time + 1.5))
        for name, times in of_recording.items()
        for time in times
    )
    fp = sum(
        not any((of_recording.get(name, none) - 1.5 <= at) & (at <= of_recording.get(name, none) + 1.5))
        for name, detected in by_recording.items()
        for at in detected
    )
    precision, recall = tp / (tp + fp), tp / len(calls)
    return 2 * precision * recall / (precision + recall)


def floor(truth_path: str, submission_path: str) -> float:
    calls, detections = (pl.read_csv(path).sort("filename", "timestamp") for path in (truth_path, submission_path))
    at, time = detections["timestamp"].to_numpy(), calls["timestamp"].to_numpy()
    place = np.searchsorted(np.sort(time), at)
    np.count_nonzero(np.abs(at - time[np.minimum(place, len(time) - 1)]) <= 1.5)
    return math.nan
