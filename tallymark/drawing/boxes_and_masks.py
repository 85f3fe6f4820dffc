"""Boxes, masks and outlines drawn into images.

All images are (height, width, 3) RGB bytes. Every function returns a new image and leaves its input unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from tallymark.drawing.colors import ANNOTATION, SHADOW, Color
from tallymark.geometry import Boxes, Masks

WIDTH = 480
"""Width of a thumbnail in pixels."""
MIN_WIDTH = 240
"""Narrower images are enlarged to this width in pixels."""
SHIFT = 4
"""Fractional bits of the coordinates given to OpenCV: outlines are exact to a sixteenth of a pixel."""
SUBPIXELS = 4
"""Each mask pixel is divided into that many in each direction before its contour is traced."""
MAX_SUBDIVIDED = 1 << 22
"""Pixels of the bounding box up to which they are; larger masks are traced as they are, to half a pixel."""


def resize_to_fit(image: np.ndarray, width: int = WIDTH) -> tuple[np.ndarray, float]:
    """The image at most `width` wide and three times as high, small ones enlarged; and the scale factor."""
    height, own_width = image.shape[:2]
    new_width = width if own_width >= width else max(own_width, MIN_WIDTH)
    scale = min(new_width / own_width, 3 * width / height)
    size = max(1, round(own_width * scale)), max(1, round(height * scale))
    interpolation = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    return cv2.resize(image, size, interpolation=interpolation), scale


def draw_boxes(
    image: np.ndarray, boxes: Boxes, scale: float = 1.0, color: Color = ANNOTATION, thickness: int = 1
) -> np.ndarray:
    """Outlines of bounding boxes; their coordinates times `scale` are pixels of the image.

    Lines are aligned with whole pixels, the first and the last of the box, so that a box which ends with the image has
    four visible sides.
    """
    left, top = np.round(boxes.x * scale), np.round(boxes.y * scale)
    right = np.maximum(np.round((boxes.x + boxes.width) * scale) - 1, left)
    bottom = np.maximum(np.round((boxes.y + boxes.height) * scale) - 1, top)
    corners = np.stack([left, top, right, top, right, bottom, left, bottom], axis=1)
    return draw_outlines(image, corners.reshape(-1, 4, 2) + 0.5, color, thickness=thickness)


def draw_masks(
    image: np.ndarray,
    masks: Masks,
    scale: float = 1.0,
    color: Color = ANNOTATION,
    opacity: float = 0.25,
    thickness: int = 1,
) -> np.ndarray:
    """Masks as translucent areas with outlines; their coordinates times `scale` are pixels of the image."""
    outlines = [outline * scale for mask in range(len(masks)) for outline in mask_contours(masks, mask)]
    filled = image.copy()
    if outlines:
        cv2.fillPoly(filled, [_fixed_point(outline) for outline in outlines], color, cv2.LINE_AA, SHIFT)
    blended = cv2.addWeighted(filled, opacity, image, 1 - opacity, 0)
    return draw_outlines(blended, outlines, color, thickness=thickness)


def draw_outlines(
    image: np.ndarray,
    outlines: Sequence[np.ndarray] | np.ndarray,
    color: Color,
    *,
    closed: bool = True,
    thickness: int = 1,
) -> np.ndarray:
    """Lines through points (n, 2) in pixels, on a dark shadow that keeps them visible on any background."""
    drawn = image.copy()
    lines = [_fixed_point(outline) for outline in outlines if np.isfinite(outline).all()]
    if lines:
        shadow = drawn.copy()
        cv2.polylines(shadow, lines, closed, SHADOW, thickness + 2, cv2.LINE_AA, SHIFT)
        drawn = cv2.addWeighted(shadow, 0.5, drawn, 0.5, 0)
        cv2.polylines(drawn, lines, closed, color, thickness, cv2.LINE_AA, SHIFT)
    return drawn


def mask_contours(masks: Masks, mask: int) -> list[np.ndarray]:
    """The contours of a mask along the edges of its pixels, (n, 2) each: around its parts, and around their holes.

    OpenCV traces the centres of the outermost pixels; of subdivided pixels, that is almost their edge.
    """
    crop, left, top = masks.crop(mask)
    if not crop.size:
        return []
    subpixels = SUBPIXELS if crop.size <= MAX_SUBDIVIDED else 1
    enlarged = np.repeat(np.repeat(crop.astype(np.uint8), subpixels, axis=0), subpixels, axis=1)
    contours, _ = cv2.findContours(enlarged, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    return [(np.asarray(contour).reshape(-1, 2) + 0.5) / subpixels + (left, top) for contour in contours]


def _fixed_point(outline: np.ndarray) -> np.ndarray:
    """Coordinates as the fixed-point integers that OpenCV expects."""
    limit = 1 << 20  # beyond any image, within OpenCV's integers
    return np.clip(np.round((outline - 0.5) * (1 << SHIFT)), -limit, limit).astype(np.int32)
