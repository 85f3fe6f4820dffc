"""Modality: everything that depends on the medium of a data set, behind one interface.

A modality knows its recipe, how an item becomes the tiles that a network is given, which encoder stands before the
backbone, and how training samples are made. Nothing else asks whether a data set holds images, recordings or sweeps.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from tallymark.core.problems import Problems
from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog, LabelledCatalog
from tallymark.detector.tta import TTATransform
from tallymark.geometry.poses import Poses
from tallymark.io.archives import file_status
from tallymark.io.media import BadMedia, Medium, unreadable
from tallymark.io.retries import retry
from tallymark.modalities.sample import Sample

if TYPE_CHECKING:
    from tallymark.detector.encoders import Encoder


class Tile(NamedTuple):
    """A part of an item as the network is given it.

    data: (height, width, channels) in multiples of the network's stride; of a sweep, its points.
    x, y: position of its upper left corner, in the network's pixels.
    inside: left, top, right, bottom of the area whose peaks count; beyond it, a neighbouring tile has more context.
    zoom: pixels per pixel of the item as it is usually shown; other than 1 in multi-scale test-time augmentation.
    """

    data: np.ndarray
    x: int
    y: int
    inside: tuple[int, int, int, int]
    zoom: float = 1.0


class ModelInput(NamedTuple):
    """An item as the network is given it; without tiles if it cannot be read.

    size: (width, height) in the item's own units (pixels; seconds and nan; metres), nan if unknown.
    scale: the item's own units per pixel of the tiles. pose: of the tiles' corner in the world, for cuboids.
    """

    size: tuple[float, float]
    tiles: Iterable[Tile]
    scale: float
    pose: Poses | None = None


class InputPlan(NamedTuple):
    """How items are shown to the network.

    recipes: of each item; None if all have the recipe of the model. notes: what the user should know about it.
    failed: items that the system failed to read, by number: it is not known how to show them.
    estimated: numbers of the items whose scale is known from what is in them only.
    """

    recipes: Sequence[Recipe] | None = None
    notes: tuple[str, ...] = ()
    failed: Mapping[int, BadMedia] = MappingProxyType({})
    estimated: frozenset[int] = frozenset()

    def select(self, index: np.ndarray) -> InputPlan:
        """That of the items with these numbers."""
        recipes = None if self.recipes is None else [self.recipes[item] for item in index.tolist()]
        failed = {at: self.failed[item] for at, item in enumerate(index.tolist()) if item in self.failed}
        estimated = frozenset(at for at, item in enumerate(index.tolist()) if item in self.estimated)
        return InputPlan(recipes, self.notes, failed, estimated)


class ProbedObjects(NamedTuple):
    """What a model finds in an image. size: square root of the area, in pixels of the network. score: confidence."""

    size: np.ndarray
    score: np.ndarray


Probe = Callable[[np.ndarray], ProbedObjects]
"""An image (height, width, 3), already at the scale of the network, to the objects in it."""

BLANK = 64
"""Side of a blank tile in pixels: twice the stride of the coarsest features."""
UNREADABLE = ModelInput((np.nan, np.nan), (), 1.0)

Detect = Callable[[Catalog], Annotations[Any]]
"""The candidates that the model in training finds in a catalog."""


class Dataset(Protocol):
    """Training samples drawn from the labelled items of a catalog."""

    state: Any
    """What `mine_hard_negatives` found, for a checkpoint: tensors and numbers only."""

    @property
    def problems(self) -> Problems:
        """The items that could not be read."""

    def __len__(self) -> int: ...

    def sample(self, rng: np.random.Generator, item: int, *, mix: bool) -> Sample:
        """A randomly augmented sample of an item; `mix`: with mosaic, mixup and pasting."""

    def mine_hard_negatives(self, detect: Detect) -> None:
        """Find false positives of the model in training, to draw more samples from there."""


class Modality(Protocol):
    """What the core has to know of a medium."""

    @property
    def name(self) -> str:
        """`image`, `audio` or `lidar`."""

    @property
    def medium(self) -> Medium:
        """Its media files."""

    @property
    def linking_tables(self) -> tuple[str, ...]:
        """Names of tables that link items to one another: where one is, a file alone is not an item."""

    @property
    def recipe_type(self) -> type[Recipe]:
        """Its recipe, with the fields of the medium."""

    def validate(self, recipe: Any) -> None:
        """Raise `BadInput` where fields of the recipe do not go together."""

    def open(self, catalog: Catalog, item: int, recipe: Any) -> ModelInput:
        """An item as tiles; a `BadMedia` if it cannot be read."""

    def rasterizer(self, recipe: Any) -> Callable[[np.ndarray], np.ndarray]:
        """The function that turns a tile's data into the network's input, safe to call from several threads."""

    def blank_tile(self, recipe: Any) -> Tile:
        """A tile with nothing in it, already rasterised, as small as a network takes: to try a model out."""

    def tile_shape(self, recipe: Any) -> tuple[int, int, int]:
        """(height, width, channels) of most tiles, rasterised; others may be smaller or larger."""

    def synthetic_tile(self, recipe: Any, rng: np.random.Generator) -> np.ndarray:
        """Random structures at all scales, rasterised to a tile of the usual shape: to compare runtimes."""

    def apply_tta(self, grid: np.ndarray, transform: TTATransform, recipe: Any) -> np.ndarray:
        """The network's input under a test-time augmentation."""

    def peak_distance(self, recipe: Any) -> int:
        """Minimum distance of two peaks, in cells of the output grid."""

    def encoder(self, recipe: Any) -> Encoder:
        """What stands before the backbone: it has `channels`, and `example()` for the export."""

    def dataset(self, catalog: Catalog, recipe: Any) -> Dataset:
        """The labelled items of a catalog as training samples."""

    def fingerprint(self, catalog: Catalog, item: int, recipe: Any) -> list[object]:
        """What identifies an item's files as they are now: changed files are predicted anew.

        A `BadMedia` if the system does not find them.
        """

    def training_scale(
        self, catalog: LabelledCatalog, recipe: Any, scores: np.ndarray, gsd: float | None
    ) -> Mapping[str, object]:
        """How a model saw its training items, for its metadata; empty where a medium has one scale only.

        scores: of the fused candidates in held-out items. gsd: metres per pixel, where the user knows it.
        """

    def check_scale(self, scale: Mapping[str, Any]) -> None:
        """Raise ValueError where the metadata of a model state a training scale that cannot be."""

    def plan_inputs(
        self, catalog: Catalog, recipe: Any, scale: Mapping[str, Any], probe: Probe, gsd: float | None
    ) -> InputPlan:
        """How each item is shown to a model with this training scale, as its metadata state it."""

    def missing_inputs(self, catalog: Catalog, recipe: Any) -> dict[str, int]:
        """What the recipe needs besides the items' own files, such as a map, and how many items are without it."""


def identity(grid: np.ndarray) -> np.ndarray:
    """The rasterizer of media that are grids already."""
    return grid


def path_of(catalog: Catalog, item: int) -> Path:
    """The file of an item; a `BadMedia` if it is missing."""
    path = catalog.path(item)
    if path is None:
        raise BadMedia("missing_media", "no file", "get the file, or exclude the item")
    return path


def fingerprint_file(path: Path | None) -> list[object]:
    """Path, size and time of change of a file; a `BadMedia` if it is not there any more."""
    if path is None:
        return [str(path)]
    try:
        status = retry(lambda: file_status(path))
        real = os.path.realpath(path) if path.is_symlink() else f"{_real_folder(str(path.parent))}/{path.name}"
        return [real, *status]
    except OSError as error:
        raise unreadable(error) from None


@lru_cache(4096)
def _real_folder(folder: str) -> str:
    """The path of a folder without links, looked up once for all files in it."""
    return os.path.realpath(folder)
