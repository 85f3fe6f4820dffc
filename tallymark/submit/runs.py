"""Mending masks that are written as runs of pixels."""

from __future__ import annotations

import re
from itertools import pairwise

from tallymark.submit.dialect import Note, Row
from tallymark.submit.records import is_number

Runs = list[tuple[int, int]]
"""Half-open stretches of pixels, ascending, without overlap; pixel 1 is the first."""


def mend_runs(row: Row, column: str, shape: tuple[int, int], note: Note) -> Runs:
    """The readable `start length` pairs of a cell, clipped to the picture, sorted and merged."""
    tokens, size = row.cells[column].split(), shape[0] * shape[1]
    if len(tokens) % 2:
        note(row, "dropped the number without a partner", tokens[-1], "")
    runs: Runs = []
    for start, length in zip(tokens[::2], tokens[1::2], strict=False):
        if not (_is_integer(start) and _is_integer(length)):
            note(row, "dropped an unreadable run", f"{start} {length}", "")
            continue
        whole = int(start), int(start) + int(length)
        run = max(whole[0], 1), min(whole[1], size + 1)
        if run[0] >= run[1]:
            note(row, "dropped a run without a pixel in the picture", f"{start} {length}", "")
            continue
        if run != whole:
            note(row, "clipped a run to the picture", f"{start} {length}", f"{run[0]} {run[1] - run[0]}")
        runs.append(run)
    merged = _merged(runs)
    if merged != runs and not _valid(runs):
        note(row, "sorted and merged runs", row.cells[column], _text(merged))
        return merged
    return runs


def without_contested(rows: list[Row], masks: list[Runs], note: Note) -> list[Runs]:
    """Masks without common pixels: a contested one goes to the more confident mask, else to the earlier.

    Confidence comes from a column `confidence` or `score`, if every row of the item has a number there.
    """
    turn = sorted(range(len(rows)), key=lambda at: (-_confidence(rows[at], rows), at))
    taken: Runs = []
    kept: list[Runs] = [[] for _ in rows]
    for at in turn:
        kept[at] = _subtract(masks[at], taken)
        lost = sum(stop - start for start, stop in masks[at]) - sum(stop - start for start, stop in kept[at])
        if lost:
            what = "gave contested pixels to another mask" if kept[at] else "dropped a mask that others cover"
            note(rows[at], what, f"{lost} pixels", "")
        taken = _merged(taken + masks[at])
    return kept


def _confidence(row: Row, rows: list[Row]) -> float:
    for name in ("confidence", "score"):
        if all(is_number(other.cells.get(name, "")) for other in rows):
            return float(row.cells[name])
    return 0.0


def _is_integer(token: str) -> bool:
    return re.fullmatch(r"[+-]?[0-9]{1,4000}", token) is not None


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


def _subtract(runs: Runs, taken: Runs) -> Runs:
    """What is left of `runs` outside `taken` (both ascending, without overlap)."""
    left: Runs = []
    at = 0
    for start, stop in runs:
        while at < len(taken) and taken[at][1] <= start:
            at += 1
        k = at
        while k < len(taken) and taken[k][0] < stop:
            if taken[k][0] > start:
                left.append((start, taken[k][0]))
            start = max(start, taken[k][1])
            k += 1
        if start < stop:
            left.append((start, stop))
    return left


def _text(runs: Runs) -> str:
    return " ".join(f"{start} {stop - start}" for start, stop in runs)
