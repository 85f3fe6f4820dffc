"""Food: a pandas merge, a plain loop, and the floor."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import polars as pl


def pandas_merge(truth_path: str, submission_path: str) -> float:
    import pandas as pd

    joined = pd.read_csv(truth_path).merge(pd.read_csv(submission_path), on="image_name")
    guesses = joined[["pred1", "pred2", "pred3"]].to_numpy()
    return float(1 - (guesses == joined["label"].to_numpy()[:, None]).any(axis=1).mean())


def plain_loop(truth_path: str, submission_path: str) -> float:
    with Path(truth_path).open() as file:
        labels = {row["image_name"]: int(row["label"]) for row in csv.DictReader(file)}
    wrong = 0
    with Path(submission_path).open() as file:
        for row in csv.DictReader(file):
            wrong += labels[row["image_name"]] not in (int(row["pred1"]), int(row["pred2"]), int(row["pred3"]))
    return wrong / len(labels)


def floor(truth_path: str, submission_path: str) -> float:
    joined = pl.read_csv(truth_path).join(pl.read_csv(submission_path), on="image_name")
    guesses = joined.select("pred1", "pred2", "pred3").to_numpy()
    right = (guesses == joined["label"].to_numpy()[:, None]).any(axis=1)
    return 1 - np.count_nonzero(right) / len(right)
