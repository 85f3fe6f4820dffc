"""Catalogs: the labelled items, with truth that is always there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tallymark
from tallymark.core.problems import Problem
from tallymark.data.catalog import LabelledCatalog
from tallymark.data.folds import make_folds


def test_with_truth_keeps_the_labelled_items(sets: Path) -> None:
    catalog = tallymark.read("wheat", sets / "wheat")
    labelled = catalog.with_truth()
    assert isinstance(labelled, LabelledCatalog)
    assert labelled.items.ids.to_list() == catalog.items.ids.filter(catalog.labelled).to_list()
    assert labelled.truth.items is labelled.items
    assert isinstance(labelled.select(np.arange(2)), LabelledCatalog)
    assert len(labelled.with_truth()) == len(labelled)


def test_without_truth_is_refused(sets: Path) -> None:
    catalog = tallymark.read("wheat", sets / "wheat")
    for unlabelled in (catalog.in_split("test"), replace(catalog, truth=None)):
        with pytest.raises(tallymark.BadInput, match="no_truth"):
            unlabelled.with_truth()


def test_the_reason_why_there_is_no_truth_is_told(sets: Path) -> None:
    """A folder that cannot be listed may have had the labelled items."""
    catalog = tallymark.read("wheat", sets / "wheat").in_split("test")
    catalog.notes.add(Problem("unreadable_folder", "train", "permission denied", "a folder", "change its permissions"))
    for refused in (catalog.with_truth, lambda: make_folds(catalog, 2)):
        with pytest.raises(tallymark.BadInput, match="permission denied") as caught:
            refused()
        assert caught.value.problems.counts == {"no_truth": 1, "unreadable_folder": 1}
