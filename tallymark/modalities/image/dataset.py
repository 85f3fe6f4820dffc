"""The pictures that are learned from: decoded once, kept while memory lasts, bad ones noted and passed over."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from tallymark.core.problems import EVERY, BadInput, Problem, Problems
from tallymark.data.catalog import Catalog
from tallymark.detector.coders import CODERS
from tallymark.detector.strides import BLOCK
from tallymark.geometry import Labels
from tallymark.inference.pipeline import Model
from tallymark.io.images import read_image
from tallymark.io.media import BadMedia
from tallymark.modalities.image.augmentation import make_window
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.image.resize import resize_longer_side
from tallymark.modalities.sample import ImageSample, Sample

KEPT = 4 << 30
"""Bytes of decoded pictures that are kept."""


class ImageDataset:
    """The labelled pictures of a catalog, in the size that the network sees them in."""

    def __init__(self, catalog: Catalog, recipe: ImageRecipe) -> None:
        truth = catalog.truth
        if truth is None or not len(catalog):
            found, remedy = f"{len(catalog)} items with truth", "name the folder that has the tables too"
            raise BadInput(Problem("no_truth", str(catalog.root), found, "items to learn from", remedy))
        if recipe.crop_size % BLOCK:
            found, remedy = f"crop_size={recipe.crop_size}", f"give e.g. {max(recipe.crop_size // BLOCK, 1) * BLOCK}"
            raise BadInput(Problem("bad_option", "recipe", found, f"a multiple of {BLOCK}", remedy))
        self.catalog, self.recipe = catalog, recipe
        self.offsets, self.label = truth.offsets, truth.labels
        labels = isinstance(truth.shapes, Labels)
        self.shapes: Any = truth.shapes if labels else CODERS[recipe.task].from_truth(truth.shapes)
        self.holders = np.flatnonzero(truth.counts) if not labels else np.arange(0)
        self.aimed, self.anywhere = recipe.replace(positive_crops=1), recipe.replace(positive_crops=0)
        self.problems = Problems(EVERY)
        self.state: Any = None
        self._bad: set[int] = set()
        self._kept: dict[int, tuple[np.ndarray, float]] = {}
        self._room, self._lock = KEPT, threading.Lock()

    def __len__(self) -> int:
        return len(self.catalog)

    def window(self, rng: np.random.Generator, item: int, calm: bool) -> Sample:
        """A window on a picture, changed at random; one that is to show an object is taken where there is any."""
        if not len(self.holders) or rng.random() >= self.recipe.positive_crops:
            return make_window(rng, self.load, item, len(self), self.anywhere, calm=calm)
        item = item if self.offsets[item] < self.offsets[item + 1] else int(rng.choice(self.holders))
        return make_window(rng, self.load, item, len(self), self.aimed, calm=calm)

    def mine_hard_negatives(self, model: Model) -> None:
        """All pictures are looked at alike."""

    def load(self, item: int) -> ImageSample:
        """A picture with its objects; in place of one that cannot be read, the next that can."""
        for step in range(len(self)):
            at = (item + step) % len(self)
            read = self._read(at)
            if read is None:
                continue
            picture, by = read
            rows = np.arange(self.offsets[at], self.offsets[at + 1])
            shapes = self.shapes.take(rows)
            shapes = shapes if isinstance(shapes, Labels) else shapes.scale(by)
            return ImageSample.of(picture, shapes, self.label[rows])
        raise BadInput(self.problems)

    def _read(self, item: int) -> tuple[np.ndarray, float] | None:
        """The picture, and by how much it was enlarged; None if it cannot be read."""
        if item in self._bad:
            return None
        if item in self._kept:
            return self._kept[item]
        path = self.catalog.path(item)
        try:
            if path is None:
                raise BadMedia("missing_media", "no file", "get the file, or exclude the item")
            full = read_image(path)
        except BadMedia as bad:
            self._note(item, bad)
            return None
        seen = resize_longer_side(full, self.recipe.image_size)
        read = seen, max(seen.shape) / max(full.shape)
        with self._lock:
            if item not in self._kept and seen.nbytes <= self._room:
                self._kept[item] = read
                self._room -= seen.nbytes
        return read

    def _note(self, item: int, bad: BadMedia) -> None:
        with self._lock:
            if item not in self._bad:
                self._bad.add(item)
                place, name = self.catalog.place(item), self.catalog.items.ids[item]
                self.problems.add(Problem(bad.kind, place, bad.found, "a picture", bad.remedy, item=name))
