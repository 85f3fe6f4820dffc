"""Training samples: the network's input with its annotated objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tallymark.geometry import Geometry, ImageGeometry


@dataclass(frozen=True, eq=False)
class Sample:
    """The data of a crop, clip or sweep, and its n objects.

    data: (height, width, 3) RGB bytes, or (height, width, channels) float32 such as a spectrogram or a BEV grid; of a
        point cloud, (points, 1, features) float32.
    shapes: the objects, in pixels of the data; labels have no position.
    label: the class id of each. weight: 1 for objects; of labels, the share of the image that each stands for.
    side: height and width in pixels of the square that the shapes lie in, if the data are points.

    Coordinates are continuous: the upper left pixel covers 0 to 1 in x and in y.
    """

    data: np.ndarray
    shapes: Geometry
    label: np.ndarray
    weight: np.ndarray
    side: int | None = None

    def __post_init__(self) -> None:
        valid = self.data.dtype == np.float32 or (self.data.dtype == np.uint8 and self.data.shape[2:] == (3,))
        if self.data.ndim != 3 or not valid:
            expected = "(height, width, 3) bytes or (height, width, channels) float32"
            raise ValueError(f"data are {expected}, not {self.data.shape} {self.data.dtype}")
        if not len(self.shapes) == len(self.label) == len(self.weight):
            raise ValueError(f"{len(self.shapes)} shapes, {len(self.label)} labels, {len(self.weight)} weights")

    @property
    def extent(self) -> tuple[int, int]:
        """Height and width of the area that the shapes lie in, in pixels."""
        return self.data.shape[:2] if self.side is None else (self.side, self.side)


@dataclass(frozen=True, eq=False)
class ImageSample(Sample):
    """An image and its objects, with shapes that follow the image when it is transformed."""

    shapes: ImageGeometry

    @classmethod
    def of(cls, image: np.ndarray, shapes: ImageGeometry, label: np.ndarray) -> ImageSample:
        """A sample with a weight of 1 for each object; the weights of several labels of one image sum to 1."""
        weight = 1.0 if shapes.localized else 1 / max(len(shapes), 1)
        return cls(image, shapes, np.asarray(label), np.full(len(shapes), weight))

    def scale_weights(self, by: float) -> ImageSample:
        """The same sample with all weights multiplied by a factor."""
        return replace(self, weight=self.weight * by)


def combine_samples(image: np.ndarray, samples: Sequence[ImageSample]) -> ImageSample:
    """An image with the objects of all the samples, whose shapes are in its coordinates already."""
    shapes = samples[0].shapes
    for sample in samples[1:]:
        shapes = shapes.concat(sample.shapes)
    label = np.concatenate([sample.label for sample in samples])
    weight = np.concatenate([sample.weight for sample in samples])
    return ImageSample(image, shapes, label, weight)
