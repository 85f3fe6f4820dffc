"""Files of the lyft challenge: 3D boxes as `confidence x y z width length height yaw class`, one row per sample.

World coordinates, in metres. The truth has no confidence. A submission may also be a nuScenes results file.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from tallymark.challenges.lyft.rule import RuleOptions
from tallymark.core.problems import Problems, nearest
from tallymark.data.annotations import Annotations
from tallymark.geometry import Cuboids
from tallymark.io.nuscenes_tables import is_json, sample_tokens
from tallymark.submission.dialect import Note, Row
from tallymark.submission.prediction_string import PredictionStringColumn, PredictionStrings, is_number

FORMS = ("official", "nuscenes")
SUFFIXES = (".csv", ".json")
CLASSES = (
    "car", "other_vehicle", "bus", "truck", "bicycle", "motorcycle", "pedestrian", "animal", "emergency_vehicle",
)  # fmt: skip
CUBOID = ("center_x", "center_y", "center_z", "width", "length", "height", "yaw", "class_name")
TRUTH = PredictionStringColumn("Id", "PredictionString", CUBOID, word=True)
SHEET = PredictionStringColumn("Id", "PredictionString", ("confidence", *CUBOID), word=True)

columns = SHEET.columns
filler = SHEET.filler
folder_ids = sample_tokens


def read_truth(path: str | Path, rule_options: RuleOptions, problems: Problems) -> Annotations[Cuboids] | None:
    """train.csv, with 8 values per 3D box; 9 values, with a leading confidence, are read as well."""
    rows = TRUTH.open(path, problems)
    if rows is None:
        return None
    table, items = rows
    cells = table.text("PredictionString")
    example = next(iter(cells.filter(cells != "").head(1)), "").split()
    first_word = next((at for at, token in enumerate(example) if not is_number(token)), 7)
    sheet = SHEET if first_word == 8 else TRUTH
    return _annotations(sheet.split(table, items, problems), rule_options, problems)


def read(path: str | Path, rule_options: RuleOptions, problems: Problems) -> Annotations[Cuboids] | None:
    if is_json(path):
        from tallymark.formats.nuscenes import read_nuscenes

        return read_nuscenes(path, CLASSES, problems, keep_unknown=rule_options.unknown_class == "keep")
    records = SHEET.read(path, problems)
    return None if records is None else _annotations(records, rule_options, problems)


def _annotations(records: PredictionStrings, rule_options: RuleOptions, problems: Problems) -> Annotations[Cuboids]:
    flat = records.values[:, -4:-1].min(axis=1, initial=1) <= 0
    expected, remedy = "width, length and height above 0", "correct or remove the 3D box"
    records = records.refuse(flat, problems, "nonpositive_size", expected, remedy)
    classes = CLASSES
    if rule_options.unknown_class == "keep":
        classes = (*CLASSES, *sorted(set(records.words.unique()) - set(CLASSES)))
    label = records.words.cast(pl.Enum(classes), strict=False).to_physical()
    unknown = label.is_null().to_numpy()
    if unknown.any():
        remedy = nearest(records.words.filter(pl.Series(unknown))[0], CLASSES)
        records = records.refuse(unknown, problems, "unknown_class", "one of the nine classes", remedy)
        label = label.drop_nulls()
    return Annotations.from_rows(
        records.items,
        records.item,
        Cuboids.of(records.values[:, -7:]),
        label=label.to_numpy().astype(np.int64),
        score=records.values[:, 0].copy() if records.values.shape[1] == 8 else None,
        classes=classes,
    )


def write(annotations: Annotations[Cuboids], path: str | Path, form: str) -> None:
    if form == "nuscenes":
        from tallymark.formats.nuscenes import write_nuscenes

        return write_nuscenes(annotations, path)
    return SHEET.write(annotations, lambda part: [part.scores, *truth_columns(part)], path)


def truth_columns(annotations: Annotations[Cuboids]) -> list[np.ndarray | pl.Series]:
    """The values of an object in the truth: center, size, yaw and the name of its class."""
    return [*annotations.shapes.columns, pl.Series(annotations.classes)[annotations.labels]]


def repair(rows: list[Row], rule_options: RuleOptions, note: Note) -> list[dict[str, str]]:
    return SHEET.repair(rows, note, lambda tokens: _repair_cuboid(tokens, rule_options), words=CLASSES)


def _repair_cuboid(tokens: list[str], rule_options: RuleOptions) -> tuple[list[str] | None, str]:
    if not all(is_number(token) for token in tokens[:-1]):
        return None, "dropped an unreadable 3D box"
    if any(float(token) <= 0 for token in tokens[4:7]):
        return None, "dropped a 3D box without size"
    if tokens[-1] not in CLASSES and (lower := tokens[-1].lower()) in CLASSES:
        return [*tokens[:-1], lower], "wrote a class name in lower case"
    if tokens[-1] not in CLASSES and rule_options.unknown_class == "error":
        return None, "dropped a 3D box of an unknown class"
    return tokens, ""
