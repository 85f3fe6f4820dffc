"""The lyft data set: 13 linked tables, sweeps and camera images for train and for test, and train.csv."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from tallymark.challenges.lyft import dialect
from tallymark.challenges.lyft.rule import RuleOptions
from tallymark.core.problems import Problems
from tallymark.data.catalog import Catalog
from tallymark.datasets.drive_dataset import read_drive_dataset
from tallymark.datasets.table_dataset import choose_table, read_table_dataset
from tallymark.formats import read_cuboids
from tallymark.io.folders import open_folder
from tallymark.io.lidar import SWEEP, inspect_sweep

COLUMNS = 5
LYFT_SWEEP = replace(SWEEP, inspect=partial(inspect_sweep, columns=COLUMNS))
FORMATS = "KITTI"


def read(folder: Path, rule_options: RuleOptions, problems: Problems) -> Catalog | None:
    if (listed := open_folder(folder, problems)) is None:
        return None
    keep = rule_options.unknown_class == "keep"
    if not listed.named("sample.json"):
        foreign = read_cuboids(listed, dialect.CLASSES, problems, keep_unknown=keep)
        return foreign or read_table_dataset(
            listed, SWEEP, {}, lambda path: None, problems, name=lambda path: path.name.split(".")[0]
        )
    table = choose_table(listed, ("train.csv",), problems)
    truth = None if table is None else dialect.read_truth(table, rule_options, problems)
    return read_drive_dataset(listed, LYFT_SWEEP, truth, table, dialect.CLASSES, problems, keep_unknown=keep)
