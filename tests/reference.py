"""Reference implementations of matching and average precision, as simple and slow as possible."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def greedy(
    overlaps: Sequence[Sequence[Fraction | float]],
    threshold: Fraction | float,
    mode: str = "best_unmatched",
    ge: bool = False,
) -> list[bool]:
    """Whether each prediction (row, in matching order) is a true positive, given its IoU with each truth (column)."""
    taken: set[int] = set()
    hits = []
    for row in overlaps:
        above = [k for k, value in enumerate(row) if (value >= threshold if ge else value > threshold)]
        free = [k for k in above if k not in taken]
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
    """IoU of two boxes x, y, width, height."""
    across = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    down = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    intersection = max(across, 0) * max(down, 0)
    union = a[2] * a[3] + b[2] * b[3] - intersection
    return intersection / union if union else Fraction(0)


def average_precision(hits: Sequence[bool], truths: int) -> float:
    """Area under the interpolated precision-recall curve; `hits` in order of descending confidence."""
    points = []
    true_positives = 0
    for predictions, hit in enumerate(hits, start=1):
        true_positives += hit
        points.append((true_positives / truths, true_positives / predictions))
    area = 0.0
    last = 0.0
    for at, (recall, _) in enumerate(points):
        area += (recall - last) * max(precision for _, precision in points[at:])
        last = recall
    return area
