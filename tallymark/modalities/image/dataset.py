"""Images as training samples: decoded and resized once, then cropped and augmented."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tallymark.data.catalog import Catalog
from tallymark.detector.coders import CODERS
from tallymark.geometry import ImageGeometry
from tallymark.modalities.base import path_of
from tallymark.modalities.dataset import CachedDataset
from tallymark.modalities.image.augmentation import augment_image
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.image.resize import longer_side, read_resized
from tallymark.modalities.sample import ImageSample


class ResizedImage(NamedTuple):
    """pixels: (height, width, 3) bytes. scale: its pixels per pixel of the file."""

    pixels: np.ndarray
    scale: float


class ImageDataset(CachedDataset[ResizedImage]):
    """The labelled images of a catalog, at the size that the network is given."""

    def __init__(self, catalog: Catalog, recipe: ImageRecipe) -> None:
        super().__init__(catalog)
        self.recipe = recipe
        self.shapes: ImageGeometry = CODERS[recipe.task].from_truth(self.truth.shapes)
        self.labels = self.truth.labels
        self.positive_items = np.flatnonzero(self.truth.counts) if self.shapes.localized else np.arange(0)
        self._positive_crops = recipe.replace(positive_crops=1)
        self._random_crops = recipe.replace(positive_crops=0)

    def sample(self, rng: np.random.Generator, item: int, *, mix: bool) -> ImageSample:
        """A crop of an image; one that is to show an object is taken from an image that has any."""
        positives = self.positive_items
        recipe = self._random_crops
        if len(positives) and rng.random() < self.recipe.positive_crops:
            recipe = self._positive_crops
            item = item if self.truth.counts[item] else int(rng.choice(positives))
        return augment_image(rng, self.load_sample, item, len(self), recipe, mix=mix, donors=positives)

    def load_sample(self, item: int) -> ImageSample:
        """A whole image with its objects; in place of one that cannot be read, the next that can."""
        number, image = self.load_readable(item)
        rows = np.arange(self.truth.offsets[number], self.truth.offsets[number + 1])
        return ImageSample.of(image.pixels, self.shapes.take(rows).scale(image.scale), self.labels[rows])

    def decode(self, item: int) -> ResizedImage:
        resized, size = read_resized(path_of(self.catalog, item), longer_side(self.recipe.image_size))
        return ResizedImage(resized, max(resized.shape[:2]) / max(size))

    def nbytes(self, decoded: ResizedImage) -> int:
        return decoded.pixels.nbytes
