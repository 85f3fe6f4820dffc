"""The ships data set: train_ship_segmentations_v2.csv, train_v2/ and test_v2/; the first version has no `_v2`."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from tallymark.challenges.ships import dialect
from tallymark.challenges.ships.rule import RuleOptions
from tallymark.core.problems import Problem, Problems
from tallymark.data.catalog import Catalog
from tallymark.datasets.table_dataset import read_table_dataset
from tallymark.formats import read_masks
from tallymark.io.folders import open_folder
from tallymark.io.images import IMAGE, image_size
from tallymark.io.media import BadMedia

TABLES = {"train": ("train_ship_segmentations_v2.csv", "train_ship_segmentations.csv")}
SAMPLED = 5
"""Images whose size is compared with the rule option `shape`."""
CELLS = 3
"""Images of 768 px are cropped from larger scenes in steps of 256 px."""
FORMATS = "COCO or YOLO"


def read(folder: Path, rule_options: RuleOptions, problems: Problems) -> Catalog | None:
    listed = open_folder(folder, problems)
    if listed is None:
        return None
    if not listed.named(*TABLES["train"]) and (foreign := read_masks(listed, rule_options.shape, problems)):
        return replace(foreign, cells=CELLS)
    catalog = read_table_dataset(
        listed,
        IMAGE,
        TABLES,
        lambda path: dialect.read_truth(path, rule_options, problems),
        problems,
        name=lambda path: path.name,
    )
    if catalog is None or _has_other_shape(catalog, rule_options, problems):
        return None
    height, width = rule_options.shape
    size = np.where(catalog.labelled[:, None], (width, height), np.nan)
    return replace(catalog, cells=CELLS, size=size)


def _has_other_shape(catalog: Catalog, rule_options: RuleOptions, problems: Problems) -> bool:
    """Report images of another size than the rule option `shape`: all masks would be decoded wrongly."""
    paths = [path for item in np.flatnonzero(catalog.labelled).tolist() if (path := catalog.path(item)) is not None]
    sizes = set()
    for path in paths[:SAMPLED]:
        with suppress(BadMedia):  # reported when all images are read
            sizes.add(image_size(path))
    if len(sizes) == 1 and (size := sizes.pop()) != rule_options.shape[::-1]:
        width, height = size
        expected_height, expected_width = rule_options.shape
        found = f"{width} x {height} px"
        expected = f"{expected_width} x {expected_height} px, as the rule option shape states"
        remedy = f"give --rule shape={height}x{width}"
        problems.add(Problem("other_shape", str(paths[0]), found, expected, remedy))
        return True
    return False
