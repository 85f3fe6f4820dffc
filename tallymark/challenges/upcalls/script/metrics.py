"""Precision, recall and F1 of detected right-whale upcalls:

    python metrics.py annotations/annotations_test.csv detections.csv

The annotations are `filename,timestamp,label` or `filename,start,end,label`, whose midpoint counts; the detections
`filename,timestamp`. Times are seconds from the start of the recording. A call is a true positive if any detection in
its recording is at most 1.5 s away, else a false negative; a detection with no call that near is a false positive.

This file needs Python 3.9 or later and nothing else. `tallymark score upcalls` prints the same numbers, and more.
"""

from __future__ import annotations

import csv
import math
import re
import sys
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

Times = Mapping[str, Sequence[float]]
"""Seconds, by recording."""

BUFFER = 1.5
"""Seconds."""
LABEL_COLUMNS = ("label", "labels", "annotation", "annotations", "species", "calltype", "soundtype", "class")
"""Columns with the label of a call, in lower case without spaces and underscores."""
WORDS = {
    "up", "upcall", "upcalls", "upsweep", "call", "calls", "contact",
    "narw", "rw", "eg", "eubalaena", "glacialis", "north", "atlantic", "right", "whale", "whales",
    "certain", "definite", "clear", "faint", "detection", "event", "yes", "true", "present",
}  # fmt: skip
"""The words that labels of an upcall are made of; one with another word, as `uncertain` or `humpback`, is none."""


def is_upcall(label: str) -> bool:
    """Whether a label means an upcall: blank, 1, or made of `WORDS` only, as `up`, `NARW upcall` or `RW_Upcall_2`."""
    text = label.strip()
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", text)
    if not words:
        return text in ("", "-", "1", "1.0")
    return "?" not in text and text.isascii() and all(word.lower() in WORDS for word in words)


def is_label_column(name: str) -> bool:
    """Whether a column has the labels of calls, by its name."""
    return re.sub(r"[\s_-]", "", name).lower() in LABEL_COLUMNS


def read_times(path: str, schemas: Sequence[Sequence[str]]) -> tuple[Times, Counter[str]]:
    """The times in each recording of a table that has the columns of one of the schemas, and the excluded labels."""
    times: dict[str, list[float]] = defaultdict(list)
    excluded: Counter[str] = Counter()
    with Path(path).open(newline="", encoding="utf-8-sig") as file:
        rows = csv.DictReader(file)
        header = [name.strip() for name in rows.fieldnames or ()]
        rows.fieldnames = header
        columns = next((names for names in schemas if {"filename", *names} <= set(header)), None)
        if columns is None:
            sys.exit(f"{path}: expected the columns {' or '.join(','.join(('filename', *names)) for names in schemas)}")
        labels = [name for name in header if is_label_column(name)] if len(schemas) > 1 else []
        for row in rows:
            cells = [(row[name] or "").strip() for name in ("filename", *columns)]
            try:
                values = [float(cell) for cell in cells[1:]]
            except ValueError:
                values = [math.nan]
            if not cells[0] or not all(map(math.isfinite, values)):
                sys.exit(f"{path}, line {rows.line_num}: expected a file name and seconds, found {','.join(cells)}")
            if all(is_upcall(row[name] or "") for name in labels):
                times[cells[0]].append(sum(values) / len(values))
            else:
                excluded[" ".join(row[name] for name in labels if row[name])] += 1
    return times, excluded


def count(calls: Times, detections: Times) -> tuple[int, int, int]:
    """True positives, false positives and false negatives."""
    tp = fp = fn = 0
    for name in {*calls, *detections}:
        detected = sorted(detections.get(name, ()))
        for time in calls.get(name, ()):
            first = bisect_left(detected, time - BUFFER)
            hit = first < len(detected) and detected[first] <= time + BUFFER
            tp, fn = tp + hit, fn + (not hit)
        starts = sorted(time - BUFFER for time in calls.get(name, ()))
        ends = sorted(time + BUFFER for time in calls.get(name, ()))
        fp += sum(bisect_right(starts, at) == bisect_left(ends, at) for at in detected)
    return tp, fp, fn


def main(arguments: Sequence[str]) -> None:
    """Print the six lines of the challenge."""
    if len(arguments) != 2:
        sys.exit("usage: python metrics.py ANNOTATIONS.csv DETECTIONS.csv")
    try:
        calls, excluded = read_times(arguments[0], [("timestamp",), ("start", "end")])
        detections, _ = read_times(arguments[1], [("timestamp",)])
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(str(error))
    tp, fp, fn = count(calls, detections)
    precision = tp / (tp + fp) if tp + fp else 0.0
    recall = tp / (tp + fn) if tp + fn else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    print(f"True Positives (TP): {tp}")
    print(f"False Positives (FP): {fp}")
    print(f"False Negatives (FN): {fn}")
    print(f"Precision: {precision}")
    print(f"Recall: {recall}")
    print(f"F1 Score: {f1}")
    if excluded:
        listed = ", ".join(f"{number} {label}" for label, number in excluded.most_common())
        print(f"excluded labels that are not upcalls: {listed}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
