"""Files of the ships challenge: one row per ship, `start length` pairs down the columns, pixel 1 the upper left."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl

from tallymark.challenges.ships.rule import Reading
from tallymark.data.annotations import Annotations
from tallymark.data.folders import PICTURES, media_files, test_part
from tallymark.data.geometry import Masks
from tallymark.data.items import first_seen
from tallymark.data.tables import Table, number_text, write_table
from tallymark.data.tokens import NOT_AN_INTEGER, Tokens, read_numbers
from tallymark.problems import Problems, clip
from tallymark.submit.dialect import Note, Row
from tallymark.submit.rows import open_table, read_ids
from tallymark.submit.runs import mend_runs, without_contested

FORMS = ("official",)
HEADER = ["ImageId", "EncodedPixels"]


def read_truth(path: str | Path, reading: Reading, problems: Problems) -> Annotations[Masks] | None:
    """train_ship_segmentations.csv. Overlapping masks are accepted here: only predictions must not overlap."""
    read = _read(path, reading, problems, exactly=False)
    return None if read is None else read[0]


def read(path: str | Path, reading: Reading, problems: Problems) -> Annotations[Masks] | None:
    found = _read(path, reading, problems, exactly=True)
    if found is None:
        return None
    masks, table, row = found
    _report_overlaps(masks, table, row, problems)
    return masks


def _read(
    path: str | Path, reading: Reading, problems: Problems, *, exactly: bool
) -> tuple[Annotations[Masks], Table, np.ndarray] | None:
    """The masks that can be read, their table, and the row of each mask."""
    table = open_table(path, HEADER, problems, exactly=exactly)
    if table is None:
        return None
    table, ids = read_ids(table, "ImageId", problems)
    items, item = first_seen(ids, table.line)
    cells = table.text("EncodedPixels")
    tokens = read_numbers(cells, pl.Int64)
    good = _check_runs(table, ids, cells, tokens, reading, problems) & (tokens.counts > 0)
    values = tokens.values[np.repeat(good, tokens.counts)].reshape(-1, 2)
    row = np.flatnonzero(good)
    row = row[np.argsort(item[row], kind="stable")] if (np.diff(item) < 0).any() else row
    offsets = np.concatenate([[0], np.cumsum(tokens.counts[good] // 2)])
    masks = Masks(values[:, 0] - 1, np.ascontiguousarray(values[:, 1]), offsets, reading.shape)
    return Annotations.gather(items, item[good], masks), table, row


def _check_runs(
    table: Table, ids: pl.Series, cells: pl.Series, tokens: Tokens, reading: Reading, problems: Problems
) -> np.ndarray:
    """Report every row whose runs are not a mask; true where they are."""
    rows = len(tokens.counts)
    good = np.ones(rows, bool)

    def refuse(kind: str, bad: np.ndarray, expected: str, remedy: str) -> None:
        if bad.any():
            good[bad] = False
            found = "{} values in {}" if kind == "token_count" else "{1}"
            table.report(
                problems,
                kind,
                np.flatnonzero(bad),
                "EncodedPixels",
                expected,
                remedy,
                ids=ids,
                found=lambda row: found.format(tokens.counts[row], clip(cells[row])),
            )

    def rows_with(bad: np.ndarray, row: np.ndarray) -> np.ndarray:
        return np.bincount(row[bad], minlength=rows) > 0

    refuse("token_count", tokens.counts % 2 != 0, "start length pairs", "write an even count of numbers")
    bad = rows_with(tokens.values == NOT_AN_INTEGER, tokens.row)
    if bad.any():
        too_large = np.zeros(rows, bool)
        too_large[bad] = [_only_integers(cell) for cell in cells.filter(pl.Series(bad))]
        refuse("out_of_bounds", too_large, _bounds(reading), "mend the runs")
        refuse("not_an_integer", bad & ~too_large, "whole numbers", "write plain whole numbers")
    values = tokens.values[np.repeat(good, tokens.counts)].reshape(-1, 2)
    start, length = values[:, 0], values[:, 1]
    row = np.repeat(np.arange(rows), np.where(good, tokens.counts // 2, 0))
    size = reading.shape[0] * reading.shape[1]
    refuse(
        "not_positive",
        rows_with((start < 1) | (length < 1), row),
        "starts and lengths from 1 on",
        "pixel 1 is the first",
    )
    outside = (start > size) | (length > size) | (np.minimum(start, size) + np.minimum(length, size) > size + 1)
    refuse("out_of_bounds", rows_with(outside, row), _bounds(reading), "mend the runs or read with shape=HEIGHTxWIDTH")
    same = row[1:] == row[:-1]
    falling = same & (start[1:] < start[:-1])
    refuse("not_sorted", rows_with(falling, row[1:]), "ascending starts", "sort the pairs")
    # Lengths are only added where the row is inside the picture, so that nothing overflows.
    touching = same & ~falling & (start[1:] - start[:-1] < length[:-1])
    refuse("duplicate_pixel", rows_with(touching, row[1:]), "every pixel once", "merge the runs")
    return good


def _bounds(reading: Reading) -> str:
    height, width = reading.shape
    return f"pixels from 1 to {height * width} ({height} x {width})"


def _only_integers(cell: str) -> bool:
    return all(re.fullmatch(r"[+-]?[0-9]+", token) for token in cell.split())


def _report_overlaps(masks: Annotations[Masks], table: Table, row: np.ndarray, problems: Problems) -> None:
    shared = masks.shapes.pairs(masks.shapes, masks.item, masks.item)
    earlier = row[shared.first] < row[shared.second]
    if not earlier.any():
        return
    first, second = row[shared.first[earlier]], row[shared.second[earlier]]
    later, at = np.unique(second, return_index=True)
    partner = dict(zip(later.tolist(), table.line[first[at]].tolist(), strict=True))
    pixels = dict(zip(later.tolist(), shared.intersection[earlier][at].tolist(), strict=True))
    table.report(
        problems,
        "overlapping_masks",
        later,
        "EncodedPixels",
        "masks of one chip without a common pixel",
        "give each pixel to one ship (tallymark repair does)",
        ids=table.text("ImageId"),
        found=lambda at: f"{pixels[at]} pixels shared with line {partner[at]}",
    )


def write(annotations: Annotations[Masks], path: str | Path, form: str) -> None:
    """One row per mask; chips without one get a blank row."""
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
    write_table(path, {"ImageId": rows["id"], "EncodedPixels": rows["text"]})


def columns(header: list[str]) -> list[str] | None:
    return HEADER if set(HEADER) <= set(header) else None


def filler(header: list[str], reading: Reading) -> dict[str, str]:
    return {"EncodedPixels": ""}


def mend(rows: list[Row], reading: Reading, note: Note) -> list[dict[str, str]]:
    """Runs read, clipped, sorted and merged; pixels that two ships claim go to the more confident or earlier one."""
    masks = [mend_runs(row, "EncodedPixels", reading.shape, note) for row in rows]
    masks = without_contested(rows, masks, note)
    kept = [" ".join(f"{start} {stop - start}" for start, stop in runs) for runs in masks if runs]
    return [{"EncodedPixels": text} for text in kept or [""]]


def folder_ids(folder: Path, problems: Problems) -> list[str]:
    return [path.name for path in media_files(test_part(folder), PICTURES, problems)]
