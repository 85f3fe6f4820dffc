"""How the annotations of images are drawn and charted: one class per geometry, chosen by `OVERLAYS`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeVar

import numpy as np

from tallymark.core.humanize import count, number
from tallymark.data.annotations import Annotations
from tallymark.drawing.boxes_and_masks import draw_boxes, draw_masks, draw_outlines
from tallymark.drawing.charts import Chart, heat_map, histogram
from tallymark.drawing.colors import ANNOTATION, Color
from tallymark.drawing.paths import mask_paths, polygon_path, rectangle_paths
from tallymark.drawing.text import draw_caption
from tallymark.geometry import Boxes, Geometry, Labels, Masks, RotatedBoxes
from tallymark.geometry.affine import transform_points
from tallymark.modalities.gallery import GalleryItem, argmax_where

MAP_CELLS = 24
"""Rows and columns of the map of object centres."""
OUTLINES_NOTE = "Annotations are orange; the object of a close-up is blue. Click an image to enlarge it."
G = TypeVar("G", bound=Geometry, contravariant=True)


class Overlay(Protocol[G]):
    """How annotations of one geometry are shown on images."""

    @property
    def gallery_note(self) -> str:
        """The sentence above the gallery."""

    def draw(
        self, image: np.ndarray, scale: float, truth: Annotations[G], color: Color = ANNOTATION, thickness: int = 2
    ) -> np.ndarray:
        """The image with annotations; their coordinates times `scale` are pixels of the image."""

    def charts(self, truth: Annotations[G], image_size: np.ndarray) -> list[Chart | None]:
        """Sizes and positions of objects; `image_size` is the (n, 2) width and height of each object's image."""

    def extremes(self, truth: Annotations[G], usable: np.ndarray) -> Iterator[GalleryItem]:
        """The largest, the smallest and the most elongated object; `usable`: (n,) bool."""

    def paths(self, shapes: G, matrix: np.ndarray) -> list[str]:
        """The outline of each shape as an SVG path; `matrix` (2, 3) leads from the image to the pixels of the path."""


class BoxOverlay:
    """Bounding boxes."""

    gallery_note = OUTLINES_NOTE

    def draw(
        self, image: np.ndarray, scale: float, truth: Annotations[Boxes], color: Color = ANNOTATION, thickness: int = 2
    ) -> np.ndarray:
        return draw_boxes(image, truth.shapes, scale, color, thickness)

    def charts(self, truth: Annotations[Boxes], image_size: np.ndarray) -> list[Chart | None]:
        boxes = truth.shapes
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = boxes.width / boxes.height
        return [
            histogram(boxes.area, "Area of boxes", "square pixels"),
            histogram(np.sqrt(boxes.area), "Square root of the area", "pixels"),
            histogram(ratio[ratio > 0], "Aspect ratio of boxes (width / height)"),
            center_map(boxes, image_size),
        ]

    def extremes(self, truth: Annotations[Boxes], usable: np.ndarray) -> Iterator[GalleryItem]:
        return extreme_sizes(truth, usable)

    def paths(self, shapes: Boxes, matrix: np.ndarray) -> list[str]:
        corners = np.stack([shapes.x, shapes.y, shapes.x + shapes.width, shapes.y + shapes.height], axis=1)
        return rectangle_paths(transform_points(matrix, corners.reshape(-1, 2, 2)).reshape(-1, 4))


class MaskOverlay:
    """Instance masks."""

    gallery_note = OUTLINES_NOTE

    def draw(
        self, image: np.ndarray, scale: float, truth: Annotations[Masks], color: Color = ANNOTATION, thickness: int = 2
    ) -> np.ndarray:
        return draw_masks(image, truth.shapes, scale, color, thickness=thickness)

    def charts(self, truth: Annotations[Masks], image_size: np.ndarray) -> list[Chart | None]:
        masks = truth.shapes
        width, height = (2 * extent.half for extent in masks.extents)
        filled = masks.area / np.maximum(width * height, 1)
        own_size = np.tile([float(masks.shape[1]), float(masks.shape[0])], (len(masks), 1))
        return [
            histogram(masks.area, "Area of masks", "pixels"),
            histogram(np.maximum(width, height), "Longer side of the bounding box", "pixels"),
            histogram(filled, "Share of the bounding box that the mask fills"),
            center_map(masks, own_size),
        ]

    def extremes(self, truth: Annotations[Masks], usable: np.ndarray) -> Iterator[GalleryItem]:
        return extreme_sizes(truth, usable)

    def paths(self, shapes: Masks, matrix: np.ndarray) -> list[str]:
        return mask_paths(shapes, matrix)


class RotatedBoxOverlay:
    """Rotated bounding boxes."""

    gallery_note = OUTLINES_NOTE

    def draw(
        self,
        image: np.ndarray,
        scale: float,
        truth: Annotations[RotatedBoxes],
        color: Color = ANNOTATION,
        thickness: int = 2,
    ) -> np.ndarray:
        return draw_outlines(image, truth.shapes.corners * scale, color, thickness=thickness)

    def charts(self, truth: Annotations[RotatedBoxes], image_size: np.ndarray) -> list[Chart | None]:
        return []

    def extremes(self, truth: Annotations[RotatedBoxes], usable: np.ndarray) -> Iterator[GalleryItem]:
        return iter(())

    def paths(self, shapes: RotatedBoxes, matrix: np.ndarray) -> list[str]:
        return [polygon_path([corners]) for corners in transform_points(matrix, shapes.corners)]


class LabelOverlay:
    """Class labels of whole images, written below them."""

    gallery_note = "Each image with its label. Click an image to enlarge it."

    def draw(
        self, image: np.ndarray, scale: float, truth: Annotations[Labels], color: Color = ANNOTATION, thickness: int = 2
    ) -> np.ndarray:
        known = len(truth.classes)
        names = [truth.classes[label] if label < known else str(label) for label in truth.shapes.label.tolist()]
        return draw_caption(image, ", ".join(names)) if names else image

    def charts(self, truth: Annotations[Labels], image_size: np.ndarray) -> list[Chart | None]:
        return []

    def extremes(self, truth: Annotations[Labels], usable: np.ndarray) -> Iterator[GalleryItem]:
        return iter(())

    def paths(self, shapes: Labels, matrix: np.ndarray) -> list[str]:
        return [""] * len(shapes)


OVERLAYS: dict[type[Geometry], Overlay[Any]] = {
    Boxes: BoxOverlay(),
    Masks: MaskOverlay(),
    RotatedBoxes: RotatedBoxOverlay(),
    Labels: LabelOverlay(),
}
"""The overlay of each geometry that annotations of images can have."""


def center_map(shapes: Boxes | Masks, image_size: np.ndarray) -> Chart | None:
    """A heat map of object centres, all images scaled to one square; `image_size` is (n, 2), nan where unknown."""
    x, y = (extent.centre for extent in shapes.extents)
    width, height = image_size.T
    known = np.isfinite(width) & (width > 0) & (height > 0)
    relative_x, relative_y = x[known] / width[known], y[known] / height[known]
    grid, _, _ = np.histogram2d(relative_y, relative_x, bins=MAP_CELLS, range=[[0, 1], [0, 1]])
    _, nouns = shapes.noun
    note = f"{count(len(relative_x))} {nouns}, all images scaled to one square"
    return heat_map(grid, f"Centres of {nouns} in the image", note, ("top of the image", "", "bottom", ""))


def extreme_sizes(truth: Annotations[Boxes] | Annotations[Masks], usable: np.ndarray) -> Iterator[GalleryItem]:
    """The largest, the smallest and the most elongated of the usable objects."""
    width, height = (2 * extent.half for extent in truth.shapes.extents)
    area = np.asarray(truth.shapes.area, float)
    noun, _ = truth.shapes.noun
    with np.errstate(divide="ignore", invalid="ignore"):
        elongation = np.nan_to_num(np.maximum(width / height, height / width), posinf=0)
    for word, values in (("largest", area), ("smallest", -area), ("most elongated", elongation)):
        row = argmax_where(values, usable)
        sides = f"{number(float(width[row]))} × {number(float(height[row]))} px"
        reason = f"{word} {noun}: {sides}, area {number(float(area[row]))}"
        yield GalleryItem(int(truth.item[row]), reason, focus=row)
