"""Masks as rotated rectangles, refined by a map of which cells are covered by any object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tallymark.core.problems import BadInput, Problem
from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.detector.center_coder import MAX_LOG_SIZE, MIN_SIZE, CenterCoder
from tallymark.detector.mask_refinement import FINE, refine_rectangles
from tallymark.detector.outputs import Outputs
from tallymark.detector.tta import TTATransform
from tallymark.geometry import Masks, RotatedBoxes
from tallymark.geometry.rectangles import fill_rectangles, fit_rectangles

MIN_PIXELS = 8
"""Masks of fewer pixels are dropped."""


class MaskCoder(CenterCoder):
    """Rotated rectangles: offset of the centre, logarithms of the sides, cosine and sine of twice the angle."""

    geometry = RotatedBoxes
    values = 6
    loss = "kld"
    common_size = True
    predicts_coverage = True
    pixels_per_candidate = 10_000  # refining each candidate takes time
    search: ClassVar[Mapping[str, tuple[float, ...]]] = {
        "nms_iou": (0.3, 0.4, 0.5, 0.6, 0.7),
        "image_threshold": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
        "mask_scale": (1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3),
    }

    def from_truth(self, shapes: Masks | RotatedBoxes) -> RotatedBoxes:
        return shapes if isinstance(shapes, RotatedBoxes) else fit_rectangles(shapes)

    def to_truth_geometry(
        self, candidates: Annotations[RotatedBoxes], size: np.ndarray, recipe: Recipe
    ) -> Annotations[Masks]:
        """The rectangles, scaled by `mask_scale`, as masks that do not overlap: a pixel goes to the higher score."""
        shapes = candidates.shapes
        scaled = replace(shapes, length=shapes.length * recipe.mask_scale, width=shapes.width * recipe.mask_scale)
        shape = common_shape(candidates.items, size)
        masks, kept = fill_rectangles(scaled, candidates.item, candidates.scores, shape, least=MIN_PIXELS)
        item = candidates.item[kept]
        return Annotations.from_rows(candidates.items, item, masks, score=candidates.scores[kept])

    def footprint(self, shapes: RotatedBoxes) -> RotatedBoxes:
        return shapes

    def encode(self, shapes: RotatedBoxes, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        twice = 2 * shapes.angle  # a ship rotated by half a turn looks the same
        sides = np.log(np.maximum([shapes.length, shapes.width], MIN_SIZE))
        return np.stack([shapes.x - x, shapes.y - y, *sides, np.cos(twice), np.sin(twice)], 1)

    def decode(self, x: np.ndarray, y: np.ndarray, values: np.ndarray) -> RotatedBoxes:
        across, down, length, width, cos, sin = values.T
        length, width = np.exp(np.minimum([length, width], MAX_LOG_SIZE))
        return RotatedBoxes(x + across, y + down, length, width, np.arctan2(sin, cos) / 2)

    def refine(
        self, x: np.ndarray, y: np.ndarray, values: np.ndarray, heat: np.ndarray, quality: np.ndarray, outputs: Outputs
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rectangles fitted to the covered cells, and how well they fit those."""
        shapes = self.decode(x, y, values.astype(float))
        refined, fit = refine_rectangles(shapes.scale(FINE), heat * quality, outputs["cover"])
        return self.encode(refined.scale(1 / FINE), x, y), fit

    def invert_tta(self, values: np.ndarray, transform: TTATransform) -> np.ndarray:
        across, down, length, width, cos, sin = np.moveaxis(values, -3, 0)
        if transform.hflip:
            across, sin = -across, -sin
        if transform.vflip:
            down, sin = -down, -sin
        if transform.transpose:
            across, down, cos = down, across, -cos
        return np.stack([across, down, length, width, cos, sin], -3)


def common_shape(items: Items, size: np.ndarray) -> tuple[int, int]:
    """Height and width of all images, from (n, 2) widths and heights; a `BadInput` where they differ."""
    known = np.isfinite(size).all(axis=1)
    if not known.any():
        return (1, 1)
    first = size[known][0]
    differing = np.flatnonzero(known & (size != first).any(axis=1))
    if len(differing):
        found, expected = (f"{width:.0f}x{height:.0f}" for width, height in (size[differing[0]], first))
        name = items.ids[int(differing[0])]
        remedy = "predict chips of one size at a time"
        raise BadInput(Problem("other_size", name, f"an image of {found}", expected, remedy, item=name))
    width, height = first.astype(int).tolist()
    return height, width
