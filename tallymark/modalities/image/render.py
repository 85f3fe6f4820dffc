"""Rendering of image data sets: thumbnails with annotations, close-ups, and charts of sizes and brightness."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cv2
import numpy as np

from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.drawing.boxes_and_masks import WIDTH, resize_to_fit
from tallymark.drawing.charts import Chart, histogram
from tallymark.drawing.colors import ANNOTATION, HIGHLIGHT
from tallymark.io.images import read_image
from tallymark.modalities.base import path_of
from tallymark.modalities.gallery import GalleryItem, annotations_of, extremes_of, select_item
from tallymark.modalities.image.overlays import OVERLAYS, Overlay
from tallymark.modalities.image.scene import image_paths, image_scene
from tallymark.modalities.scene import SCENE_SIDE, Scene, Window
from tallymark.modalities.survey import Survey, size_table
from tallymark.modalities.whole_items import WholeItemRenderer

MIN_CLOSE_UP = 96
"""Pixels of the image that a close-up shows at least, in each direction."""
CLOSE_UP_MARGIN = 2.5
"""Side of a close-up, as a multiple of the object's longer side."""
LINE = 500
"""Pixels of an image's longer side for each pixel of the width of lines."""
MAX_SIDE = 4000
"""Pixels across of an image that is enlarged to crop a close-up from it."""


class ImageRenderer(WholeItemRenderer):
    """Photographs and satellite images with boxes, masks, rotated boxes or class labels."""

    def media_charts(self, survey: Survey) -> list[Chart | None]:
        width, height = survey.extent[np.isfinite(survey.extent).all(axis=1)].T
        sizes = size_table(width, height, ("width", "height"))
        brightness = [
            histogram(survey.level, "Brightness of images", "mean grey level, 0 to 255"),
            histogram(survey.spread, "Contrast of images", "standard deviation of grey levels"),
        ]
        if sizes is not None:
            return [sizes, *brightness]
        return [
            histogram(width, "Width of images", "pixels"),
            histogram(height, "Height of images", "pixels"),
            histogram(width / np.maximum(height, 1), "Aspect ratio of images (width / height)"),
            *brightness,
        ]

    def object_charts(self, catalog: Catalog, survey: Survey) -> list[Chart | None]:
        truth = catalog.truth
        overlay = _overlay(catalog)
        if truth is None or overlay is None or not len(truth):
            return []
        stated = survey.extent if catalog.size is None else catalog.size
        size = np.where(np.isfinite(stated), stated, survey.extent)
        return overlay.charts(truth, size[truth.item])

    def gallery_note(self, catalog: Catalog) -> str:
        overlay = _overlay(catalog)
        return "Click an image to enlarge it." if overlay is None else overlay.gallery_note

    def draw(self, catalog: Catalog, item: GalleryItem) -> np.ndarray:
        path = catalog.path(item.item)
        assert path is not None, "only items with a file are drawn"
        image = read_image(path)
        truth = annotations_of(catalog, item.item)
        overlay = _overlay(catalog)
        if overlay is None or truth is None:
            return resize_to_fit(image)[0]
        if item.focus is not None:
            return _draw_close_up(catalog, item.focus, image, truth, overlay)
        thumbnail, scale = resize_to_fit(image)
        return overlay.draw(thumbnail, scale, truth)

    def scene(
        self,
        catalog: Catalog,
        item: int,
        window: Window | None = None,
        *,
        around: Annotations[Any] | None = None,
        recipe: Recipe | None = None,
        side: int = SCENE_SIDE,
    ) -> Scene:
        return image_scene(catalog, item, side)

    def paths(self, scene: Scene, annotations: Annotations[Any]) -> list[str]:
        return image_paths(scene, annotations)

    def drawings(
        self, catalog: Catalog, predictions: Annotations[Any], item: int, recipe: Recipe | None = None
    ) -> dict[str, np.ndarray]:
        """The image with predictions in orange, and with the truth in blue."""
        path = path_of(catalog, item)
        image = read_image(path)
        truth = annotations_of(catalog, item)
        overlay: Overlay[Any] = OVERLAYS[type(predictions.shapes)]
        thickness = max(2, max(image.shape[:2]) // LINE)
        if truth is not None and truth.shapes.localized:
            image = OVERLAYS[type(truth.shapes)].draw(image, 1.0, truth, HIGHLIGHT, max(1, thickness // 2))
        return {"": overlay.draw(image, 1.0, select_item(predictions, item), ANNOTATION, thickness)}

    def strata(self, catalog: Catalog) -> np.ndarray:
        """The group of each image; its class where there is one group and images have labels only."""
        truth = catalog.truth
        if truth is None or truth.shapes.localized or catalog.group.n_unique() > 1 or not len(truth):
            return catalog.group.to_numpy()
        first = np.minimum(truth.offsets[:-1], len(truth) - 1)
        return np.where(truth.counts > 0, truth.labels[first], -1)

    def object_extremes(self, catalog: Catalog, truth: Annotations[Any], usable: np.ndarray) -> Iterator[GalleryItem]:
        yield from OVERLAYS[type(truth.shapes)].extremes(truth, usable)

    def media_extremes(self, survey: Survey, usable: np.ndarray) -> Iterator[GalleryItem]:
        yield from extremes_of(survey.level, usable, "brightest: mean grey level {}", "darkest: mean grey level {}")
        highest, lowest = "highest contrast: grey levels vary by {}", "lowest contrast: grey levels vary by {}"
        yield from extremes_of(survey.spread, usable, highest, lowest)
        width, height = survey.extent.T
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = width / height
        yield from extremes_of(ratio, usable, "widest: aspect ratio {}", "narrowest: aspect ratio {}")


RENDERER = ImageRenderer()


def _overlay(catalog: Catalog) -> Overlay[Any] | None:
    return None if catalog.truth is None else OVERLAYS[type(catalog.truth.shapes)]


def _draw_close_up(
    catalog: Catalog, focus: int, image: np.ndarray, truth: Annotations[Any], overlay: Overlay[Any]
) -> np.ndarray:
    """A crop around one object, enlarged, with the object highlighted."""
    assert catalog.truth is not None
    focused = catalog.truth.filter(np.arange(len(catalog.truth)) == focus)
    across, down = focused.shapes.extents
    height, width = image.shape[:2]
    x, y = float(across.centre[0]), float(down.centre[0])
    longer = 2 * max(float(across.half[0]), float(down.half[0]))
    side = min(max(MIN_CLOSE_UP, CLOSE_UP_MARGIN * longer), width, height)
    scale = min(WIDTH / side, MAX_SIDE / max(width, height))
    interpolation = cv2.INTER_CUBIC if scale > 1 else cv2.INTER_AREA
    enlarged = cv2.resize(image, None, fx=scale, fy=scale, interpolation=interpolation)
    enlarged = overlay.draw(enlarged, scale, truth)
    enlarged = overlay.draw(enlarged, scale, focused, HIGHLIGHT, 3)
    left = int(np.clip(x - side / 2, 0, width - side) * scale)
    top = int(np.clip(y - side / 2, 0, height - side) * scale)
    crop = max(1, int(side * scale))
    return np.ascontiguousarray(enlarged[top : top + crop, left : left + crop])
