"""What the geometry classes have in common, as protocols that the rest of the package is typed with."""

from __future__ import annotations

from typing import ClassVar, Protocol, Self

import numpy as np

from tallymark.geometry.affine import Region
from tallymark.geometry.clusters import Clusters
from tallymark.geometry.pairs import Extent, Overlapping, Pairs


class Geometry(Protocol):
    """n shapes of one class, as columns.

    noun: what one shape and what several are called.
    localized: whether a shape has a position in its item; False for the labels of whole items.
    overlaps: whether two shapes can overlap; if so, the class is also `Spatial`.
    """

    noun: ClassVar[tuple[str, str]]
    localized: ClassVar[bool]
    overlaps: ClassVar[bool]

    def __len__(self) -> int: ...

    def take(self, index: np.ndarray) -> Self:
        """The shapes at these indices, or where a boolean mask is true."""

    def concat(self, other: Self) -> Self:
        """These shapes followed by the others."""

    def as_json(self) -> list[list[float]] | list[str]:
        """Each shape as plain numbers in the order of its columns, for JSON; of a mask its runs, as text."""

    def scale(self, by: float | np.ndarray) -> Self:
        """The shapes with all lengths multiplied by one factor, or by one for each shape."""

    def clip(self, size: np.ndarray) -> tuple[Self, np.ndarray]:
        """The shapes clipped to their items, and the indices of those that are left.

        size: (n, 2), width and height of each shape's item in its own units; of recordings, seconds and nan.
        """

    def disjoint(self, group: np.ndarray, score: np.ndarray) -> tuple[Self, np.ndarray]:
        """The shapes as one submission may have them, and the indices of those that are left.

        group: the item of each. Masks must not share a pixel, which goes to the higher score; other shapes may overlap.
        """


class Spatial(Geometry, Overlapping, Protocol):
    """Shapes with an extent: boxes, rotated boxes, masks, cuboids."""

    def pairs(self, other: Self, group: np.ndarray, other_group: np.ndarray, least: float = 0.0) -> Pairs:
        """Pairs of the same group with IoU >= `least` and above 0."""

    def fuse(self, clusters: Clusters) -> Self:
        """One shape for each cluster, the mean of its members weighted by their shares."""


class ImageGeometry(Geometry, Protocol):
    """Shapes that follow an image when it is transformed: boxes, rotated boxes, masks, labels.

    rotatable: whether a rotation by any angle keeps the shapes tight; axis-aligned boxes grow.
    """

    rotatable: ClassVar[bool]

    @property
    def extents(self) -> list[Extent]:
        """Centre and half side of each shape's axis-aligned bounding box, for each axis; of labels, no axes."""

    def transform(self, matrix: np.ndarray, height: int, width: int) -> tuple[Self, np.ndarray]:
        """The shapes in a crop of this size, and their indices among those before.

        matrix: (2, 3), from continuous coordinates of the image to those of the crop.
        Shapes with less than `MIN_VISIBLE` of their area in the crop are dropped.
        """

    def erase(self, region: Region) -> tuple[Self, np.ndarray]:
        """What is visible of the shapes when something covers a region, and their indices among those before."""
