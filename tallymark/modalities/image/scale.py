"""The scale that a model saw its training images at, and the scale that other images are shown at.

A scale is pixels of the network per pixel of the file. Training resizes every image to a longer side of `image_size`,
so that an image of the size of the training images is shown as they were. For other sizes that says nothing: a
photograph of 4000 px may show four times the ground, or the same ground in finer pixels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tallymark.core.problems import BadInput
from tallymark.core.stored import a_list, a_mapping, a_number, a_number_or_none
from tallymark.data.catalog import Catalog, LabelledCatalog
from tallymark.detector.coders import CODERS
from tallymark.io.ground_resolution import ground_sampling_distance
from tallymark.io.media import RESUME_REMEDY, BadMedia
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.image.sizes import read_sizes

MAX_FILES = 500
"""Training images that are measured, at most."""
MAX_SIDES = 40
"""Longer sides of training images that are listed, at most."""
SAME_SIZE = 0.05
"""Sides that differ by up to this share are the same."""
ONE_SIZE = 1.25
"""Training images have one scale if the longer sides of most of them differ by less than this factor."""
SMALLEST = 1e-9
"""Scales are above 0."""
MIN_OBJECTS = 20
"""Objects that a distribution of sizes needs."""


class TrainingObjects(NamedTuple):
    """size: median over objects of the square root of their area, in pixels of the network.

    spread: standard deviation of its logarithm. confidence: mean score of the detections in held-out images.
    """

    size: float
    spread: float
    confidence: float


@dataclass(frozen=True)
class TrainingScale:
    """How a model saw its training images.

    longer_sides: of the training images' files, in pixels. pixel_scale: their usual scale; None if it varied.
    objects: what they look like at that scale; None if there were too few, or none was detected.
    gsd: metres of ground per pixel of the network, where it is known.
    """

    longer_sides: tuple[int, ...]
    pixel_scale: float | None
    objects: TrainingObjects | None = None
    gsd: float | None = None

    @classmethod
    def of(cls, stated: Mapping[str, Any]) -> TrainingScale | None:
        """From the metadata of a model; None where it has none. A ValueError for values that it cannot have."""
        if not stated:
            return None
        given = a_mapping(stated)
        objects = given.get("objects")
        if objects is not None:
            objects = a_mapping(objects, TrainingObjects._fields)
            objects = TrainingObjects(*(a_number(objects[name], 0) for name in TrainingObjects._fields))
        return cls(
            tuple(int(a_number(side, 1)) for side in a_list(given.get("longer_sides", ()))),
            a_number_or_none(given.get("pixel_scale"), SMALLEST),
            objects,
            a_number_or_none(given.get("gsd"), SMALLEST),
        )

    def as_dict(self) -> dict[str, object]:
        return {
            "longer_sides": list(self.longer_sides),
            "pixel_scale": self.pixel_scale,
            "objects": None if self.objects is None else self.objects._asdict(),
            "gsd": self.gsd,
        }

    def knows(self, longer: float) -> bool:
        """Whether there were training images of about this longer side."""
        return any(abs(longer / side - 1) <= SAME_SIZE for side in self.longer_sides)


def training_scale(
    catalog: LabelledCatalog, recipe: ImageRecipe, confidence: float, gsd: float | None
) -> TrainingScale | None:
    """The scale of a training; None for whole images, and without any image that can be read.

    gsd: metres per pixel of all files, as the user gives it; else it is read from the files.
    """
    if CODERS[recipe.task].whole_item:
        return None
    with_file = np.flatnonzero(catalog.files.is_not_null().to_numpy())
    chosen = with_file[np.unique(np.linspace(0, len(with_file) - 1, MAX_FILES).astype(int))] if len(with_file) else []
    some = catalog.select(np.asarray(chosen, np.int64))
    failed = dict[int, BadMedia]()
    longer = read_sizes(some, failed).max(axis=1, initial=0)
    metres = read_gsd(some, gsd, failed)
    for item, bad in failed.items():
        raise BadInput(replace(some.unread(item, bad), remedy=RESUME_REMEDY))
    known = longer > 0
    scale = recipe.image_size / np.where(known, longer, np.nan)
    area = CODERS[recipe.task].from_truth(some.truth.shapes).area
    size = np.sqrt(area) * scale[some.truth.item]
    size = size[np.isfinite(size) & (size > 0)]
    if not known.any():
        return None
    objects = None
    if len(size) >= MIN_OBJECTS and np.isfinite(confidence):
        spread = float(np.log(size).std())
        objects = TrainingObjects(round(float(np.median(size)), 3), round(spread, 4), round(confidence, 4))
    sides = np.unique(longer[known]).astype(int)
    if len(sides) > MAX_SIDES:
        sides = np.unique(np.quantile(longer[known], np.linspace(0, 1, MAX_SIDES)).astype(int))
    low, high = np.quantile(longer[known], [0.1, 0.9])
    metres = metres / scale
    return TrainingScale(
        longer_sides=tuple(sides.tolist()),
        pixel_scale=round(float(np.median(scale[known])), 5) if high <= ONE_SIZE * low else None,
        objects=objects,
        gsd=float(f"{np.nanmedian(metres):.4g}") if np.isfinite(metres).any() else None,
    )


def read_gsd(catalog: Catalog, gsd: float | None, failed: dict[int, BadMedia] | None = None) -> np.ndarray:
    """(n,) metres of ground per pixel of each file: as the user gives it, else as the file states it, else nan.

    failed: gets the images that the system fails to read.
    """
    metres = np.full(len(catalog), np.nan if gsd is None else gsd)
    for item in range(len(catalog)) if gsd is None else ():
        path = catalog.path(item)
        try:
            stated = None if path is None else ground_sampling_distance(path)
        except BadMedia as bad:
            stated = None
            if failed is not None:
                failed[item] = bad
        metres[item] = np.nan if stated is None else stated
    return metres
