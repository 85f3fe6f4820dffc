"""The upcalls data set: recordings below a folder, and tables of calls in a published schema, or labels of clips."""

from __future__ import annotations

from pathlib import Path

from tallymark.challenges.upcalls import dialect
from tallymark.challenges.upcalls.rule import RuleOptions
from tallymark.core.problems import Problem, Problems
from tallymark.data.catalog import Catalog
from tallymark.data.event_labels import with_label_remarks
from tallymark.data.recording_clock import RecordingClock
from tallymark.data.recording_days import grouped_by_day
from tallymark.datasets.audio_dataset import read_audio_dataset
from tallymark.formats import read_calls
from tallymark.io.audio import RECORDING
from tallymark.io.folders import open_folder
from tallymark.io.tables import header_of
from tallymark.submission.clips import has_clip_labels

SCHEMAS = ({"filename", "timestamp"}, {"filename", "start", "end"})
ANSWERS = ("solution", "sample_submission", "submission", "folds", "problems")
"""Prefixes of the names of tables that are not annotations."""
FORMATS = "Raven selection tables or Audacity label tracks"


def read(folder: Path, rule_options: RuleOptions, problems: Problems) -> Catalog | None:
    clock = RecordingClock(rule_options.time_pattern, rule_options.time_zone)
    clock.validate()
    catalog = _read(folder, rule_options, problems)
    return catalog if catalog is None or clock == catalog.clock else grouped_by_day(catalog, clock)


def _read(folder: Path, rule_options: RuleOptions, problems: Problems) -> Catalog | None:
    listed = open_folder(folder, problems)
    if listed is None:
        return None
    lists = [path for path in listed.ending({".csv"}) if not path.name.startswith(ANSWERS)]
    # what is no table is reported when it is read
    headers = {path: header_of(path) or list(SCHEMAS[0]) for path in lists}
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
