"""The wheat data set: train.csv, train/ and test/. An image in train/ without a row has no heads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from tallymark.challenges.wheat import dialect
from tallymark.challenges.wheat.rule import RuleOptions
from tallymark.core.problems import Problems
from tallymark.data.catalog import Catalog
from tallymark.datasets.table_dataset import read_table_dataset
from tallymark.formats import read_boxes
from tallymark.io.folders import open_folder
from tallymark.io.images import IMAGE
from tallymark.io.tables import read_table

TABLES = {"train": ("train.csv",)}
FORMATS = "COCO, YOLO or Pascal VOC"


def read(folder: Path, rule_options: RuleOptions, problems: Problems) -> Catalog | None:
    listed = open_folder(folder, problems)
    if listed is None:
        return None
    if not listed.named(*TABLES["train"]) and (foreign := read_boxes(listed, problems)):
        return foreign
    catalog = read_table_dataset(
        listed,
        IMAGE,
        TABLES,
        lambda path: dialect.read_truth(path, rule_options, problems),
        problems,
        name=lambda path: path.stem,
        unnamed_are_empty=True,
    )
    return None if catalog is None else replace(catalog, size=_sizes(catalog))


def _sizes(catalog: Catalog) -> np.ndarray:
    """Width and height of each image according to the table; nan where they are missing or invalid."""
    sizes = np.full((len(catalog), 2), np.nan)
    for file in catalog.tables.drop_nulls().unique():
        table = read_table(file, Problems())
        if table is None or not {"image_id", "width", "height"} <= set(table.header):
            continue
        ids = table.text("image_id")
        at = catalog.items.find(ids)
        for axis, side in enumerate(("width", "height")):
            text = table.text(side)
            stated = text.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy().copy()
            bad = ~(np.isfinite(stated) & (stated > 0))
            if bad.any():
                invalid = np.flatnonzero(bad & (text != "").to_numpy())
                remedy = "correct it, or leave it empty"
                table.report(catalog.notes, "bad_size", invalid, side, "pixels, above 0", remedy, ids=ids)
                stated[bad] = np.nan
            sizes[at[at >= 0], axis] = stated[at >= 0]
    return sizes
