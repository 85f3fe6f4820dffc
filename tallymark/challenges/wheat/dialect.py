"""Files of the wheat challenge: boxes as `confidence x y width height` in pixels, one row per image."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tallymark.challenges.wheat.rule import RuleOptions
from tallymark.core.problems import Problems
from tallymark.data.annotations import Annotations
from tallymark.data.items import unique_items
from tallymark.geometry import Boxes
from tallymark.io.folders import media_files, test_folder
from tallymark.io.suffixes import IMAGE_SUFFIXES
from tallymark.io.tables import number_text
from tallymark.io.tokens import read_numbers
from tallymark.submission.dialect import Note, Row
from tallymark.submission.prediction_string import PredictionStringColumn, is_number
from tallymark.submission.table_checks import open_table, read_ids

FORMS = ("official",)
SHEET = PredictionStringColumn("image_id", "PredictionString", ("confidence", "x", "y", "width", "height"))
SIDE = 1024
"""Side of the images in pixels; a repair clips boxes to it."""

columns = SHEET.columns
filler = SHEET.filler


def read_truth(path: str | Path, rule_options: RuleOptions, problems: Problems) -> Annotations[Boxes] | None:
    """train.csv: one row per box, `bbox` = "[xmin, ymin, width, height]"; an empty cell for an image without boxes."""
    table = open_table(path, ("image_id", "bbox"), problems)
    if table is None:
        return None
    table, ids = read_ids(table.select("image_id", "bbox", "source"), "image_id", problems)
    group = table.cells["source"] if "source" in table.header else None
    items, item = unique_items(ids, table.line, group)
    cells = table.text("bbox")
    brackets = (cells.str.starts_with("[") & cells.str.ends_with("]")).to_numpy()
    tokens = read_numbers(cells, separator=", ", brackets="[]")
    if np.isnan(tokens.values).any():  # perhaps other whitespace around the commas
        inner = cells.str.strip_prefix("[").str.strip_suffix("]").str.replace_all(r"\s*,\s*", ", ").str.strip_chars()
        tokens = read_numbers(inner, separator=", ")
    good = (tokens.counts == 4) & brackets | (cells.str.len_bytes() == 0).to_numpy()
    values = (tokens.values if good.all() else tokens.values[np.repeat(good, tokens.counts)]).reshape(-1, 4)
    row = np.flatnonzero(good & (tokens.counts == 4))
    finite = np.isfinite(values)
    wrong = np.zeros(len(row), bool) if finite.all() else ~finite.all(axis=1)
    bad = np.union1d(np.flatnonzero(~good), row[wrong])
    table.report(problems, "bad_bbox", bad, "bbox", "[xmin, ymin, width, height]", "write four finite numbers", ids=ids)
    negative = (values[:, 2] < 0) | (values[:, 3] < 0)
    table.report(
        problems, "negative_size", row[negative], "bbox", "width and height of 0 or more", "correct the box", ids=ids
    )
    unusable = wrong | negative
    if unusable.any():
        row, values = row[~unusable], values[~unusable]
    return Annotations.from_rows(items, item[row], Boxes.of(values), line=table.line[row])


def read(path: str | Path, rule_options: RuleOptions, problems: Problems) -> Annotations[Boxes] | None:
    records = SHEET.read(path, problems)
    if records is None:
        return None
    negative = (records.values[:, 3] < 0) | (records.values[:, 4] < 0)
    remedy = "write x y width height, not two corners"
    records = records.refuse(negative, problems, "negative_size", "width and height of 0 or more", remedy)
    return Annotations.from_rows(
        records.items, records.item, Boxes.of(records.values[:, 1:]), score=records.values[:, 0].copy()
    )


def write(annotations: Annotations[Boxes], path: str | Path, form: str) -> None:
    SHEET.write(annotations, _columns, path)


def _columns(annotations: Annotations[Boxes]) -> list[np.ndarray]:
    boxes = annotations.shapes
    return [annotations.scores, boxes.x, boxes.y, boxes.width, boxes.height]


def repair(rows: list[Row], rule_options: RuleOptions, note: Note) -> list[dict[str, str]]:
    return SHEET.repair(rows, note, _repair_box)


def _repair_box(tokens: list[str]) -> tuple[list[str] | None, str]:
    if not all(is_number(token) for token in tokens):
        return None, "dropped an unreadable box"
    box = Boxes.of(np.array([[float(token) for token in tokens[1:]]]))
    if box.width[0] < 0 or box.height[0] < 0:
        return None, "dropped a box of negative size"
    inside = box.x[0] >= 0 and box.y[0] >= 0 and box.x[0] + box.width[0] <= SIDE and box.y[0] + box.height[0] <= SIDE
    if inside:
        return tokens, ""
    clipped = box.clip_to(SIDE, SIDE)
    if clipped.area[0] == 0:
        return None, "dropped a box outside the image"
    sides = np.concatenate([clipped.x, clipped.y, clipped.width, clipped.height])
    return [tokens[0], *number_text(sides).to_list()], f"clipped a box to {SIDE} x {SIDE} px"


def folder_ids(folder: Path, problems: Problems) -> list[str]:
    return [path.stem for path in media_files(test_folder(folder), IMAGE_SUFFIXES, problems)]
