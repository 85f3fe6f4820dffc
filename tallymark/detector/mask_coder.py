"""Masks as rotated rectangles, refined by a map of which cells are covered by any object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations
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
    truth_geometry = Masks
    values = 6
    loss = "kld"
    common_size = True
    predicts_coverage = True
    votes = False  # shapes are refined by the coverage
    pixels_per_candidate = 10_000  # refining each candidate takes time
    search: ClassVar[Mapping[str, tuple[float, ...]]] = {
        "nms_iou": (0.3, 0.4, 0.5, 0.6, 0.7),
        # Dense near 1: the presence is learned on crops, and is higher in whole images.
        "image_threshold": (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99),
        "mask_scale": (1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3),
    }

    def from_truth(self, shapes: Masks | RotatedBoxes) -> RotatedBoxes:
        return shapes if isinstance(shapes, RotatedBoxes) else fit_rectangles(shapes)

    def to_truth_geometry(
        self, candidates: Annotations[RotatedBoxes], size: np.ndarray, recipe: Recipe
    ) -> Annotations[Masks]:
        """The rectangles, scaled by `mask_scale`, as masks that do not overlap: a pixel goes to the higher score.

        The masks of images of several sizes lie on one canvas, from its upper left corner on.
        """
        shapes = candidates.shapes
        scaled = replace(shapes, length=shapes.length * recipe.mask_scale, width=shapes.width * recipe.mask_scale)
        canvas = canvas_shape(size)
        masks = Masks.of([], canvas)
        kept = np.empty(0, np.int64)
        for own in np.unique(size[np.isfinite(size).all(axis=1)], axis=0):
            rows = np.flatnonzero((size[candidates.item] == own).all(axis=1))
            shape = (int(own[1]), int(own[0]))
            filled, of = fill_rectangles(
                scaled.take(rows), candidates.item[rows], candidates.scores[rows], shape, least=MIN_PIXELS
            )
            masks = masks.concat(filled.on_canvas(canvas))
            kept = np.append(kept, rows[of])
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

    def output_shapes(
        self, recipe: Recipe, classes: int, groups: int, size: tuple[int, int]
    ) -> dict[str, tuple[int, ...]]:
        shapes = super().output_shapes(recipe, classes, groups, size)
        return shapes | {"cover": (1, *(FINE * side for side in shapes["heat"][1:]))}

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


def canvas_shape(size: np.ndarray) -> tuple[int, int]:
    """Height and width that hold every image, from (n, 2) widths and heights."""
    known = size[np.isfinite(size).all(axis=1)]
    if not len(known):
        return (1, 1)
    width, height = known.max(axis=0).astype(int).tolist()
    return height, width
