"""Files of the lyft challenge: volumes as `confidence x y z width length height yaw class`, one row per sample.

World coordinates in metres. The truth has the same form without the confidence.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl

from tallymark.challenges.lyft.rule import Reading
from tallymark.data.annotations import Annotations
from tallymark.data.geometry import Cuboids
from tallymark.problems import Problem, Problems, nearest
from tallymark.submit.dialect import Note, Row
from tallymark.submit.records import Records, RecordSheet, is_number

FORMS = ("official",)
CLASSES = (
    "car",
    "other_vehicle",
    "bus",
    "truck",
    "bicycle",
    "motorcycle",
    "pedestrian",
    "animal",
    "emergency_vehicle",
)
VOLUME = ("center_x", "center_y", "center_z", "width", "length", "height", "yaw", "class_name")
TRUTH = RecordSheet("Id", "PredictionString", VOLUME, word=True)
SHEET = RecordSheet("Id", "PredictionString", ("confidence", *VOLUME), word=True)

columns = SHEET.columns
filler = SHEET.filler


def read_truth(path: str | Path, reading: Reading, problems: Problems) -> Annotations[Cuboids] | None:
    """train.csv, with 8 tokens a volume; 9 with a leading confidence are read as well."""
    rows = TRUTH.open(path, problems)
    if rows is None:
        return None
    table, items = rows
    cells = table.text("PredictionString")
    example = next(iter(cells.filter(cells != "").head(1)), "").split()
    first_word = next((at for at, token in enumerate(example) if not is_number(token)), 7)
    sheet = SHEET if first_word == 8 else TRUTH
    return _annotations(sheet.split(table, items, problems), reading, problems)


def read(path: str | Path, reading: Reading, problems: Problems) -> Annotations[Cuboids] | None:
    records = SHEET.read(path, problems)
    return None if records is None else _annotations(records, reading, problems)


def _annotations(records: Records, reading: Reading, problems: Problems) -> Annotations[Cuboids]:
    flat = records.values[:, -4:-1].min(axis=1, initial=1) <= 0
    expected, remedy = "width, length and height above 0", "mend or drop the volume"
    records = records.refuse(flat, problems, "nonpositive_size", expected, remedy)
    classes = CLASSES
    if reading.unknown_class == "keep":
        classes = (*CLASSES, *sorted(set(records.words.unique()) - set(CLASSES)))
    label = records.words.cast(pl.Enum(classes), strict=False).to_physical()
    unknown = label.is_null().to_numpy()
    if unknown.any():
        remedy = nearest(records.words.filter(pl.Series(unknown))[0], CLASSES)
        records = records.refuse(unknown, problems, "unknown_class", "one of the nine classes", remedy)
        label = label.drop_nulls()
    return Annotations.gather(
        records.items,
        records.item,
        Cuboids.of(records.values[:, -7:]),
        label=label.to_numpy().astype(np.int64),
        score=records.values[:, 0].copy() if records.values.shape[1] == 8 else None,
        classes=classes,
    )


def write(annotations: Annotations[Cuboids], path: str | Path, form: str) -> None:
    names = pl.Series(annotations.classes)[annotations.kind]
    SHEET.write(annotations, [annotations.confidence, *annotations.shapes.columns, names], path)


def mend(rows: list[Row], reading: Reading, note: Note) -> list[dict[str, str]]:
    return SHEET.mend(rows, note, lambda tokens: _mend_volume(tokens, reading), words=CLASSES)


def _mend_volume(tokens: list[str], reading: Reading) -> tuple[list[str] | None, str]:
    if not all(is_number(token) for token in tokens[:-1]):
        return None, "dropped an unreadable volume"
    if any(float(token) <= 0 for token in tokens[4:7]):
        return None, "dropped a volume without size"
    if tokens[-1] not in CLASSES and reading.unknown_class == "error":
        return None, "dropped a volume of an unknown class"
    return tokens, ""


def folder_ids(folder: Path, problems: Problems) -> list[str]:
    """The tokens of `sample.json`, wherever it lies below the folder (that of the test set if there are several)."""
    tables = sorted(folder.rglob("sample.json"), key=lambda path: ("test" not in str(path.relative_to(folder)), path))
    if not tables:
        problems.add(
            Problem("empty_folder", str(folder), "no sample.json", "the tables of a data set", "name their folder")
        )
        return []
    try:
        samples = json.loads(tables[0].read_bytes())
        return [str(sample["token"]) for sample in samples]
    except (ValueError, TypeError, KeyError) as error:
        found = f"{type(error).__name__}: {error}"
        expected, remedy = "a list of samples with a token each", "unzip the tables again"
        problems.add(Problem("bad_json", str(tables[0]), found, expected, remedy))
        return []
