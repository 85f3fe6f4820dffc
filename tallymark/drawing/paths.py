"""Outlines of objects as SVG path data, in pixels to one decimal.

Only the absolute commands M, L, H, V and Z are used, and no curves. A shape that is not finite has an empty path.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from tallymark.drawing.boxes_and_masks import mask_contours
from tallymark.geometry import Cuboids, Masks
from tallymark.geometry.affine import transform_points

TOLERANCE = 0.49
"""Pixels that the outline of a mask may deviate from its contour."""
FARTHEST = 1e5
"""Coordinates in pixels are clipped to this: no picture is so large."""
FOOTPRINT = "M{:g} {:g}L{:g} {:g}L{:g} {:g}L{:g} {:g}ZM{:g} {:g}L{:g} {:g}"
"""The four corners of a footprint, and the line from its centre to its front."""
EDGE_LOOPS = ((0, 1, 2, 3), (4, 5, 6, 7))
"""Corners of the floor and of the roof of a cuboid."""
EDGE_LINES = ((0, 4), (1, 5), (2, 6), (3, 7), (0, 7), (3, 4))
"""The upright edges of a cuboid, and the cross that marks its front."""


def rectangle_paths(corners: np.ndarray) -> list[str]:
    """Upright rectangles by two opposite corners each: (n, 4) of x, y, x, y."""
    rows = _rounded(corners).tolist()
    return [f"M{x:g} {y:g}H{right:g}V{bottom:g}H{x:g}Z" if x == x else "" for x, y, right, bottom in rows]


def polygon_path(outlines: Sequence[np.ndarray], *, closed: bool = True) -> str:
    """One path of several polygons (n, 2), or of lines that stay open."""
    end = "Z" if closed else ""
    lists = [_rounded(outline).tolist() for outline in outlines if np.isfinite(outline).all() and len(outline)]
    return "".join("M" + "L".join(f"{x:g} {y:g}" for x, y in points) + end for points in lists)


def mask_paths(masks: Masks, matrix: np.ndarray) -> list[str]:
    """Outlines of masks, with those of their holes (fill rule evenodd); `matrix` (2, 3) leads to pixels of a picture.

    Points that deviate less than half a pixel from a straight line are dropped.
    """
    paths = []
    for mask in range(len(masks)):
        outlines = [transform_points(matrix, contour) for contour in mask_contours(masks, mask)]
        paths.append(polygon_path([_simplify(outline) for outline in outlines]))
    return paths


def ground_paths(cuboids: Cuboids, matrix: np.ndarray) -> list[str]:
    """Footprints of cuboids, each with a line from its centre to its front; `matrix` (2, 3): from metres to pixels."""
    corners = transform_points(matrix, cuboids.ground.corners)
    front = (corners[:, 0] + corners[:, 3]) / 2
    center = corners.mean(axis=1)
    points = np.concatenate([corners, center[:, None], front[:, None]], axis=1)
    rows = _rounded(points.reshape(-1, 12)).tolist()
    return [FOOTPRINT.format(*row) if row[0] == row[0] else "" for row in rows]


def projected_paths(pixels: np.ndarray, visible: np.ndarray) -> list[str]:
    """Edges of cuboids by the pixels of their corners (n, 8, 2), with a cross on the front; empty if not visible."""
    return [
        polygon_path([corners[list(loop)] for loop in EDGE_LOOPS])
        + polygon_path([corners[list(line)] for line in EDGE_LINES], closed=False)
        if shown
        else ""
        for corners, shown in zip(pixels, visible.tolist(), strict=True)
    ]


def _simplify(outline: np.ndarray) -> np.ndarray:
    """A polygon with fewer points; at least the bounding box where it would vanish."""
    simple = cv2.approxPolyDP(outline.astype(np.float32)[:, None], TOLERANCE, True)[:, 0].astype(float)
    if len(simple) > 2:
        return simple
    (left, top), (right, bottom) = outline.min(axis=0), outline.max(axis=0)
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]])


def _rounded(values: np.ndarray) -> np.ndarray:
    """To one decimal, never -0; rows that are not finite are nan."""
    finite = np.isfinite(values).all(axis=-1, keepdims=True)
    return np.where(finite, np.clip(np.round(values, 1), -FARTHEST, FARTHEST) + 0.0, np.nan)
