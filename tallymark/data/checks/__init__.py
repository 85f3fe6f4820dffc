"""Checks of a data set: media files, annotations, duplicates and leakage between splits."""

from __future__ import annotations

from tallymark.core.engines.choice import BY_DEFAULT, EngineChoice
from tallymark.core.problems import Problems
from tallymark.data.catalog import Catalog
from tallymark.data.checks.duplicates import check_duplicates
from tallymark.data.checks.media import check_media, inspect_all
from tallymark.data.checks.truth import check_truth

__all__ = ["check_catalog"]


def check_catalog(catalog: Catalog, problems: Problems, engine: EngineChoice = BY_DEFAULT) -> None:
    """Report everything that is wrong or suspicious in a data set that could be read. engine: opens its files."""
    problems.merge(catalog.notes)
    inspections = inspect_all(catalog, engine)
    check_media(catalog, inspections, problems, engine)
    check_truth(catalog, inspections, problems)
    check_duplicates(catalog, inspections, problems)
