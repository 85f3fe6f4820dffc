"""Slow and obvious scores of the five challenges, from the objects that the slow readers give."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from statistics import fmean
from typing import Any

from shapely import Polygon

from tallymark.challenges.upcalls.script.metrics import count, is_upcall
from tests.fuzz.slow_tables import Unsure
from tests.reference import box_iou, greedy

Objects = dict[str, list[tuple[Any, ...]]]
"""The objects of each item."""
HUGE = 1e6
"""Beyond this, floating point cannot tell exactly which IoU is larger."""
NEAR = 1e-6


def _hits(truths: Sequence[Any], found: Sequence[Any], iou: Callable[[Any, Any], Any], steps: range) -> list[int]:
    """True positives at each threshold, in twentieths; `found` in matching order."""
    table = [[iou(one, truth) for truth in truths] for one in found]
    for value in (value for row in table for value in row):
        if not isinstance(value, Fraction) and any(abs(value - step / 20) < NEAR for step in steps):
            raise Unsure
    return [sum(greedy(table, Fraction(step, 20))) for step in steps]


def _csi(truths: Sequence[Any], found: Sequence[Any], iou: Callable[[Any, Any], Any], steps: range) -> float | None:
    """The mean of TP / (TP + FP + FN); None for an item without objects."""
    if not truths and not found:
        return None
    return fmean(hits / (len(truths) + len(found) - hits) for hits in _hits(truths, found, iou, steps))


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _exact(box: tuple[Any, ...]) -> list[Fraction]:
    if any(abs(value) > HUGE or value != round(value, 3) for value in box):
        raise Unsure
    return [Fraction(value) for value in box]


def _wheat(truth: Objects, found: Objects) -> float | None:
    values = []
    for item, boxes in truth.items():
        ranked = sorted(found.get(item, ()), key=lambda box: -box[0])
        exact = [_exact(box[1:]) for box in ranked]
        values.append(_csi([_exact(box) for box in boxes], exact, box_iou, range(10, 16)))
    return _mean(values)


def _pixels(runs: tuple[Any, ...]) -> frozenset[int]:
    return frozenset(at for start, length in runs for at in range(start, start + length))


def _mask_iou(one: frozenset[int], other: frozenset[int]) -> Fraction:
    return Fraction(len(one & other), len(one | other))


def _ships(truth: Objects, found: Objects) -> float | None:
    values = []
    for item, masks in truth.items():
        own = found.get(item, [])
        if not masks and not own:
            values.append(1.0)
            continue
        hits = _hits([*map(_pixels, masks)], [*map(_pixels, own)], _mask_iou, range(10, 20))
        values.append(fmean(5 * tp / (4 * len(masks) + len(own)) for tp in hits))
    return fmean(values) if values else None


def _corners(cuboid: Sequence[Any]) -> Polygon:
    x, y, _, width, length, _, yaw = cuboid
    ends = [(length / 2, width / 2), (-length / 2, width / 2), (-length / 2, -width / 2), (length / 2, -width / 2)]
    cos, sin = math.cos(yaw), math.sin(yaw)
    return Polygon([(x + along * cos - across * sin, y + along * sin + across * cos) for along, across in ends])


def _cuboid_iou(one: Sequence[Any], other: Sequence[Any]) -> float:
    if one[-1] != other[-1]:
        return 0.0
    one, other = one[:-1], other[:-1]
    if any(abs(value) > HUGE for value in (*one, *other)) or min(*one[3:6], *other[3:6]) < NEAR:
        raise Unsure
    low = max(one[2] - one[5] / 2, other[2] - other[5] / 2)
    high = min(one[2] + one[5] / 2, other[2] + other[5] / 2)
    shared = _corners(one).intersection(_corners(other)).area * max(high - low, 0)
    return shared / (math.prod(one[3:6]) + math.prod(other[3:6]) - shared)


def _lyft(truth: Objects, found: Objects) -> float | None:
    values = []
    for item, boxes in truth.items():
        ranked = [box[1:] for box in sorted(found.get(item, ()), key=lambda box: -box[0])]
        values.append(_csi([box[-8:] for box in boxes], ranked, _cuboid_iou, range(10, 20)))
    return _mean(values)


def _food(truth: Objects, found: Objects) -> float | None:
    return fmean((labels[0] not in found.get(item, [])) for item, labels in truth.items()) if truth else None


def _upcalls(truth: Objects, found: Objects) -> float | None:
    calls = {name: [call[0] for call in rows if is_upcall(call[1])] for name, rows in truth.items()}
    detections = {name: [call[0] for call in rows] for name, rows in found.items()}
    if any(abs(time) > HUGE for times in (*calls.values(), *detections.values()) for time in times):
        raise Unsure
    tp, fp, fn = count(calls, detections)
    return 2 * tp / (2 * tp + fp + fn) if tp else 0.0


SCORES: dict[str, Callable[[Objects, Objects], float | None]] = {
    "wheat": _wheat,
    "upcalls": _upcalls,
    "food": _food,
    "lyft": _lyft,
    "ships": _ships,
}
