"""The scale that each image of a catalog is shown at, and what the user should know about it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tallymark.core.humanize import plural
from tallymark.data.catalog import Catalog
from tallymark.io.images import read_image
from tallymark.io.media import BadMedia
from tallymark.modalities.base import InputPlan, Probe
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.image.resize import MAX_SIZE
from tallymark.modalities.image.scale import SAME_SIZE, TrainingScale, read_gsd
from tallymark.modalities.image.scale_search import CROPS, estimate_scale
from tallymark.modalities.image.sizes import read_sizes

SIZES_PER_OCTAVE = 4
"""Images whose longer sides are in the same quarter of an octave have one scale."""
MAX_NOTES = 3
"""More sizes than these are summed up in one note."""


def plan_inputs(
    catalog: Catalog, recipe: ImageRecipe, trained: TrainingScale, probe: Probe, gsd: float | None
) -> InputPlan:
    """The recipe of each image, with the longer side that shows it at the scale of the training.

    gsd: metres per pixel of all files, as the user gives it.
    """
    failed = dict[int, BadMedia]()
    size = read_sizes(catalog, failed)
    longer = size.max(axis=1, initial=0)
    metres = np.full(len(catalog), np.nan) if trained.gsd is None else read_gsd(catalog, gsd, failed)
    scale = recipe.image_size / longer
    by_ground = np.isfinite(metres) & (longer > 0)
    if trained.gsd is not None:
        scale[by_ground] = metres[by_ground] / trained.gsd
    unknown = (longer > 0) & ~by_ground
    unknown[unknown] = [not trained.knows(side) for side in longer[unknown]]
    notes = list(_ground_notes(longer, scale, by_ground, recipe))
    estimated = []
    octave = np.round(np.log2(np.where(longer > 0, longer, 1)) * SIZES_PER_OCTAVE)
    for step in np.unique(octave[unknown]):
        group = np.flatnonzero(unknown & (octave == step))
        images = list(_some_images(catalog, group, failed))
        if not images:
            continue
        estimate = estimate_scale(images, probe, trained, recipe, recipe.image_size)
        scale[group] = estimate.scale
        estimated.append((group, estimate))
    if len(estimated) <= MAX_NOTES:
        notes += [_note(size[group], *estimate) for group, estimate in estimated]
    else:
        notes.append(_summary([(len(group), estimate.scale) for group, estimate in estimated]))
    certain = frozenset(item for group, estimate in estimated if estimate.certain for item in group.tolist())
    largest = int(MAX_SIZE / max(recipe.resolution, 1))
    sides = np.clip(np.round(np.where(longer > 0, scale * longer, recipe.image_size)), 1, largest).astype(int)
    if (sides == recipe.image_size).all():
        return InputPlan(None, tuple(notes), failed, certain)
    recipes = {side: recipe.replace(image_size=side) for side in np.unique(sides).tolist()}
    return InputPlan([recipes[side] for side in sides.tolist()], tuple(notes), failed, certain)


def _some_images(catalog: Catalog, group: np.ndarray, failed: dict[int, BadMedia]) -> Iterator[np.ndarray]:
    """A few images of a group, from its whole range, that can be read; `failed` gets those that the system fails to."""
    chosen = np.unique(np.linspace(0, len(group) - 1, len(CROPS)).round().astype(int))
    for item in group[chosen].tolist():
        path = catalog.path(item)
        try:
            if path is not None:
                yield read_image(path)
        except BadMedia as bad:  # inference will report it
            if bad.transient:
                failed[item] = bad


def _note(size: np.ndarray, scale: float, certain: bool) -> str:
    first = size[0]
    same = (size == first).all()
    text = f"{first[0]:.0f} x {first[1]:.0f} px" if same else f"about {np.median(size.max(axis=1)):.0f} px"
    shown = f"{plural(len(size), 'image')} of {text}: shown to the network at {scale:.2g} of the size"
    if certain:
        return f"{shown}, where objects look as in training (estimated; image_size=PIXELS sets the longer side)"
    return f"{shown}, as in training; the detections do not tell whether that is right"


def _summary(estimated: list[tuple[int, float]]) -> str:
    images, scales = sum(count for count, _ in estimated), [scale for _, scale in estimated]
    return (
        f"{plural(images, 'image')} of other sizes than in training: shown to the network at {min(scales):.2g} to "
        f"{max(scales):.2g} of their size, where objects look as in training (estimated)"
    )


def _ground_notes(longer: np.ndarray, scale: np.ndarray, by_ground: np.ndarray, recipe: ImageRecipe) -> Iterator[str]:
    """That the ground sampling distance decided, where that is not what the size alone would give."""
    changed = by_ground & (np.abs(scale * np.where(longer > 0, longer, 1) / recipe.image_size - 1) > SAME_SIZE)
    if changed.any():
        low, high = scale[changed].min(), scale[changed].max()
        text = f"{low:.2g}" if high - low < 0.005 else f"{low:.2g} to {high:.2g}"
        yield (
            f"{plural(int(changed.sum()), 'image')}: shown to the network at {text} of the size, by the ground "
            "sampling distance of the images and of the training"
        )
