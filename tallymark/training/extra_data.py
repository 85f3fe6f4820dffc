"""More data to learn from: with the classes of the set that is judged by, and without its items."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from tallymark.core.problems import BadInput, Problem
from tallymark.data.catalog import Catalog
from tallymark.geometry import Labels


def align_to_classes(catalog: Catalog, classes: tuple[str, ...]) -> Catalog:
    """The catalog with these classes in place of its own, by name. A class that is not among them is a `BadInput`."""
    truth = catalog.truth
    if truth is None or truth.classes == classes:
        return catalog
    used = [truth.classes[kind] if truth.classes else "things without a class" for kind in np.unique(truth.labels)]
    if strange := [name for name in used if name not in classes]:
        expected = f"classes of the main set: {', '.join(classes)}" if classes else "one class, as in the main set"
        remedy = "rename or remove them there, or begin with a set that has them"
        raise BadInput(Problem("unknown_class", str(catalog.root), ", ".join(strange), expected, remedy))
    number = {name: at for at, name in enumerate(classes)}
    label = np.array([number.get(name, -1) for name in truth.classes], np.int64)[truth.labels]
    shapes = Labels(label) if isinstance(truth.shapes, Labels) else truth.shapes
    return replace(catalog, truth=replace(truth, shapes=shapes, label=label, classes=classes))


def refuse_held_out(more: Catalog, judged: Catalog) -> None:
    """What is learned from must not be among what is judged: the same files are a `BadInput`."""
    if shared := sorted(_files(judged) & _files(more)):
        found, remedy = f"{len(shared)} files that are held out, as {shared[0]}", "name a folder without them"
        raise BadInput(Problem("held_out", str(more.root), found, "files that are not judged", remedy))


def _files(catalog: Catalog) -> set[Path]:
    paths = (catalog.path(item) for item in range(len(catalog)))
    return {path.resolve() for path in paths if path is not None}
