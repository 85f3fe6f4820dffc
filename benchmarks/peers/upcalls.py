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
        any((moment - 1.5 <= by_recording.get(name, none)) & (by_recording.get(name, none) <= moment + 1.5))
        for name, moments in of_recording.items()
        for moment in moments
    )
    fp = sum(
        not any((of_recording.get(name, none) - 1.5 <= at) & (at <= of_recording.get(name, none) + 1.5))
        for name, found in by_recording.items()
        for at in found
    )
    precision, recall = tp / (tp + fp), tp / len(calls)
    return 2 * precision * recall / (precision + recall)


def floor(truth_path: str, submission_path: str) -> float:
    calls, detections = (pl.read_csv(path).sort("filename", "timestamp") for path in (truth_path, submission_path))
    at, moment = detections["timestamp"].to_numpy(), calls["timestamp"].to_numpy()
    place = np.searchsorted(np.sort(moment), at)
    np.count_nonzero(np.abs(at - moment[np.minimum(place, len(moment) - 1)]) <= 1.5)
    return math.nan
