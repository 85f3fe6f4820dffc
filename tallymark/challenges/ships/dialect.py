"""Files of the ships challenge: one row per ship, run-length encoded down the columns; pixel 1 is the upper left."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from tallymark.challenges.ships.rule import RuleOptions
from tallymark.core.problems import Problems
from tallymark.data.annotations import Annotations
from tallymark.data.items import unique_items
from tallymark.geometry import Masks
from tallymark.geometry.run_owners import first_collisions
from tallymark.io.folders import media_files, test_folder
from tallymark.io.suffixes import IMAGE_SUFFIXES
from tallymark.io.tables import Table, number_text, write_parts
from tallymark.submission.dialect import Note, Row
from tallymark.submission.rle import read_masks, remove_overlaps, repair_rle
from tallymark.submission.table_checks import open_table, read_ids

FORMS = ("official",)
HEADER = ["ImageId", "EncodedPixels"]


def read_truth(path: str | Path, rule_options: RuleOptions, problems: Problems) -> Annotations[Masks] | None:
    """train_ship_segmentations.csv. Masks may overlap here: only those of a submission must not."""
    read = _read(path, rule_options, problems, exactly=False)
    return None if read is None else read[0]


def read(path: str | Path, rule_options: RuleOptions, problems: Problems) -> Annotations[Masks] | None:
    found = _read(path, rule_options, problems, exactly=True)
    if found is None:
        return None
    masks, table, row = found
    _report_overlaps(masks, table, row, problems)
    return masks


def _read(
    path: str | Path, rule_options: RuleOptions, problems: Problems, *, exactly: bool
) -> tuple[Annotations[Masks], Table, np.ndarray] | None:
    """The masks that can be read, their table, and the row of each mask."""
    table = open_table(path, HEADER, problems, exactly=exactly)
    if table is None:
        return None
    table, ids = read_ids(table, "ImageId", problems)
    items, item = unique_items(ids, table.line)
    masks, row = read_masks(table, ids, "EncodedPixels", rule_options.shape, problems)
    found = Annotations.from_rows(items, item[row], masks, line=table.line[row])
    return found, table, row[np.argsort(item[row], kind="stable")]


def _report_overlaps(masks: Annotations[Masks], table: Table, row: np.ndarray, problems: Problems) -> None:
    shared = first_collisions(masks.shapes, masks.item)
    later = np.sort(row[shared.second])
    partner = dict(zip(row[shared.second].tolist(), table.line[row[shared.first]].tolist(), strict=True))
    pixels = dict(zip(row[shared.second].tolist(), shared.intersection.tolist(), strict=True))
    table.report(
        problems,
        "overlapping_masks",
        later,
        "EncodedPixels",
        "masks of one image without a common pixel",
        "assign each pixel to one ship (`tallymark repair` does)",
        ids=table.text("ImageId"),
        found=lambda at: f"{pixels[at]} pixels shared with line {partner[at]}",
    )


def write(annotations: Annotations[Masks], path: str | Path, form: str) -> None:
    """One row per mask; images without one get a row with an empty cell."""
    write_parts(path, map(_rows, annotations.parts()))


def _rows(annotations: Annotations[Masks]) -> dict[str, pl.Series]:
    masks = annotations.shapes
    pairs = pl.select(pl.concat_str([number_text(masks.start + 1), number_text(masks.length)], separator=" "))
    owner = np.repeat(np.arange(len(masks)), np.diff(masks.offsets))
    texts = (
        pl.DataFrame({"mask": owner, "text": pairs.to_series()})
        .group_by("mask", maintain_order=True)
        .agg(pl.col("text").str.join(" "))
    )
    item = pl.DataFrame({"item": annotations.item, "mask": np.arange(len(masks))}).join(texts, "mask", "left")
    rows = pl.DataFrame({"item": np.arange(len(annotations.items)), "id": annotations.items.ids})
    rows = rows.join(item, "item", "left").sort(["item", "mask"])
    return {"ImageId": rows["id"], "EncodedPixels": rows["text"]}


def columns(header: list[str], rule_options: RuleOptions) -> list[str] | None:
    return HEADER if set(HEADER) <= set(header) else None


def filler(header: list[str], rule_options: RuleOptions) -> dict[str, str]:
    return {"EncodedPixels": ""}


def repair(rows: list[Row], rule_options: RuleOptions, note: Note) -> list[dict[str, str]]:
    """Runs are parsed, clipped, sorted and joined; pixels of two masks go to the more confident or earlier one."""
    masks = [repair_rle(row, "EncodedPixels", rule_options.shape, note) for row in rows]
    masks = remove_overlaps(rows, masks, note)
    kept = [" ".join(f"{start} {stop - start}" for start, stop in runs) for runs in masks if runs]
    return [{"EncodedPixels": text} for text in kept or [""]]


def folder_ids(folder: Path, problems: Problems) -> list[str]:
    return [path.name for path in media_files(test_folder(folder), IMAGE_SUFFIXES, problems)]
