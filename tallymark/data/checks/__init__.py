"""Checking a data set: every file opened, every annotation judged, look-alikes found."""

from __future__ import annotations

from tallymark.core.problems import Problems
from tallymark.data.catalog import Catalog
from tallymark.data.checks.duplicates import check_twins
from tallymark.data.checks.media import check_media, inspect_all
from tallymark.data.checks.truth import check_truth

__all__ = ["check_catalog", "look_at_all"]


def check_catalog(catalog: Catalog, problems: Problems) -> None:
    """Everything that is wrong or odd in a data set that could be read."""
    problems.merge(catalog.notes)
    seen = inspect_all(catalog)
    check_media(catalog, seen, problems)
    check_truth(catalog, seen, problems)
    check_twins(catalog, seen, problems)
