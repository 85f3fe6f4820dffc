"""Outlines of masks as polygons along the edges of pixels: filling them gives exactly the same pixels."""

from __future__ import annotations

import numpy as np

from tallymark.geometry.masks import Masks

Ring = np.ndarray
"""(n, 2) corners x, y of a closed line, the first not repeated; the inside is to the right where y points down."""
Polygon = list[Ring]
"""An outer ring, and the rings of its holes."""
STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))
"""Right, down, left, up: a turn to the right is the next one."""


def outlines(masks: Masks, mask: int) -> list[Polygon]:
    """The polygons of one mask, one for each part; parts that touch at a corner only are two."""
    from scipy.ndimage import label  # it takes a quarter of the start of `predict`, which writes no outlines mostly

    if not masks.area[mask]:
        return []
    filled, left, top = masks.crop(mask)
    part, _ = label(filled)
    outer: dict[int, Ring] = {}
    holes: dict[int, list[Ring]] = {}
    for ring, own in _rings(np.pad(part, 1)):
        placed = ring + np.array([left - 1, top - 1])
        if signed_area(ring) > 0:
            outer[own] = placed
        else:
            holes.setdefault(own, []).append(placed)
    return [[ring, *holes.get(own, [])] for own, ring in sorted(outer.items())]


def signed_area(ring: Ring) -> float:
    """The area inside a ring: positive if it runs clockwise where y points down, or the other way where y points up."""
    x, y = (ring - ring[0]).T
    return float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) / 2)


def as_one_ring(polygons: list[Polygon]) -> Ring:
    """All rings of a mask as one, joined by lines of no width there and back: for formats of one polygon per object.

    By the even-odd rule it has the same pixels inside. The first ring is the largest one.
    """
    rings = sorted((ring for polygon in polygons for ring in polygon), key=lambda ring: -abs(signed_area(ring)))
    start = rings[0][:1]
    joined = [part for ring in rings[1:] for part in (start, ring, ring[:1])]
    return np.concatenate([rings[0], *joined, *([start] if joined else [])])


def _rings(part: np.ndarray) -> list[tuple[Ring, int]]:
    """The closed lines around the parts in an image with an empty margin, and the number of the part of each.

    Every side of a pixel that has no neighbour there is a step along a line. Where two parts meet in a corner, a line
    turns to the right, and so stays at its own; where a part meets itself, to the left, so that no line touches itself.
    """
    filled = part > 0
    steps: dict[tuple[int, int, int], tuple[int, int]] = {}
    neighbours = ((-1, 0), (0, 1), (1, 0), (0, -1))  # above, right, below, left
    begins_at = ((0, 0), (0, 1), (1, 1), (1, 0))
    for direction, ((down, right), (dy, dx)) in enumerate(zip(neighbours, begins_at, strict=True)):
        rows, columns = np.nonzero(filled & ~np.roll(filled, (-down, -right), (0, 1)))
        sides = ((columns + dx), (rows + dy), columns, rows)
        begins = zip(*(side.tolist() for side in sides), strict=True)
        steps |= {(at_x, at_y, direction): (own_y, own_x) for at_x, at_y, own_x, own_y in begins}
    rings = []
    for start, inside in list(steps.items()):
        if start not in steps:
            continue  # another line went through it
        x, y, direction = start
        corners = []
        while True:
            x, y = x + STEPS[direction][0], y + STEPS[direction][1]
            ways = [way % 4 for way in (direction + 1, direction, direction + 3) if (x, y, way % 4) in steps]
            parts = [int(part[steps[x, y, way]]) for way in ways]
            turned = ways[-1] if parts[0] == parts[-1] else ways[0]
            if turned != direction:
                corners.append((x, y))
            direction = turned
            if (x, y, direction) == start:
                break
            del steps[x, y, direction]
        del steps[start]
        rings.append((np.array(corners, float), int(part[inside])))
    return rings
