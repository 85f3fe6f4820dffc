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
LOOKED_AT = 5
"""Chips whose size is compared with the one that masks are read in."""
CELLS = 3
"""Chips of 768 px are cut from larger scenes in steps of 256 px."""


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
    """Whether chips have another size than the reading says, which is a problem: every mask would be another one."""
    paths = [path for item in np.flatnonzero(catalog.labelled).tolist() if (path := catalog.path(item)) is not None]
    sizes = set()
    for path in paths[:LOOKED_AT]:
        with suppress(BadMedia):  # whoever looks at all of them says so
            sizes.add(image_size(path))
    if len(sizes) == 1 and (size := sizes.pop()) != rule_options.shape[::-1]:
        (width, height), (high, wide) = size, rule_options.shape
        found, expected = f"{width} x {height} px", f"{wide} x {high} px, in which masks are read"
        remedy = f"give --reading shape={height}x{width}"
        problems.add(Problem("other_shape", str(paths[0]), found, expected, remedy))
        return True
    return False
