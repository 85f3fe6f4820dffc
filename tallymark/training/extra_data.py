"""Extra training data: with the classes of the main dataset, and without its held-out items."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from tallymark.core.problems import BadInput, Problem
from tallymark.data.catalog import Catalog
from tallymark.geometry import Labels


def align_to_classes(catalog: Catalog, classes: tuple[str, ...]) -> Catalog:
    """The catalog with classes renumbered to these, by name. A `BadInput` where it has any other class."""
    truth = catalog.truth
    if truth is None or truth.classes == classes:
        return catalog
    used = [truth.classes[label] if truth.classes else "objects without a class" for label in np.unique(truth.labels)]
    if unknown := [name for name in used if name not in classes]:
        known = f"classes of the main dataset: {', '.join(classes)}"
        expected = known if classes else "one class, as in the main dataset"
        remedy = "rename or remove them there, or make the dataset that has them the main one"
        raise BadInput(Problem("unknown_class", str(catalog.root), ", ".join(unknown), expected, remedy))
    number = {name: at for at, name in enumerate(classes)}
    label = np.array([number.get(name, -1) for name in truth.classes], np.int64)[truth.labels]
    shapes = truth.shapes if truth.shapes.localized else Labels(label)
    return replace(catalog, truth=replace(truth, shapes=shapes, label=label, classes=classes))


def refuse_held_out(extra: Catalog, val: Catalog) -> None:
    """Refuse extra training data that has files of the held-out items."""
    if shared := sorted(_files(val) & _files(extra)):
        found = f"{len(shared)} files that are held out, as {shared[0]}"
        remedy = "name a folder without them"
        raise BadInput(Problem("held_out", str(extra.root), found, "files that are not evaluated on", remedy))


def _files(catalog: Catalog) -> set[Path]:
    paths = (catalog.path(item) for item in range(len(catalog)))
    return {Path(os.path.realpath(path)) for path in paths if path is not None}
