"""Sample submissions: the ids that a submission must have, in their order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tallymark.core.problems import Problems
from tallymark.data.items import Items
from tallymark.io.folders import Folder, normalize_name
from tallymark.io.tables import read_table
from tallymark.submission.dialect import Dialect
from tallymark.submission.table_checks import bad_header, read_ids, without_break_tags

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

NAME, SUFFIXES = "sample_submission", (".csv", ".csv.zip")
"""How the names of sample submissions begin and end; sample_submission_v2.csv is one."""


@dataclass(frozen=True, eq=False)
class Sample:
    """The ids of a sample submission, each once."""

    path: Path
    items: Items

    def find_in(self, items: Items) -> np.ndarray:
        """For each id of the sample the index of the item that it means; -1 if there is none.

        Ids are the same up to upper and lower case, and up to the suffix of a file: a.jpg, A.JPG and a.
        """
        index = items.find(self.items.ids).copy()
        for spelling in (normalize_name, _stem):
            if (index >= 0).all():
                break
            known = _unique(items.ids, spelling)
            for at in np.flatnonzero(index < 0).tolist():
                index[at] = known.get(spelling(self.items.ids[at]), -1)
        return index


def find_samples(listed: Folder) -> list[Path]:
    """The sample submissions of a data set, those nearest to its root only."""
    found = [path for path in listed.files if path.name.startswith(NAME) and path.name.endswith(SUFFIXES)]
    nearest = min((len(path.parts) for path in found), default=0)
    return [path for path in found if len(path.parts) == nearest]


def read_sample(dialect: Dialect, path: Path, rule_options: DataclassInstance, problems: Problems) -> Sample | None:
    """The ids of a sample submission; what it has as predictions does not matter. None, with a problem, without any."""
    table = read_table(path, problems)
    if table is None:
        return None
    table = without_break_tags(table)[0]
    header = dialect.columns(table.header, rule_options)
    if header is None:
        bad_header(table, "the columns of a submission", "give a sample submission of this challenge", problems)
        return None
    _, ids = read_ids(table, header[0], problems)
    return Sample(path, Items(ids.unique(maintain_order=True)))


def _stem(name: str) -> str:
    path = PurePosixPath(normalize_name(name))
    return str(path.with_suffix("")) if path.name else str(path)


def _unique(ids: pl.Series, spelling: Callable[[str], str]) -> dict[str, int]:
    """The index of each item by another spelling of its id, where only one has it."""
    known: dict[str, int] = {}
    for at, name in enumerate(ids):
        key = spelling(name)
        known[key] = -1 if key in known else at
    return known
