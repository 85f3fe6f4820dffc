"""The rules again, as slow and plain as possible, for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def greedy(
    overlaps: Sequence[Sequence[Fraction | float]],
    threshold: Fraction | float,
    mode: str = "best_unmatched",
    ge: bool = False,
) -> list[bool]:
    """Whether each prediction (rows, in the order they are asked) hits one of the truths (columns)."""
    taken, hits = set[int](), []
    for row in overlaps:
        passes = [k for k, value in enumerate(row) if (value >= threshold if ge else value > threshold)]
        free = [k for k in passes if k not in taken]
        if mode == "best_overall" and row:
            best = max(range(len(row)), key=lambda k: (row[k], -k))
            free = [k for k in free if k == best]
        if mode == "first_unmatched":
            free = free[:1]
        if free:
            taken.add(max(free, key=lambda k: (row[k], -k)))
        hits.append(bool(free))
    return hits


def box_iou(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    """IoU of x, y, width, height."""
    across = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    down = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    shared = max(across, 0) * max(down, 0)
    whole = a[2] * a[3] + b[2] * b[3] - shared
    return shared / whole if whole else 0


def average_precision(hits: Sequence[bool], truths: int) -> float:
    """Area under the envelope of precision over recall, predictions from the surest on."""
    points = []
    found = 0
    for seen, hit in enumerate(hits, start=1):
        found += hit
        points.append((found / truths, found / seen))
    area, last = 0.0, 0.0
    for at, (recall, _) in enumerate(points):
        area += (recall - last) * max(precision for _, precision in points[at:])
        last = recall
    return area
