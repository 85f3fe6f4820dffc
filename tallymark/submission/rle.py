"""Run-length encoding (RLE): masks as `start length` pairs, one mask per row, read and repaired."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import polars as pl

from tallymark.core.problems import Problems, clip
from tallymark.geometry import Masks
from tallymark.geometry.run_owners import share_out
from tallymark.io.tables import Table
from tallymark.io.tokens import NOT_AN_INTEGER, SMALL, read_numbers, split_cell
from tallymark.submission.dialect import Note, Row
from tallymark.submission.prediction_string import is_number

Runs = list[tuple[int, int]]
"""Half-open intervals (start, stop) of pixels, ascending, without overlap; pixel 1 is the first."""


def read_masks(
    table: Table, ids: pl.Series, column: str, shape: tuple[int, int], problems: Problems
) -> tuple[Masks, np.ndarray]:
    """The masks of an RLE column, and the row of each. Blank cells have no mask; invalid cells are reported."""
    cells = table.text(column)
    tokens = read_numbers(cells, pl.Int64)
    good = np.ones(len(cells), bool)

    def refuse(kind: str, rows: np.ndarray, expected: str, remedy: str) -> None:
        rows = np.unique(rows[good[rows]])  # one problem per row: others would follow from it
        good[rows] = False
        table.report(
            problems, kind, rows, column, expected, remedy, ids=ids, found=lambda row: _shown(cells[row], kind)
        )

    height, width = shape
    size = height * width
    bounds = f"pixels from 1 to {size} ({height} x {width})"
    refuse("token_count", np.flatnonzero(tokens.counts % 2), "start length pairs", "write an even number of values")
    values, count = tokens.values, np.where(good, tokens.counts // 2, 0)
    values = values if good.all() else values[np.repeat(good, tokens.counts)]
    values = values if size < SMALL else values.astype(np.int64)
    del tokens  # the largest of all
    start = np.ascontiguousarray(values[::2])
    length = np.ascontiguousarray(values[1::2])
    del values
    ends = np.cumsum(count)

    def rows_of(bad: np.ndarray) -> np.ndarray:
        return np.searchsorted(ends, np.flatnonzero(bad), "right")

    invalid = rows_of((start == NOT_AN_INTEGER) | (length == NOT_AN_INTEGER))
    huge = np.array([row for row in np.unique(invalid).tolist() if _all_integers(cells[row])], np.int64)
    refuse("out_of_bounds", huge, bounds, "correct the runs")
    refuse("not_an_integer", invalid, "integers", "write plain integers")
    refuse(
        "not_positive", rows_of((start < 1) | (length < 1)), "starts and lengths of at least 1", "count pixels from 1"
    )
    outside = (start > size) | (length > size - start + 1)
    refuse("out_of_bounds", rows_of(outside), bounds, "correct the runs, or read with shape=HEIGHTxWIDTH")
    last_of_row = np.zeros(len(start), bool)
    last_of_row[ends[count > 0] - 1] = True
    step = np.append(start[1:] - start[:-1], 0)[: len(start)]
    refuse("not_sorted", rows_of((step < 0) & ~last_of_row), "ascending starts", "sort the pairs")
    refuse("duplicate_pixel", rows_of((step < length) & ~last_of_row), "every pixel once", "merge the runs")
    if not good.all():
        kept = np.repeat(good, count)
        start = start[kept]
        length = length[kept]
    rows = np.flatnonzero(good & (count > 0))
    start -= 1
    return Masks(start, length, np.concatenate([[0], np.cumsum(count[rows])]), shape), rows


def _shown(cell: str, kind: str) -> str:
    return f"{len(split_cell(cell))} values in {clip(cell)}" if kind == "token_count" else clip(cell)


def _all_integers(cell: str) -> bool:
    return all(_INTEGER.fullmatch(token) for token in split_cell(cell))


_INTEGER = re.compile(r"[+-]?[0-9]+")


def repair_rle(row: Row, column: str, shape: tuple[int, int], note: Note) -> Runs:
    """The readable runs of a cell, clipped to an image of (height, width), sorted and merged."""
    tokens = row.cells[column].split()
    size = shape[0] * shape[1]
    if len(tokens) % 2:
        note(row, "dropped a start without a length", tokens[-1], "")
    runs: Runs = []
    for start, length in zip(tokens[::2], tokens[1::2], strict=False):
        if not (_is_integer(start) and _is_integer(length)):
            note(row, "dropped an unreadable run", f"{start} {length}", "")
            continue
        stated = int(start), int(start) + int(length)
        run = max(stated[0], 1), min(stated[1], size + 1)
        if run[0] >= run[1]:
            note(row, "dropped a run outside the image", f"{start} {length}", "")
            continue
        if run != stated:
            note(row, "clipped a run to the image", f"{start} {length}", f"{run[0]} {run[1] - run[0]}")
        runs.append(run)
    merged = _merged(runs)
    if merged != runs and not _valid(runs):
        note(row, "sorted and merged runs", row.cells[column], _text(merged))
        return merged
    return runs


def remove_overlaps(rows: list[Row], masks: list[Runs], note: Note) -> list[Runs]:
    """Masks without common pixels: a shared pixel is kept by the more confident mask, or the earlier of two equals.

    The confidence is in a column `confidence` or `score`, if every row of the item has a number there.
    """
    confidence = _confidences(rows)
    order = sorted(range(len(rows)), key=lambda at: (-confidence[at], at))
    kept: list[Runs] = [[] for _ in rows]
    for at, own in zip(order, _share_out([masks[at] for at in order]), strict=True):
        kept[at] = own
        lost = sum(stop - start for start, stop in masks[at]) - sum(stop - start for start, stop in own)
        if lost:
            what = "gave overlapping pixels to another mask" if own else "dropped a mask that others cover"
            note(rows[at], what, f"{lost} pixels", "")
    return kept


def _confidences(rows: list[Row]) -> list[float]:
    for name in ("confidence", "score"):
        if all(is_number(row.cells.get(name, "")) for row in rows):
            return [float(row.cells[name]) for row in rows]
    return [0.0] * len(rows)


def _share_out(masks: list[Runs]) -> list[Runs]:
    """The pixels of each mask that no earlier one has."""
    shared: list[Runs] = [[] for _ in masks]
    runs = ((start, mask, stop) for mask, own in enumerate(masks) for start, stop in own)
    for start, stop, (begin, mask, _) in share_out(runs):
        own = shared[mask]
        if own and own[-1][1] == start > begin:  # the same run goes on
            own[-1] = own[-1][0], stop
        else:
            own.append((start, stop))
    return shared


def _is_integer(token: str) -> bool:
    return len(token) < 4000 and _INTEGER.fullmatch(token) is not None  # Python rejects longer ones


def _valid(runs: Runs) -> bool:
    return all(before[1] <= after[0] for before, after in pairwise(runs))


def _merged(runs: Runs) -> Runs:
    merged: Runs = []
    for start, stop in sorted(runs):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(stop, merged[-1][1])
        else:
            merged.append((start, stop))
    return merged


def _text(runs: Runs) -> str:
    return " ".join(f"{start} {stop - start}" for start, stop in runs)
