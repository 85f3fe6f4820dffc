"""Lists of classes: lines of `class_id class_name` or `class_id, class_name`, with ids from 0 on."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from tallymark.core.problems import Problem, Problems, clip
from tallymark.data.catalog import Catalog
from tallymark.geometry.labels import MOST_CLASSES
from tallymark.io.archives import is_folder
from tallymark.io.folders import open_folder, subfolders
from tallymark.io.texts import read_lines

CLASS_LISTS = ("class_list.txt", "classes.txt")
HEADER = re.compile(r"class_?id\s*[,;\s]\s*class_?name", re.IGNORECASE)
ENTRY = re.compile(r"(\S*?)\s*[,;\s]\s*(.*)")
"""A class id and a name, with a comma or blanks between."""


def read_class_names(path: Path, problems: Problems) -> tuple[str, ...]:
    """The names of the classes in order; empty, with a problem, if the file cannot be read."""
    lines = read_lines(path, problems, expected="a list of classes")
    names: list[str] = []
    for line, text in lines or ():
        entry = text.strip()
        if not entry or (not names and HEADER.fullmatch(entry)):
            continue
        parts = ENTRY.fullmatch(entry)
        number, name = (parts[1], parts[2].strip().strip('"')) if parts else (entry, "")
        if number != str(len(names)) or not name:
            expected = f"'{len(names)} class_name'"
            problems.add(Problem("bad_class", str(path), clip(text), expected, "count classes from 0", line=line))
        names.append(name or entry)
    return tuple(names)


def count_listed_classes(path: Path) -> int | None:
    """The number of classes in the list of a data folder, or beside a file; None if there is no list."""
    if is_folder(path) and not path.is_dir():
        listed = open_folder(path, Problems())
        lists = [] if listed is None else listed.named(*CLASS_LISTS)
    else:
        folder = path if path.is_dir() else path.parent
        places = [folder, *(subfolders(folder) if path.is_dir() else [])]
        lists = [place / name for place in places for name in CLASS_LISTS if (place / name).is_file()]
    return len(read_class_names(lists[0], Problems())) or None if lists else None


def name_labels(catalog: Catalog, names: tuple[str, ...], path: Path | None, problems: Problems) -> Catalog:
    """The catalog with the names of its classes; labels that have none are problems, and their items unlabelled.

    names, path: of the list of classes. Without one, classes are named by their numbers.
    """
    truth = catalog.truth
    if truth is None:
        return catalog
    expected = f"a class of {path}, 0 to {len(names) - 1}"
    if not names:
        labels = truth.shapes.label[truth.shapes.label < MOST_CLASSES]
        names = tuple(str(label) for label in range(int(labels.max(initial=-1)) + 1))
        expected = f"a class below {MOST_CLASSES}, or a {CLASS_LISTS[0]} that names it"
    unknown = truth.shapes.label >= len(names)
    for at in np.flatnonzero(unknown).tolist():
        item = int(truth.item[at])
        found, remedy = str(truth.shapes.label[at]), "correct the label"
        file, line = str(catalog.tables[item]), None if truth.line is None else int(truth.line[at])
        problems.add(Problem("unknown_class", file, found, expected, remedy, line=line, item=catalog.items.ids[item]))
    known = replace(truth, label=truth.shapes.label, classes=names).filter(~unknown)
    return replace(catalog, truth=known, labelled=catalog.labelled & ((known.counts > 0) | (truth.counts == 0)))
