"""A picture with what is in it, as training sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tallymark.geometry import Geometry, ImageGeometry


@dataclass(frozen=True, eq=False)
class Sample:
    """A picture and its objects.

    picture: (height, width, 3) RGB bytes; or float32 of another kind, such as (bands, frames, 1) levels of sound.
    shapes: n objects, in pixels of the picture; labels have no place.
    label: the class number of each. weight: how much each counts: 1, or less once pictures of labels are mixed.
    side: pixels across and down of the square that the shapes lie in, where the picture is a list of points.
    Continuous coordinates: the upper left pixel covers 0 to 1 across and down.
    """

    picture: np.ndarray
    shapes: Geometry
    label: np.ndarray
    weight: np.ndarray
    side: int | None = None

    def __post_init__(self) -> None:
        good = self.picture.dtype == np.float32 or (self.picture.dtype == np.uint8 and self.picture.shape[2:] == (3,))
        if self.picture.ndim != 3 or not good:
            raise ValueError(f"a picture is (height, width, 3) bytes, not {self.picture.shape} {self.picture.dtype}")
        if not len(self.shapes) == len(self.label) == len(self.weight):
            raise ValueError(f"{len(self.shapes)} shapes, {len(self.label)} labels, {len(self.weight)} weights")

    @property
    def extent(self) -> tuple[int, int]:
        """Height and width of what the shapes lie in."""
        return self.picture.shape[:2] if self.side is None else (self.side, self.side)


@dataclass(frozen=True, eq=False)
class ImageSample(Sample):
    """An image and its objects, with shapes that follow the image when it is transformed."""

    shapes: ImageGeometry

    @classmethod
    def of(cls, picture: np.ndarray, shapes: ImageGeometry, label: np.ndarray) -> ImageSample:
        """With weights of 1 each; those of several labels of one picture sum to 1."""
        share = 1.0 if shapes.localized else 1 / max(len(shapes), 1)
        return cls(picture, shapes, np.asarray(label), np.full(len(shapes), share))

    def weighed(self, by: float) -> ImageSample:
        """The same, with all weights multiplied."""
        return replace(self, weight=self.weight * by)


def gather(picture: np.ndarray, samples: Sequence[ImageSample]) -> ImageSample:
    """A picture with the objects of all the samples, which are placed in it already."""
    shapes = samples[0].shapes
    for sample in samples[1:]:
        shapes = shapes.concat(sample.shapes)
    label, weight = (
        np.concatenate(c) for c in zip(*((sample.label, sample.weight) for sample in samples), strict=True)
    )
    return ImageSample(picture, shapes, label, weight)
