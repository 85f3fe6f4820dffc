"""The upcalls data set: recordings below a folder, and tables of calls in a published schema, or labels of clips."""

from __future__ import annotations

from pathlib import Path

from tallymark.challenges.upcalls import dialect
from tallymark.challenges.upcalls.rule import RuleOptions
from tallymark.core.problems import Problem, Problems
from tallymark.data.catalog import Catalog
from tallymark.data.event_labels import with_label_remarks
from tallymark.datasets.audio_dataset import read_audio_dataset
from tallymark.formats import read_calls
from tallymark.io.archives import open_file
from tallymark.io.audio import RECORDING
from tallymark.io.folders import open_folder
from tallymark.submission.clips import has_clip_labels

SCHEMAS = ({"filename", "timestamp"}, {"filename", "start", "end"})
ANSWERS = ("solution", "sample_submission", "submission", "folds", "problems")
"""Prefixes of the names of tables that are not annotations."""
FORMATS = "Raven selection tables or Audacity label tracks"


def read(folder: Path, rule_options: RuleOptions, problems: Problems) -> Catalog | None:
    listed = open_folder(folder, problems)
    if listed is None:
        return None
    lists = [path for path in listed.ending({".csv"}) if not path.name.startswith(ANSWERS)]
    headers = {path: _header(path) for path in lists}
    tables = [path for path in lists if any(schema <= set(headers[path]) for schema in SCHEMAS)]
    tables = tables or [path for path in lists if has_clip_labels(headers[path])]
    labels = dialect.label_filter(rule_options)
    if not tables and (foreign := read_calls(listed, labels, problems)):
        return with_label_remarks(foreign, labels, [labels], problems)
    filters = {str(path): labels.another() for path in tables}
    catalog = read_audio_dataset(
        listed, RECORDING, tables, lambda path: dialect.read_calls(path, filters[str(path)], problems), problems
    )
    if catalog is not None:
        used = set(catalog.tables)
        catalog = with_label_remarks(catalog, labels, [one for path, one in filters.items() if path in used], problems)
    if catalog is not None and not tables:
        expected, remedy = "filename,timestamp or filename,start,end", "rename its columns if it has annotations"
        for path in lists:
            catalog.notes.add(Problem("unused_table", str(path), "other columns", expected, remedy))
    return catalog


def _header(path: Path) -> list[str]:
    """The columns that the first line of a table names."""
    try:
        with open_file(path) as file:
            first = file.readline(1 << 12).decode("utf-8", "replace").lstrip("\ufeff")
    except OSError:
        return list(SCHEMAS[0])  # reported when it is read
    return [name.strip().strip('"') for name in first.split(",")]
