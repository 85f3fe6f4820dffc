"""Random candidates of each task, for tests of what is done with them."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

import numpy as np
import polars as pl

from tallymark.api.models import find_preset
from tallymark.challenges.lyft.dialect import CLASSES
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.detector.coders import CODERS
from tallymark.inference.candidates import Candidates
from tallymark.inference.metadata import ModelMetadata

NAMES = ("wheat", "upcalls", "food", "lyft", "ships")
CLASS_NAMES = {"food": ("soup", "bread", "rice", "cake"), "lyft": CLASSES}


def made_candidates(name: str, seed: int = 0, *, items: int = 5, group: bool = False) -> Candidates:
    """Some items with up to six candidates each; the second item has none. Of labels, a row for each class."""
    rng = np.random.default_rng(seed)
    classes = CLASS_NAMES.get(name, ())
    coder = CODERS[find_preset(name, "tiny").task]
    counts = rng.integers(0, 7, items)
    counts[1:2] = 0
    counts = np.full(items, len(classes)) if coder.ranked else counts
    count = int(counts.sum())
    label = np.tile(np.arange(len(classes)), items) if coder.ranked else rng.integers(0, max(len(classes), 1), count)
    names = [field.name for field in fields(coder.geometry) if field.default is MISSING]
    columns: dict[str, Any] = {field: rng.uniform(20, 60, count) for field in names}
    if coder.ranked:
        columns["label"] = label
    known = Items(
        pl.Series("id", [f"{k}é" if k else "1e5" for k in range(items)], dtype=pl.String),
        pl.Series("group", [f"day {k % 2}" for k in range(items)]) if group else None,
    )
    shapes = coder.geometry(**columns)
    item = np.repeat(np.arange(items), counts)
    objects = Annotations.from_rows(known, item, shapes, label=label, score=rng.random(count), classes=classes)
    size = np.full((items, 2), 768.0)
    if coder.one_dimensional:
        size[:, 1] = np.nan
    return Candidates(objects, size, rng.random(items))


def made_metadata(name: str) -> ModelMetadata:
    return ModelMetadata(name, find_preset(name, "tiny"), CLASS_NAMES.get(name, ()))
