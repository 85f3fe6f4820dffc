"""The food data set: class_list.txt, a table and a folder of images for train and for val, a folder for test."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from tallymark.challenges.food import dialect
from tallymark.challenges.food.rule import RuleOptions
from tallymark.core.problems import Problem, Problems, clip
from tallymark.data.catalog import Catalog
from tallymark.datasets.table_dataset import choose_table, read_table_dataset
from tallymark.geometry.labels import MOST_CLASSES
from tallymark.io.folders import open_folder
from tallymark.io.images import IMAGE

TABLES = {split: (f"{split}_labels.csv", f"{split}_info.csv") for split in ("train", "val")}
CLASSES = ("class_list.txt", "classes.txt")


def read(folder: Path, rule_options: RuleOptions, problems: Problems) -> Catalog | None:
    listed = open_folder(folder, problems)
    if listed is None:
        return None
    catalog = read_table_dataset(
        listed,
        IMAGE,
        TABLES,
        lambda path: dialect.read_truth(path, rule_options, problems),
        problems,
        name=lambda path: path.name,
    )
    if catalog is None or catalog.truth is None:
        return catalog
    path = choose_table(listed, CLASSES, problems)
    names = () if path is None else _class_names(path, problems)
    truth = catalog.truth
    expected = f"a class of {path}, 0 to {len(names) - 1}"
    if not names:
        labels = truth.shapes.label[truth.shapes.label < MOST_CLASSES]
        names = tuple(str(label) for label in range(int(labels.max(initial=-1)) + 1))
        expected = f"a class below {MOST_CLASSES}, or a {CLASSES[0]} that names it"
    unknown = truth.shapes.label >= len(names)
    _report_unknown(catalog, np.flatnonzero(unknown), expected, problems)
    known = replace(truth, label=truth.shapes.label, classes=names).filter(~unknown)
    return replace(catalog, truth=known, labelled=catalog.labelled & ((known.counts > 0) | (truth.counts == 0)))


def _report_unknown(catalog: Catalog, objects: np.ndarray, expected: str, problems: Problems) -> None:
    truth = catalog.truth
    assert truth is not None
    for at in objects.tolist():
        item = int(truth.item[at])
        found = str(truth.shapes.label[at])
        file = str(catalog.tables[item])
        line = None if truth.line is None else int(truth.line[at])
        remedy = "correct the label"
        problems.add(Problem("unknown_class", file, found, expected, remedy, line=line, item=catalog.items.ids[item]))


def _class_names(path: Path, problems: Problems) -> tuple[str, ...]:
    """Lines of "class_id class_name", with ids from 0 on."""
    names: list[str] = []
    try:
        lines = path.read_text("utf-8-sig", "replace").splitlines()
    except OSError as error:
        found = (error.strerror or type(error).__name__).lower()
        problems.add(Problem("unreadable", str(path), found, "a list of classes", "check its permissions"))
        return ()
    for line, text in enumerate(lines, start=1):
        number, name = (*text.split(maxsplit=1), "", "")[:2]
        if not number:
            continue
        if number != str(len(names)) or not name:
            expected = f"'{len(names)} class_name'"
            problems.add(Problem("bad_class", str(path), clip(text), expected, "count classes from 0", line=line))
        names.append(name.strip() or text.strip())
    return tuple(names)
