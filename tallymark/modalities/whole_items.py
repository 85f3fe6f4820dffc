"""What the renderers of images and of sweeps share: an item is shown whole, in one picture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.drawing.boxes_and_masks import WIDTH
from tallymark.drawing.colors import Color
from tallymark.io.media import Medium
from tallymark.modalities.gallery import GalleryItem, drawable, extremes_by_count, rarest_class, select_items
from tallymark.modalities.render import CameraImage, RateColumns
from tallymark.modalities.scene import MAX_WINDOWS, Scene, Window
from tallymark.modalities.survey import MediaStatistics, Survey, measure_thumbnail


class WholeItemRenderer(ABC):
    """The part of a `Renderer` that does not depend on what an image or a sweep shows."""

    thumbnail_size = (WIDTH, WIDTH * 3 // 4)
    drawing_suffix = ".jpg"
    wide = False
    windowed = False
    objects_note = "Number, size and position."

    def measure(self, medium: Medium, path: Path) -> MediaStatistics:
        return measure_thumbnail(medium, path)

    def total(self, survey: Survey) -> tuple[str, str] | None:
        return None

    def rate_columns(self, survey: Survey) -> RateColumns | None:
        return None

    def gallery(self, catalog: Catalog, survey: Survey, most: int, seed: int) -> dict[str, list[GalleryItem]]:
        return select_items(catalog, survey, self._extremes(catalog, survey), most, seed, self.strata(catalog))

    def strata(self, catalog: Catalog) -> np.ndarray:
        """What typical items are drawn from in equal numbers: the group of each item."""
        return catalog.group.to_numpy()

    def _extremes(self, catalog: Catalog, survey: Survey) -> Iterator[GalleryItem]:
        """The items with most and fewest objects, the extreme objects, the rarest class, the extreme media."""
        usable = drawable(catalog, survey)
        truth = catalog.truth
        yield from extremes_by_count(catalog, usable & catalog.labelled)
        if truth is not None and usable[truth.item].any():
            yield from self.object_extremes(catalog, truth, usable[truth.item])
        yield from rarest_class(catalog, usable)
        yield from self.media_extremes(survey, usable)

    @abstractmethod
    def object_extremes(self, catalog: Catalog, truth: Annotations[Any], usable: np.ndarray) -> Iterator[GalleryItem]:
        """Items with the largest, smallest or farthest of the usable objects; at least one is usable."""

    @abstractmethod
    def media_extremes(self, survey: Survey, usable: np.ndarray) -> Iterator[GalleryItem]:
        """The usable items whose files differ most from the others."""

    def cuboids(self, scene: Scene, annotations: Annotations[Any]) -> np.ndarray:
        return np.empty((0, 7))

    def windows(
        self, catalog: Catalog, item: int, *shown: Annotations[Any], most: int = MAX_WINDOWS, seed: int = 0
    ) -> Sequence[Window | None]:
        return [None]

    def legend(self, catalog: Catalog) -> list[tuple[str, Color]]:
        return []

    def camera_images(self, catalog: Catalog, survey: Survey, seed: int) -> list[CameraImage]:
        return []
