"""Renderer: how the items of one medium are surveyed, selected, drawn and charted on pages.

Each modality has one, as `RENDERER` in its module `render`. Pages ask it, and need not know the medium.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.drawing.charts import Chart
from tallymark.drawing.colors import Color
from tallymark.io.media import Medium
from tallymark.modalities.gallery import GalleryItem
from tallymark.modalities.scene import MAX_WINDOWS, SCENE_SIDE, Scene, Window
from tallymark.modalities.survey import MediaStatistics, Survey


class RateColumns(NamedTuple):
    """Two further columns of the tables of counts: how much media there is, and objects per unit of it.

    names: of both columns. amount: (n,) per item, in the unit of the first column, nan where unknown.
    """

    names: tuple[str, str]
    amount: np.ndarray


class CameraImage(NamedTuple):
    """An RGB image of a camera with the annotations of an item projected into it."""

    image: np.ndarray
    item: int
    camera: str


class Renderer(Protocol):
    """How the items of one medium are shown on pages."""

    @property
    def thumbnail_size(self) -> tuple[int, int]:
        """Width and height of a placeholder in pixels."""

    @property
    def drawing_suffix(self) -> str:
        """The suffix of the image files that `drawings` are written to."""

    @property
    def windowed(self) -> bool:
        """Whether an item is too long for one picture, and is shown in windows around its events."""

    @property
    def wide(self) -> bool:
        """Whether thumbnails need wide tiles."""

    @property
    def objects_note(self) -> str:
        """The sentence above the charts of objects."""

    def measure(self, medium: Medium, path: Path) -> MediaStatistics:
        """What a file is like; `BadMedia` if it cannot be read."""

    def total(self, survey: Survey) -> tuple[str, str] | None:
        """The total amount of media, as a number and its unit; None where the number of items suffices."""

    def rate_columns(self, survey: Survey) -> RateColumns | None:
        """Further columns of the tables of counts, if there are any."""

    def media_charts(self, survey: Survey) -> list[Chart | None]:
        """Sizes and levels of the media files."""

    def object_charts(self, catalog: Catalog, survey: Survey) -> list[Chart | None]:
        """Sizes and positions of the annotated objects."""

    def gallery_note(self, catalog: Catalog) -> str:
        """The sentence above the gallery."""

    def gallery(self, catalog: Catalog, survey: Survey, most: int, seed: int) -> Mapping[str, Sequence[GalleryItem]]:
        """The items to show, `most` at most, by heading."""

    def draw(self, catalog: Catalog, item: GalleryItem) -> np.ndarray:
        """An item with its annotations as an RGB image; `BadMedia` if its file cannot be read."""

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
        """The picture of an item for a page, without its objects; `BadMedia` if its file cannot be read.

        window: the part of a recording, as `windows` returns it. around: objects of the item that should be in the
        picture of a sweep, or that a recording is shown at. recipe: of the model, for the frequencies that it is given.
        side: pixels of the picture's longer side, at most.
        """

    def paths(self, scene: Scene, annotations: Annotations[Any]) -> list[str]:
        """SVG path data of each annotation of the scene's item, in the pixels of the scene.

        Closed outlines, to be filled by the rule evenodd; empty for labels, and for what is not in the scene's window.
        """

    def cuboids(self, scene: Scene, annotations: Annotations[Any]) -> np.ndarray:
        """(n, 7) x, y, z, length, width, height and yaw in the frame of the scene's points; (0, 7) without points."""

    def windows(
        self, catalog: Catalog, item: int, *shown: Annotations[Any], most: int = MAX_WINDOWS, seed: int = 0
    ) -> Sequence[Window | None]:
        """The parts of an item to show as scenes: of recordings the windows with these events of the item.

        The events given first come first; neighbouring ones share a window. Without events there is a quiet and a
        random window. `[None]` where an item is shown as a whole. `BadMedia` if its file cannot be read.
        """

    def drawings(
        self, catalog: Catalog, predictions: Annotations[Any], item: int, recipe: Recipe | None = None
    ) -> dict[str, np.ndarray]:
        """RGB images of an item in full size with predictions, and with the truth where it is known.

        By name: "" is the item itself, others are further views or windows of it. `BadMedia` if its file cannot be
        read. recipe: of the model.
        """

    def legend(self, catalog: Catalog) -> list[tuple[str, Color]]:
        """Classes and their colours in the gallery, where colours stand for classes."""

    def camera_images(self, catalog: Catalog, survey: Survey, seed: int) -> list[CameraImage]:
        """Annotations in the images of cameras, where a data set has cameras beside its medium."""


def renderer_of(catalog: Catalog) -> Renderer:
    """The renderer of a catalog's medium."""
    return cast("Renderer", importlib.import_module(f"tallymark.modalities.{catalog.medium.modality}.render").RENDERER)
