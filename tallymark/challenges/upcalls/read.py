"""The upcalls data set: recordings anywhere below a folder, and tables of calls in either published schema."""

from __future__ import annotations

from pathlib import Path

from tallymark.challenges.upcalls import dialect
from tallymark.challenges.upcalls.rule import Reading
from tallymark.data.audio import RECORDING
from tallymark.data.catalog import Catalog
from tallymark.data.folders import open_folder
from tallymark.data.recorded import read_recorded
from tallymark.formats import read_calls
from tallymark.problems import Problems

SCHEMAS = ({"filename", "timestamp"}, {"filename", "start", "end"})
ANSWERS = ("solution", "sample_submission", "submission", "folds", "problems")
"""Beginnings of names of tables that are not annotations."""


def read(folder: Path, reading: Reading, problems: Problems) -> Catalog | None:
    listed = open_folder(folder, problems)
    if listed is None:
        return None
    tables = [path for path in listed.ending({".csv"}) if not path.name.startswith(ANSWERS) and _is_ours(path)]
    if not tables and (foreign := read_calls(listed, problems)):
        return foreign
    return read_recorded(listed, RECORDING, tables, lambda path: dialect.read_truth(path, reading, problems), problems)


def _is_ours(path: Path) -> bool:
    """Whether the first line names the columns of a schema."""
    with path.open("rb") as file:
        first = file.readline(1 << 12).decode("utf-8", "replace").lstrip("\ufeff")
    header = {name.strip().strip('"') for name in first.split(",")}
    return any(schema <= header for schema in SCHEMAS)
