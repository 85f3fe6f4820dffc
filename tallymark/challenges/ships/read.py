"""The ships data set: train_ship_segmentations_v2.csv, train_v2/ and test_v2/; the first version has no `_v2`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from tallymark.challenges.ships import dialect
from tallymark.challenges.ships.rule import Reading
from tallymark.data.catalog import Catalog
from tallymark.data.folders import open_folder
from tallymark.data.images import PICTURE
from tallymark.data.layout import read_layout
from tallymark.formats import read_masks
from tallymark.problems import Problems

TABLES = {"train": ("train_ship_segmentations_v2.csv", "train_ship_segmentations.csv")}
CELLS = 3
"""Chips of 768 px are cut from larger scenes in steps of 256 px."""


def read(folder: Path, reading: Reading, problems: Problems) -> Catalog | None:
    listed = open_folder(folder, problems)
    if listed is None:
        return None
    if not listed.named(*TABLES["train"]) and (foreign := read_masks(listed, reading.shape, problems)):
        return replace(foreign, cells=CELLS)
    catalog = read_layout(
        listed,
        PICTURE,
        TABLES,
        lambda path: dialect.read_truth(path, reading, problems),
        problems,
        name=lambda path: path.name,
    )
    if catalog is None:
        return None
    height, width = reading.shape
    size = np.where(catalog.labelled[:, None], (width, height), np.nan)
    return replace(catalog, cells=CELLS, size=size)
