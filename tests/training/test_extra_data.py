"""Extra training data: the classes of the main dataset, and no held-out files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tallymark
from tallymark.core.problems import BadInput
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.geometry import Boxes, Labels
from tallymark.io.images import IMAGE
from tallymark.training.extra_data import align_to_classes, refuse_held_out
from tests.sets import copy_of
from tests.training.test_train import train


def catalog_of(numbers: list[int], classes: tuple[str, ...], *, labels: bool = False) -> Catalog:
    """An item for each class number, without files."""
    items, label, text = (
        Items.of([f"{k}" for k in range(len(numbers))]),
        np.array(numbers),
        pl.Series(["x"] * len(numbers)),
    )
    shapes: Any = Labels(label) if labels else Boxes.of(np.ones((len(numbers), 4)))
    truth = Annotations.from_rows(items, np.arange(len(numbers)), shapes, label=label, classes=classes)
    return Catalog(Path("more"), IMAGE, items, text, text, np.ones(len(numbers), bool), text, truth)


@pytest.mark.parametrize("labels", [False, True])
def test_classes_are_matched_by_name(labels: bool) -> None:
    catalog = align_to_classes(
        catalog_of([0, 1, 0, 2], ("soup", "cake", "pie"), labels=labels), ("pie", "tea", "soup", "cake")
    )
    truth: Any = catalog.truth
    assert truth.classes == ("pie", "tea", "soup", "cake")
    assert truth.labels.tolist() == [2, 3, 2, 0]
    if labels:
        assert truth.shapes.label.tolist() == [2, 3, 2, 0]


def test_the_same_classes_are_unchanged() -> None:
    for classes in (("soup", "cake"), ()):
        catalog = catalog_of([0, 0], classes)
        assert align_to_classes(catalog, classes) is catalog


@pytest.mark.parametrize(
    ("own", "classes", "message"),
    [
        (("soup", "pie"), ("soup", "cake"), "found pie, expected classes of the main dataset: soup, cake"),
        ((), ("soup", "cake"), "found objects without a class"),
        (("soup", "pie"), (), "found soup, pie, expected one class"),
    ],
)
def test_a_class_that_the_main_dataset_lacks_is_refused(
    own: tuple[str, ...], classes: tuple[str, ...], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        align_to_classes(catalog_of([0, 1] if own else [0, 0], own), classes)


def test_an_unused_class_may_be_unknown() -> None:
    truth = align_to_classes(catalog_of([1, 1], ("pie", "soup")), ("cake", "soup")).truth
    assert truth is not None
    assert truth.labels.tolist() == [1, 1]


def test_held_out_files_are_refused(sets: Path, tmp_path: Path) -> None:
    catalog = tallymark.read("wheat", sets / "wheat").in_split("train")
    first, rest = catalog.select(np.arange(2)), catalog.select(np.arange(2, len(catalog)))
    refuse_held_out(first, rest)
    (tmp_path / "link").symlink_to(catalog.root, target_is_directory=True)
    with pytest.raises(BadInput, match="held_out: found 2 files that are held out"):
        refuse_held_out(replace(catalog, root=tmp_path / "link"), first)


def test_a_training_takes_extra_data_but_no_held_out_files(sets: Path, tmp_path: Path) -> None:
    quick = {"epochs": 1, "evaluations": 1}
    with pytest.raises(BadInput, match="held_out"):
        train(sets, "food", tmp_path / "run", extra_data=[sets / "food"], **quick)
    data = copy_of(sets, "food", tmp_path)
    listed = data / "class_list.txt"
    names = [line.split(maxsplit=1)[1] for line in listed.read_text().splitlines()]
    listed.write_text("".join(f"{at} {name}\n" for at, name in enumerate([*names[1:], "stone soup"])))
    with pytest.raises(BadInput, match="unknown_class: found stone soup"):
        train(sets, "food", tmp_path / "other", extra_data=[data], **quick)
