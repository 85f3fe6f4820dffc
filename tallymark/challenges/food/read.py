"""The food data set: class_list.txt, a table and a folder of images for train and for val, a folder for test.

Without tables, class subfolders are the labels. The official list of classes is part of the official data; it was
published without a licence, so that it is not part of this package.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tallymark.challenges.food import dialect
from tallymark.challenges.food.rule import RuleOptions
from tallymark.core.problems import Problems
from tallymark.data.catalog import Catalog
from tallymark.datasets.class_folders import read_class_folders
from tallymark.datasets.class_list import CLASS_LISTS, name_labels, read_class_names
from tallymark.datasets.table_dataset import choose_table, read_table_dataset
from tallymark.io.folders import open_folder
from tallymark.io.images import IMAGE

TABLES = {split: (f"{split}_labels.csv", f"{split}_info.csv") for split in ("train", "val")}


def read(folder: Path, rule_options: RuleOptions, problems: Problems) -> Catalog | None:
    listed = open_folder(folder, problems)
    if listed is None:
        return None
    path = choose_table(listed, CLASS_LISTS, problems)
    names = () if path is None else read_class_names(path, problems)
    options = replace(rule_options, num_classes=None) if names else rule_options  # labels are checked against the list
    tables = [name for names_of_split in TABLES.values() for name in names_of_split]
    catalog = None if listed.named(*tables) else read_class_folders(listed, IMAGE, names, problems)
    if catalog is not None:
        return catalog
    catalog = read_table_dataset(
        listed,
        IMAGE,
        TABLES,
        lambda table: dialect.read_truth(table, options, problems),
        problems,
        name=lambda path: path.name,
    )
    return None if catalog is None else name_labels(catalog, names, path, problems)
