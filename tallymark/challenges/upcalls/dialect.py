"""Files of the upcalls challenge: `filename,timestamp` in seconds from the start of the recording."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from tallymark.challenges.upcalls.rule import RuleOptions
from tallymark.challenges.upcalls.script.metrics import is_label_column, is_upcall
from tallymark.core.problems import Problems
from tallymark.data.annotations import Annotations
from tallymark.data.event_labels import LabelFilter, label_remarks, no_such_label
from tallymark.data.items import unique_items
from tallymark.geometry import Events
from tallymark.io.folders import media_files, test_folder
from tallymark.io.suffixes import AUDIO_SUFFIXES
from tallymark.io.tables import Table, number_text, read_table, write_table
from tallymark.submission import clips
from tallymark.submission.dialect import Note, Row
from tallymark.submission.prediction_string import is_number
from tallymark.submission.table_checks import bad_header, read_ids, read_numbers, require_columns, score_column

FORMS = ("official", "scored", "clips")
"""The two columns of the challenge; a third one, `score`, which the published script ignores; a row for each clip."""
HEADER = ["filename", "timestamp"]
SECONDS = ("a finite number of seconds", "write seconds as a plain decimal number")


def label_filter(rule_options: RuleOptions) -> LabelFilter:
    """The labels that count: those that are asked for, else those of upcalls."""
    return LabelFilter.of(rule_options.labels, lambda row: all(map(is_upcall, row)), is_label_column, "upcalls")


def read_truth(path: str | Path, rule_options: RuleOptions, problems: Problems) -> Annotations[Events] | None:
    """A table in either schema; excluded labels are a remark, and a problem if there are no others."""
    labels = label_filter(rule_options)
    truth = read_calls(path, labels, problems)
    if labels.excluded and truth is not None and not len(truth):
        problems.add(no_such_label(labels, labels.excluded, str(path)))
    problems.remarks += label_remarks(labels, labels.excluded)
    return truth


def read_calls(path: str | Path, labels: LabelFilter, problems: Problems) -> Annotations[Events] | None:
    """Both published schemas: `filename,timestamp,label`, or `filename,start,end,label`, whose centre counts."""
    table = read_table(path, problems)
    if table is None:
        return None
    if clips.has_clip_labels(table.header):
        return clips.read_clip_labels(table, problems)
    if not {"filename", "timestamp"} <= set(table.header) and not {"filename", "start", "end"} <= set(table.header):
        expected = "filename,timestamp,label or filename,start,end,label"
        bad_header(table, expected, "name the columns of either schema", problems)
        return None
    table, ids = read_ids(table, "filename", problems)
    length = None
    if "timestamp" in table.header:
        time = read_numbers(table, "timestamp", ids, SECONDS, problems)
    else:
        start = read_numbers(table, "start", ids, SECONDS, problems)
        end = read_numbers(table, "end", ids, SECONDS, problems)
        backward = np.flatnonzero(end < start)
        table.report(
            problems, "negative_duration", backward, "end", "an end after the start", "correct the row", ids=ids
        )
        time, length = (start + end) / 2, end - start
    columns = [table.text(name) for name in table.header if labels.is_column(name)]
    kept = labels.kept_rows(columns, len(table))
    return _annotations(table, ids, np.where(kept, time, np.nan), length)


def read(path: str | Path, rule_options: RuleOptions, problems: Problems) -> Annotations[Events] | None:
    """Detections; columns other than filename and timestamp are ignored by the rule, as in the published script."""
    table = read_table(path, problems)
    if table is not None and clips.has_clip_probabilities(table.header):
        return clips.read_clip_probabilities(table, problems)
    table = None if table is None else require_columns(table, HEADER, problems)
    if table is None:
        return None
    table, ids = read_ids(table, "filename", problems)
    return _annotations(table, ids, read_numbers(table, "timestamp", ids, SECONDS, problems), score=score_column(table))


def _annotations(
    table: Table, ids: pl.Series, time: np.ndarray, length: np.ndarray | None = None, score: np.ndarray | None = None
) -> Annotations[Events]:
    items, item = unique_items(ids, table.line)
    good = np.flatnonzero(np.isfinite(time))
    known = None if score is None else score[good]
    return Annotations.from_rows(items, item[good], Events(time, length).take(good), score=known, line=table.line[good])


def write(annotations: Annotations[Events], path: str | Path, form: str) -> None:
    """One row per detection; in the form `scored` with its confidence, where the detections have one."""
    if form == "clips":
        return clips.write_clip_probabilities(annotations, path)
    table = {
        "filename": annotations.items.ids[annotations.item],
        "timestamp": number_text(clips.known_times(annotations, path)),
    }
    if form == "scored" and annotations.score is not None:
        table["score"] = number_text(annotations.score)
    return write_table(path, table)


def columns(header: list[str], rule_options: RuleOptions) -> list[str] | None:
    return HEADER if set(HEADER) <= set(header) else None


def filler(header: list[str], rule_options: RuleOptions) -> None:
    """A recording without detections has no row."""


def repair(rows: list[Row], rule_options: RuleOptions, note: Note) -> list[dict[str, str]]:
    kept = []
    for row in rows:
        if is_number(row.cells["timestamp"]):
            kept.append({"timestamp": row.cells["timestamp"]})
        else:
            note(row, "dropped an unreadable timestamp", row.cells["timestamp"], "")
    return kept


def folder_ids(folder: Path, problems: Problems) -> list[str]:
    """Names of recordings, with and without the folders that they are in: submissions have either."""
    root = test_folder(folder)
    files = media_files(root, AUDIO_SUFFIXES, problems)
    return list(dict.fromkeys(name for path in files for name in (path.name, path.relative_to(root).as_posix())))
