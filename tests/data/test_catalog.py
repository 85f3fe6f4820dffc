"""Catalogs: the labelled items, with truth that is always there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tallymark
from tallymark.data.catalog import LabelledCatalog


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
